"""What libraries that build on LangGraph use of it: functions as runnables, and the state through the configuration."""

from typing import Annotated, Any, TypedDict

from langchain_core.callbacks import BaseCallbackHandler, CallbackManager
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.tracers import BaseTracer, Run
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.managed import RemainingSteps
from langgraph.prebuilt import InjectedState, ToolNode, ToolRuntime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Send, StreamWriter, TracePolicy, omit_payload
from langgraph.utils.runnable import RunnableCallable
from pydantic import BaseModel

from ..trace import Trace


def merged(left: dict[str, Any] | None, right: dict[str, Any]) -> dict[str, Any]:
    return {**(left or {}), **right}


class Messages(BaseModel):
    messages: list[str]


class State(TypedDict, total=False):
    files: Annotated[dict[str, Any], merged]
    seen: Any


def graph(node: Any, **options: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile(**options)


async def a_function_in_both_forms(t: Trace) -> None:
    """Each caller gets the form that is its own; without a second one an asyncio caller gets the first."""

    def blocking(state: State) -> State:
        return {"seen": "blocking"}

    async def awaited(state: State) -> State:
        return {"seen": "awaited"}

    both = RunnableCallable(blocking, awaited, name="both", trace=False)
    result = await t.call(graph(both), "invoke", {"files": {}})
    t.note("own form", result["seen"] == ("awaited" if t.asyncio else "blocking"))
    await t.invoke(graph(RunnableCallable(blocking)), {"files": {}})


async def a_function_without_a_blocking_form(t: Trace) -> None:
    """It can't be called blocking, and says so."""

    async def awaited(state: State) -> State:
        return {"seen": "awaited"}

    t.raises(RunnableCallable(None, awaited, name="lonely").invoke, {})
    t.raises(RunnableCallable, None)


async def what_a_function_is_given(t: Trace) -> None:
    """Parameters are filled as a node's are; those of its maker come along."""

    def ask(state: State, config: RunnableConfig, *, store: Any, writer: StreamWriter, more: int) -> State:
        writer("written")
        return {"seen": [config["configurable"]["mine"], type(store).__name__, more]}

    runnable = RunnableCallable(ask, more=1)
    config = {"configurable": {"mine": 5}}
    await t.stream(graph(runnable, store=InMemoryStore()), {}, config, stream_mode=["custom", "values"])


async def a_function_alone(t: Trace) -> None:
    """Outside a graph it is a runnable like others: piped, batched, with a configuration."""

    def double(value: int, config: RunnableConfig) -> int:
        return value * 2 + config["configurable"].get("more", 0)

    runnable = RunnableCallable(double)
    t.note("invoke", await t.call(runnable, "invoke", 2, {"configurable": {"more": 1}}))
    t.note("batch", await t.call(runnable, "batch", [1, 2]))
    t.note("pipe", await t.call(runnable | RunnableLambda(str), "invoke", 2))
    t.note("name", [runnable.get_name(), RunnableCallable(double, name="other").get_name()])
    t.note("exploded", RunnableCallable(lambda a, b: a - b, explode_args=True).invoke(((5,), {"b": 3})))


async def a_runnable_that_is_returned(t: Trace) -> None:
    """It is invoked with the same input, unless the function was told not to."""
    inner = RunnableLambda(lambda value: value + 1)
    t.note("recursed", await t.call(RunnableCallable(lambda value: inner), "invoke", 1))
    kept = await t.call(RunnableCallable(lambda value: inner, recurse=False), "invoke", 1)
    t.note("kept", kept is inner)


async def a_function_as_a_router(t: Trace) -> None:
    """A branch may be one too."""
    builder = StateGraph(State)
    builder.add_node("node", lambda state: {"seen": 1})
    builder.add_edge(START, "node")
    router = RunnableCallable(lambda state: END if state["seen"] == 1 else "node", trace=False)
    builder.add_conditional_edges("node", router, [END, "node"])
    await t.invoke(builder.compile(), {"files": {}})


async def a_graph_in_a_function(t: Trace) -> None:
    """The graph that its function names is the node's subgraph."""
    inner = graph(t.node(lambda state: {"seen": "inside"}))

    def blocking(state: State) -> Any:
        return inner.invoke(state)

    async def awaited(state: State) -> Any:
        return await inner.ainvoke(state)

    outer = graph(RunnableCallable(blocking, awaited))
    t.note("subgraphs", [name for name, _ in outer.get_subgraphs()])
    t.note("chunks", len(await t.stream(outer, {"files": {}}, subgraphs=True)))


async def the_state_through_the_configuration(t: Trace) -> None:
    """What is sent is read back by a fresh read, and is in the state when the node has ended, before its update."""

    def node(state: State) -> State:
        configurable = get_config()["configurable"]
        read, send = configurable["__pregel_read"], configurable["__pregel_send"]
        before = read("files")
        send([("files", {"b": 2}), ("files", {"c": 3})])
        return {
            "files": {"c": 4},
            "seen": [before, read("files"), read("files", True), read(["files", "seen"])],
        }

    await t.invoke(graph(t.node(node)), {"files": {"a": 1}})


async def the_runtime_in_the_configuration(t: Trace) -> None:
    """Libraries look for the store there."""

    def node(state: State) -> State:
        runtime = get_config()["configurable"]["__pregel_runtime"]
        return {"seen": type(runtime.store).__name__}

    await t.invoke(graph(t.node(node), store=InMemoryStore()), {"files": {}})


class Private(TypedDict):
    secret: int


class Talk(MessagesState):
    left: RemainingSteps
    shown: int


async def a_call_that_is_sent_alone(t: Trace) -> None:
    """Its tool sees what the state has for every node.

    Keys of some nodes alone, and managed values, depend on LangGraph's version.
    """

    def look(x: int, state: Annotated[dict, InjectedState], runtime: ToolRuntime) -> str:
        """Look."""
        public = {"messages", "shown"}
        return f"{x} {sorted(public & set(state))} {sorted(public & set(runtime.state))}"

    builder = StateGraph(Talk)
    builder.add_node("keep", t.node(lambda state: {"secret": 1, "shown": 2}), input_schema=Private)
    builder.add_node("tools", ToolNode([look]))
    builder.add_edge(START, "keep")
    call = {"name": "look", "args": {"x": 1}, "id": "1", "type": "tool_call"}
    builder.add_conditional_edges("keep", lambda state: [Send("tools", [call])], ["tools"])
    await t.invoke(builder.compile(), {"messages": []})


async def a_tool_node_is_a_runnable(t: Trace) -> None:
    """Libraries look for it in a graph's picture, and pipe it."""
    node = ToolNode([])
    graph = StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools").compile()
    t.note("data", graph.get_graph().nodes["tools"].data is node)
    t.note("runnable", [isinstance(node, Runnable), type(node | RunnableLambda(str)).__name__])


async def what_a_tool_node_has_of_a_runnable(t: Trace) -> None:
    """It can be bound, tried again, replaced and piped, and be a node all the same."""

    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    node = ToolNode([add])
    call = {"name": "add", "args": {"a": 1, "b": 2}, "id": "1", "type": "tool_call"}
    made = {
        "retried": node.with_retry(),
        "replaced": node.with_fallbacks([node]),
        "configured": node.with_config(tags=["bound"]),
        "bound": node.bind(),
        "piped": node | RunnableLambda(lambda state: state),
        "piped into": node.pipe(RunnableLambda(lambda state: state)),
    }
    for name, each in made.items():
        graph = StateGraph(MessagesState).add_node("tools", each).add_edge(START, "tools").compile()
        found = await t.call(graph, "invoke", {"messages": [AIMessage("", tool_calls=[call])]})
        t.note(name, [type(each).__name__, found["messages"][-1].content])
    t.note("name", [node.get_name(), node.get_name("Input")])
    t.note("schemas", [node.get_input_jsonschema(), node.get_output_jsonschema()])


class Heard(BaseCallbackHandler):
    """What callbacks are told of chains that start: their names, tags and metadata."""

    def __init__(self) -> None:
        self.starts: list[Any] = []

    def on_chain_start(self, serialized: Any, inputs: Any, **told: Any) -> None:
        metadata = {key: value for key, value in told["metadata"].items() if not key.endswith("_ns")}
        self.starts.append((told["name"], sorted(told["tags"]), metadata))


async def callbacks_add_up(t: Trace) -> None:
    """Those that a graph was bound to hear of its calls beside those of the call; of which thread they are is told."""
    node = t.node(lambda state: {"seen": 1})
    for given in ([Heard()], CallbackManager([Heard()])):
        bound, values = Heard(), {"thread_id": "1", "user_id": "u", "model": "m"}
        built = graph(node, checkpointer=InMemorySaver()).with_config(callbacks=[bound], tags=["bound"])
        await t.call(built, "invoke", {}, {"callbacks": given, "tags": ["call"], "configurable": values})
        (call,) = given if isinstance(given, list) else given.handlers[:1]
        t.note("bound", bound.starts)
        t.note("call", call.starts)


class Traced(BaseTracer):
    """Notes what a tracer sees of the node and of what runs in it."""

    run_inline = True

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def _persist_run(self, run: Run) -> None:
        """Keep nothing."""

    def _on_chain_end(self, run: Run) -> None:
        if run.name in ("node", "inside"):
            self.seen.append((run.name, run.inputs, run.outputs))


class Told(BaseCallbackHandler):
    """Notes what any other handler is told of the node's start."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_chain_start(self, serialized: Any, inputs: Any, *, name: str | None = None, **rest: Any) -> None:
        if name == "node":
            self.seen.append(inputs)


async def what_tracers_are_told(t: Trace) -> None:
    """A trace policy is for tracers and for the node alone; one that raises leaves what they see as it is."""

    def node(state: State) -> State:
        inside = RunnableLambda(lambda seen: f"{seen}!").with_config(run_name="inside")
        return {"seen": inside.invoke(state["seen"])}

    def raises(value: Any) -> Any:
        raise ValueError("no")

    policies = [
        TracePolicy(process_inputs=omit_payload, process_outputs=omit_payload),
        TracePolicy(process_inputs=lambda value: "text", process_outputs=lambda value: {"had": value}),
        TracePolicy(process_inputs=raises, process_outputs=raises),
    ]
    for policy in policies:
        builder = StateGraph(State)
        builder.add_node("node", node, trace_policy=policy)
        builder.add_edge(START, "node")
        traced, told = Traced(), Told()
        await t.call(builder.compile(), "invoke", {"seen": "it"}, {"callbacks": [traced, told]})
        t.note("seen", traced.seen)
        t.note("told", told.seen)


async def names_with_suffixes(t: Trace) -> None:
    """A suffix of a graph's name is written as the name is."""
    for name in ("Graph", "graph", "a graph"):
        built = graph(lambda state: None, name=name)
        t.note(name, [built.get_name(suffix) for suffix in (None, "", "x", "Input", "two_words")])


async def nodes_by_themselves(t: Trace) -> None:
    """A node of a compiled graph runs alone: what its function returns is all that happens."""

    def counts(state: State, config: RunnableConfig, writer: StreamWriter) -> State:
        writer("nobody reads it")
        return {"seen": [state["seen"] + 1, config["configurable"]]}

    inner = graph(t.node(lambda state: {"files": {"inner": 1}}))
    builder = StateGraph(State)
    builder.add_node("counts", t.node(counts))
    builder.add_node("inner", inner)
    builder.add_node("made", RunnableLambda(lambda state: {"seen": "made"}))
    builder.add_node("parts", {"seen": lambda state: len(state)})
    for name in ["counts", "inner", "made", "parts"]:
        builder.add_edge(START, name)
    built = builder.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"user": "u"}}
    for name in ["__start__", "counts", "inner", "made", "parts"]:
        node = built.nodes[name]
        t.note(name, await t.call(node, "invoke", {"seen": 1}, config))
        t.note("bound", await t.call(node.bound, "invoke", {"seen": 1}, config))
    t.note("inner", (built.nodes["inner"].bound is inner, built.nodes["inner"].subgraphs == [inner]))
    if t.asyncio:
        t.note("pieces", [piece async for piece in built.nodes["made"].astream({})])
    else:
        t.note("pieces", list(built.nodes["made"].stream({})))


async def tools_of_an_agents_node(t: Trace) -> None:
    """The runnable that a node was made of is there: the tools of an agent are found by it."""

    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    built = graph(ToolNode([add]))
    t.note("tools", list(built.nodes["node"].bound.tools_by_name))


async def what_nodes_and_channels_are(t: Trace) -> None:
    """The nodes say what they read and what runs them, the channels of which class they are."""
    builder = StateGraph(State)
    for name in "abcd":
        builder.add_node(name, lambda state: {}, metadata={"of": name}, defer=name == "d")
    builder.add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], "c").add_edge("c", "d")
    built = builder.compile()
    for name, node in built.nodes.items():
        t.note(name, (node.channels, sorted(node.triggers), node.tags, node.metadata, node.is_error_handler))
    t.note("channels", {name: type(channel).__name__ for name, channel in built.channels.items()})
    t.note("keys", {name: built.channels[name].key for name in ["files", "seen"]})
    t.note("reducer", built.channels["files"].operator is merged)
    t.note("triggers", {channel: sorted(names) for channel, names in built.trigger_to_nodes.items()})


async def stops_that_are_set(t: Trace) -> None:
    """The nodes at which a compiled graph stops may be changed."""
    built = graph(t.node(lambda state: {"seen": 1}), checkpointer=InMemorySaver(), interrupt_before=["node"])
    t.note("before", (built.interrupt_before_nodes, built.interrupt_after_nodes))
    await t.invoke(built, {"seen": 0}, {"configurable": {"thread_id": "1"}})
    built.interrupt_before_nodes = []
    await t.invoke(built, {"seen": 0}, {"configurable": {"thread_id": "2"}})
    built.interrupt_after_nodes = "*"
    await t.stream(built, {"seen": 0}, {"configurable": {"thread_id": "3"}})


async def schemas_of_configurations(t: Trace) -> None:
    """The context is what is configurable; other keys are there where they are asked for."""

    class Context(BaseModel):
        user: str = "u"

    builder = StateGraph(State, context_schema=Context).add_node("a", lambda state: {}).add_edge(START, "a")
    for built in (builder.compile(name="graph"), graph(lambda state: {})):
        t.note("schema", t.warns(built.get_config_jsonschema))
        t.note("keys", t.warns(built.get_config_jsonschema, include=["tags", "metadata", "recursion_limit"]))
        t.note("name", t.warns(built.config_schema).__name__)


async def parts_of_an_agent_of_ones_own(t: Trace) -> None:
    """An agent that began as a copy of `create_react_agent` finds what stands beside that."""
    from langgraph.prebuilt import chat_agent_executor as parts

    said = {"messages": [HumanMessage("hi", id="1")]}
    for prompt in (None, "Be kind.", SystemMessage("Be kind."), lambda state: [*state["messages"], "there"]):
        runnable = parts._get_prompt_runnable(prompt)
        t.note("prompt", (runnable.get_name(), await t.call(runnable, "invoke", said)))
    template = ChatPromptTemplate.from_messages([("placeholder", "{messages}")])
    t.note("a runnable", parts._get_prompt_runnable(template) is template)
    t.raises(parts._get_prompt_runnable, 1)
    model = GenericFakeChatModel(messages=iter(()))
    t.note("model", parts._get_model(template | model.bind(stop=["."])) is model)
    t.note("bound", parts._should_bind_tools(model, []))
    for state in (said, Messages(messages=["hi"])):
        t.note("values", [parts._get_state_value(state, key, "none") for key in ("messages", "left")])
    asks = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}])
    t.raises(parts._validate_chat_history, [asks])
    t.raises(parts._validate_chat_history, [asks, ToolMessage("seen", tool_call_id="c")])


async def a_prompt_that_asks_for_the_configuration(t: Trace) -> None:
    """The prompt of an agent of one's own, in the caller's colour, is given the configuration."""
    from langgraph.prebuilt.chat_agent_executor import _get_prompt_runnable

    def prompt(state: Any, config: RunnableConfig) -> list[Any]:
        return [config["configurable"]["user"], *state["messages"]]

    config = {"configurable": {"user": "ada"}}
    t.note("told", await t.call(_get_prompt_runnable(t.node(prompt)), "invoke", {"messages": ["hi"]}, config))


async def an_agent_in_a_runnable_has_a_graphs_limit(t: Trace) -> None:
    """A graph that a runnable calls with its configuration may take as many steps as any, unless it was told less."""

    class Steps(TypedDict):
        remaining_steps: RemainingSteps

    def look(state: Steps) -> None:
        t.note("left", state["remaining_steps"])

    inner = StateGraph(Steps).add_node("look", look).add_edge(START, "look").compile()

    def call(state: State, config: RunnableConfig) -> dict[str, Any]:
        t.note("told", config.get("recursion_limit"))
        inner.invoke({}, config)
        return {"seen": True}

    async def acall(state: State, config: RunnableConfig) -> dict[str, Any]:
        t.note("told", config.get("recursion_limit"))
        await inner.ainvoke({}, config)
        return {"seen": True}

    for trace in (True, False):
        for given in ({}, {"recursion_limit": 40}):
            node = RunnableCallable(call, acall, trace=trace)
            await t.invoke(graph(node).with_config(given), {"files": {}})
