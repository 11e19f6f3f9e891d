"""create_react_agent: the loop of a model and its tools (section 5.4)."""

import warnings
from dataclasses import dataclass
from typing import Annotated, Any
from unittest.mock import AsyncMock, MagicMock

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.managed import RemainingSteps
from langgraph.prebuilt import InjectedState, InjectedStore, ToolNode, ToolRuntime
from langgraph.prebuilt import create_react_agent as deprecated_create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState, AgentStatePydantic
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from ..parts import ONE
from ..trace import differs, differs_by_caller


def create_react_agent(*args, **kw):
    """The agent, without the warning that it's deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return deprecated_create_react_agent(*args, **kw)


class Model(BaseChatModel):
    """Says its lines in turn, and remembers what it was told."""

    lines: list
    heard: list
    bound: list
    structured: Any = None

    @property
    def _llm_type(self):
        return "scripted"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.heard.append([(m.type, m.content) for m in messages])
        line = self.lines[len(self.heard) - 1]
        return ChatResult(generations=[ChatGeneration(message=line)])

    def bind_tools(self, tools, **kwargs):
        self.bound.append([each if isinstance(each, dict) else getattr(each, "name", None) for each in tools])
        return self

    def with_structured_output(self, schema, **kwargs):
        async def awaited(messages):
            return call(messages)

        def call(messages):
            self.heard.append(("structured", [(m.type, m.content) for m in messages]))
            return self.structured

        return RunnableLambda(call, awaited)


def says(text, *calls):
    """A line: a text, or calls of tools `("name", {"argument": 1})`."""
    says.count += 1
    found = [
        {"name": name, "args": args, "id": f"{says.count}.{place}", "type": "tool_call"}
        for place, (name, args) in enumerate(calls)
    ]
    return AIMessage(text, tool_calls=found, id=f"ai-{says.count}")


says.count = 0


def model(*lines, **kw):
    """A model with these lines."""
    return Model(lines=list(lines), heard=[], bound=[], **kw)


def script(*lines, **kw):
    """A model with lines, numbered from one: a text, or a list of calls."""
    says.count = 0
    return model(*(says(line) if isinstance(line, str) else says("", *line) for line in lines), **kw)


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def fail(a: int) -> int:
    """Fail."""
    raise ValueError(f"no {a}")


async def _talk(t, agent, *args, text="hi", **kw):
    """A turn of the agent: the messages that it leaves, and the rest of its state."""
    given = {"messages": [HumanMessage(text, id="human")]} if not args else args[0]
    try:
        result = await t.call(agent, "invoke", given, *args[1:], **kw)
    except Exception as error:
        t.note("raised", error)
        return None
    _note(t, result)
    return result


def _note(t, result):
    shown = [
        (m.type, m.content, m.name, [c["name"] for c in getattr(m, "tool_calls", [])])
        for m in result["messages"]
    ]
    t.note("messages", shown)
    t.note("rest", {key: value for key, value in result.items() if key != "messages"})


async def an_agent_without_tools(t):
    """The model answers once."""
    m = script("hello")
    agent = create_react_agent(m, [])
    await _talk(t, agent)
    t.note("heard", m.heard)
    t.note("bound", m.bound)
    t.note("nodes", sorted(agent.nodes))


async def an_agent_with_tools(t):
    """The model is called until it calls no tools."""
    for version in ("v1", "v2"):
        m = script([("add", {"a": 1}), ("add", {"a": 2})], [("add", {"a": 3})], "done")
        agent = create_react_agent(m, [add, tool(fail)], version=version)
        await _talk(t, agent)
        t.note("heard", m.heard)
        t.note("bound", m.bound)
        t.note("nodes", sorted(agent.nodes))


async def agents_stream(t):
    """Updates of each version: one of the tools' node for each step, or for each call."""
    for version in ("v1", "v2"):
        agent = create_react_agent(
            script([("add", {"a": 1}), ("add", {"a": 2})], "done"), [add], version=version
        )
        given = {"messages": [HumanMessage("hi", id="human")]}
        chunks = []
        if t.asyncio:
            async for chunk in agent.astream(given, {"max_concurrency": 1}):
                chunks.append(chunk)
        else:
            chunks.extend(agent.stream(given, {"max_concurrency": 1}))
        for chunk in chunks:
            t.note("chunk", {k: [(m.type, m.content) for m in v["messages"]] for k, v in chunk.items()})


async def errors_of_tools(t):
    """A tool's error raises; arguments that don't fit, and unknown names, are answered."""
    for version in ("v1", "v2"):
        for call in (("fail", {"a": 1}), ("fail", {"a": "x"}), ("sub", {})):
            await _talk(t, create_react_agent(script([call], "done"), [fail], version=version))
        node = ToolNode([fail], handle_tool_errors=True)
        await _talk(t, create_react_agent(script([("fail", {"a": 1})], "done"), node, version=version))


async def versions_are_known(t):
    """Only two versions are."""
    t.raises(create_react_agent, script("x"), [], version="v3")
    t.raises(create_react_agent, script("x"), [], nothing=1)


async def the_agent_is_deprecated(t):
    """Names that have moved."""
    t.warns(deprecated_create_react_agent, script("x"), [])
    t.warns(lambda: type("State", (AgentStatePydantic,), {}))


async def prompts(t):
    """Of every form."""

    def function(state):
        return [SystemMessage("function"), *state["messages"]]

    forms = [
        "text",
        SystemMessage("message"),
        RunnableLambda(lambda state: [SystemMessage("runnable"), *state["messages"]]),
        function,
        lambda state: "just text",
    ]
    for form in forms:
        m = script("done")
        await _talk(t, create_react_agent(m, [], prompt=form))
        t.note("heard", m.heard)
    t.raises(create_react_agent, script("x"), [], prompt=1)


@differs_by_caller("A prompt that is async alone is refused by a blocking caller")
async def async_prompts(t):
    """A coroutine function as a prompt."""

    async def prompt(state):
        return [SystemMessage("coroutine"), *state["messages"]]

    m = script("done")
    await _talk(t, create_react_agent(m, [], prompt=prompt))
    t.note("heard", m.heard)


async def prompts_are_injected(t):
    """A prompt may ask for store and runtime and config."""

    def prompt(state, config, *, store):
        user = config["configurable"]["user"]
        return [SystemMessage(f"{user} {store.get(('a',), 'k').value['x']}"), *state["messages"]]

    store = InMemoryStore()
    store.put(("a",), "k", {"x": 7})
    m = script("done")
    config = {"configurable": {"user": "ada"}}
    await _talk(
        t, create_react_agent(m, [], prompt=prompt, store=store), {"messages": [("user", "x")]}, config
    )
    t.note("heard", m.heard)


async def structured_responses(t):
    """A response format adds a call, whose result is in the state."""

    class Weather(BaseModel):
        """The weather."""

        degrees: int

    for form in (Weather, ("Be exact.", Weather), {"title": "Weather", "type": "object", "properties": {}}):
        m = script([("add", {"a": 1})], "done", structured=Weather(degrees=7))
        agent = create_react_agent(m, [add], response_format=form)
        await _talk(t, agent)
        t.note("heard", m.heard)
        t.note("nodes", sorted(agent.nodes))


async def hooks_before_the_model(t):
    """A hook may change the state, or only what the model is told."""

    def trims(state):
        return {"llm_input_messages": [HumanMessage("only this")]}

    def rewrites(state):
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("rewritten", id="new")]}

    for hook in (trims, rewrites):
        m = script([("add", {"a": 1})], "done")
        agent = create_react_agent(m, [add], pre_model_hook=t.node(hook), prompt="P")
        await _talk(t, agent)
        t.note("heard", m.heard)
        t.note("nodes", sorted(agent.nodes))


async def a_hook_before_the_model_and_a_pydantic_state(t):
    """What the hook says stays out of the state, which is a model of the user's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        class Pydantic(AgentStatePydantic):
            flag: bool = False

    def trims(state):
        return {"llm_input_messages": [HumanMessage(f"flag {state.flag}")], "flag": True}

    m = script([("add", {"a": 1})], "done")
    agent = create_react_agent(m, [add], pre_model_hook=t.node(trims), state_schema=Pydantic)
    await _talk(t, agent)
    t.note("heard", m.heard)


class Flagged(AgentState):
    flag: bool


def _flags(state):
    return {"flag": True}


def _answers(state):
    last = state["messages"][-1]
    if not getattr(last, "tool_calls", None):
        return {}
    call = last.tool_calls[0]
    return {"messages": [ToolMessage("by the hook", tool_call_id=call["id"], name=call["name"])]}


async def _hooked(t, version):
    for hook in (_flags, _answers):
        m = script([("add", {"a": 1}), ("add", {"a": 2})], "done")
        agent = create_react_agent(
            m, [add], post_model_hook=t.node(hook), state_schema=Flagged, version=version
        )
        await _talk(t, agent)
        t.note("heard", m.heard)
        t.note("nodes", sorted(agent.nodes))


async def hooks_after_the_model(t):
    """A hook may count, change what the model said, or answer its calls."""
    await _hooked(t, "v2")


@differs("v1 of an agent runs tools after a post_model_hook")
async def hooks_after_the_model_in_one_task(t):
    """With v1 too."""
    await _hooked(t, "v1")


async def both_hooks_and_a_format(t):
    """Everything at once."""

    class Weather(BaseModel):
        degrees: int

    m = script([("add", {"a": 1})], "done", structured=Weather(degrees=7))
    agent = create_react_agent(
        m,
        [add],
        pre_model_hook=t.node(lambda state: {}),
        post_model_hook=t.node(lambda state: {}),
        response_format=Weather,
    )
    await _talk(t, agent)
    t.note("nodes", sorted(agent.nodes))


async def state_schemas(t):
    """What a state has to have."""

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        class Pydantic(AgentStatePydantic):
            user: str = "ada"

    class Mine(AgentState):
        user: str

    class NoSteps(MessagesState):
        user: str

    class NoMessages(TypedDict):
        remaining_steps: RemainingSteps

    class Own(MessagesState):
        remaining_steps: RemainingSteps
        user: str

    def prompt(state):
        user = state.user if isinstance(state, BaseModel) else state["user"]
        messages = state.messages if isinstance(state, BaseModel) else state["messages"]
        return [SystemMessage(user), *messages]

    given = {"messages": [HumanMessage("x", id="human")], "user": "bob"}
    for schema in (Pydantic, Mine, Own):
        for version in ("v1", "v2"):
            m = script([("add", {"a": 1})], "done")
            await _talk(
                t, create_react_agent(m, [add], state_schema=schema, prompt=prompt, version=version), given
            )
            t.note("heard", m.heard)
    for schema in (NoSteps, NoMessages):
        t.raises(create_react_agent, script("x"), [add], state_schema=schema)
    t.raises(create_react_agent, script("x"), [add], state_schema=Mine, response_format=Mine)


async def steps_run_out(t):
    """An agent that may not go on says so."""
    calls = [[("add", {"a": number})] for number in range(9)]
    for version in ("v1", "v2"):
        for limit in (2, 3, 4, 5):
            agent = create_react_agent(script(*calls), [add], version=version)
            await _talk(t, agent, {"messages": [("user", "x")]}, {"recursion_limit": limit})


async def routers_have_names(t):
    """Callbacks are told of an agent's routers."""
    routers = ("should_continue", "post_model_hook_router", "route_tool_responses")

    class Told(BaseCallbackHandler):
        def on_chain_start(self, _, __, *, name, **rest):
            if name in routers:
                told.append(name)

    @tool(return_direct=True)
    def final(a: int) -> str:
        """Final."""
        return f"final {a}"

    for hook in (None, t.node(lambda state: {})):
        told: list[str] = []
        agent = create_react_agent(script([("final", {"a": 1})]), [final], post_model_hook=hook)
        await t.invoke(agent, {"messages": [("user", "x")]}, {"callbacks": [Told()]})
        t.note("told", told[-2:])


async def tools_return_directly(t):
    """The answer of such a tool is the last word."""

    @tool(return_direct=True)
    def final(a: int) -> str:
        """Final."""
        return f"final {a}"

    for version in ("v1", "v2"):
        for calls in ([("final", {"a": 1})], [("final", {"a": 1}), ("add", {"a": 2})], [("add", {"a": 2})]):
            await _talk(t, create_react_agent(script(calls, "done"), [final, add], version=version))
        agent = create_react_agent(script([("final", {"a": "x"})], "done"), [final, add], version=version)
        await _talk(t, agent)
        limited = create_react_agent(script([("final", {"a": 1})]), [final], version=version)
        await _talk(t, limited, {"messages": [("user", "x")]}, {"recursion_limit": 3})


async def something_is_said_after_a_direct_answer(t):
    """It is the last word while nothing but answers of tools follows."""

    def tool_that_says(name, *, direct, first):
        @tool(name, return_direct=direct)
        def say(a: int, call: Annotated[str, InjectedToolCallId]) -> Command:
            """Say."""
            said = [HumanMessage("look", id=f"look-{call}"), ToolMessage("seen", tool_call_id=call)]
            return Command(update={"messages": said if first else said[::-1]})

        return say

    @tool(return_direct=True)
    def final(a: int) -> str:
        """Final."""
        return f"final {a}"

    tools = [final, add]
    for name in ("before", "after"):
        for direct in (False, True):
            tools.append(tool_that_says(f"{name}_{direct}", direct=direct, first=name == "before"))
    for version in ("v1", "v2"):
        for names in (
            *((each.name,) for each in tools[2:]),
            *((each.name, "final") for each in tools[2:]),
            *(("final", each.name) for each in tools[2:]),
            ("after_True", "add"),
            ("add", "after_True"),
        ):
            calls = [(name, {"a": 1}) for name in names]
            t.note("calls", names)
            await _talk(t, create_react_agent(script(calls, "done"), tools, version=version))
        for said in ([HumanMessage("go on", id="on")], [AIMessage("I said", id="on")], []):
            agent = create_react_agent(
                script([("final", {"a": 1})]), tools, version=version, checkpointer=InMemorySaver()
            )
            await t.call(agent, "invoke", {"messages": [HumanMessage("hi", id="human")]}, ONE)
            config = await t.call(agent, "update_state", ONE, {"messages": said}, as_node="tools")
            t.note("next", (await t.call(agent, "get_state", config)).next)


async def histories_are_checked(t):
    """Calls without answers are refused."""
    agent = create_react_agent(script("done", "done"), [add])
    await _talk(t, agent, {"messages": [HumanMessage("x"), says("", ("add", {"a": 1})), HumanMessage("y")]})
    await _talk(t, agent, {"messages": []})
    await _talk(t, agent, {})


async def models_are_chosen(t):
    """A function may choose the model by state and runtime."""

    @dataclass
    class Context:
        loud: bool

    quiet, loud = script("quiet"), script("LOUD")

    def choose(state, runtime):
        return loud if runtime.context.loud else quiet

    async def achoose(state, runtime):
        return choose(state, runtime)

    chooser = achoose if t.asyncio else choose
    for value in (True, False):
        agent = create_react_agent(chooser, [add], context_schema=Context)
        await _talk(t, agent, {"messages": [("user", "x")]}, context=Context(value))
    t.note("bound", (quiet.bound, loud.bound))


async def models_may_be_bound(t):
    """A model with tools bound has to have those of the agent."""
    m = script("done")
    schema = {"type": "function", "function": {"name": "add", "description": "x", "parameters": {}}}
    other = {"type": "function", "function": {"name": "sub", "description": "x", "parameters": {}}}
    await _talk(t, create_react_agent(m.bind(tools=[schema]), [add]))
    t.note("bound", m.bound)
    t.raises(create_react_agent, script("x").bind(tools=[schema]), [add, fail])
    t.raises(create_react_agent, script("x").bind(tools=[other]), [add])
    t.raises(create_react_agent, script("x").bind(stop=["x"]), [add])


async def built_in_tools(t):
    """A dict is a tool that the model's provider runs."""
    m = script([("add", {"a": 1})], "done")
    await _talk(t, create_react_agent(m, [{"type": "web_search"}, add]))
    t.note("bound", m.bound)


async def tools_take_injections(t):
    """State, store and runtime."""

    class State(AgentState):
        user: str

    @tool
    def who(
        user: Annotated[str, InjectedState("user")],
        state: Annotated[dict, InjectedState],
        store: Annotated[Any, InjectedStore()],
        runtime: ToolRuntime,
    ) -> str:
        """Who."""
        return (
            f"{user} {sorted(state)} {len(state['messages'])} {store is runtime.store} {runtime.tool_call_id}"
        )

    for version in ("v1", "v2"):
        m = script([("who", {}), ("who", {})], "done")
        agent = create_react_agent(m, [who], state_schema=State, store=InMemoryStore(), version=version)
        await _talk(t, agent, {"messages": [("user", "x")], "user": "ada"})


async def tools_command(t):
    """A tool may change the state."""

    class State(AgentState):
        user: str

    @tool
    def rename(user: str, call: Annotated[str, InjectedToolCallId]) -> Command:
        """Rename."""
        return Command(update={"user": user, "messages": [ToolMessage("renamed", tool_call_id=call)]})

    for version in ("v1", "v2"):
        m = script([("rename", {"user": "bob"}), ("add", {"a": 1})], "done")
        agent = create_react_agent(m, [rename, add], state_schema=State, version=version)
        await _talk(t, agent)


async def tools_ask(t):
    """A tool that asks a human goes on with the answer."""
    ran = []

    @tool
    def ask(what: str) -> str:
        """Ask."""
        ran.append(what)
        return f"{what}: {interrupt(what)}"

    for version in ("v1", "v2"):
        m = script([("add", {"a": 1}), ("ask", {"what": "name"})], "done")
        agent = create_react_agent(m, [ask, add], version=version, checkpointer=InMemorySaver())
        result = await _talk(t, agent, {"messages": [("user", "x")]}, ONE)
        t.note("asked", [i.value for i in result["__interrupt__"]])
        t.note("next", agent.get_state(ONE).next)
        await _talk(t, agent, Command(resume="ada"), ONE)
        t.note("ran", ran)
        t.note("heard", m.heard)


async def several_tools_ask(t):
    """With a send for each call, several tools may ask at once."""

    @tool
    def ask(what: str) -> str:
        """Ask."""
        return f"{what}: {interrupt(what)}"

    m = script([("ask", {"what": "a"}), ("ask", {"what": "b"})], "done")
    agent = create_react_agent(m, [ask], checkpointer=InMemorySaver())
    result = await t.call(agent, "invoke", {"messages": [("user", "x")]}, ONE)
    asked = sorted(result["__interrupt__"], key=lambda i: i.value)
    t.note("asked", [i.value for i in asked])
    await _talk(t, agent, Command(resume={i.id: i.value.upper() for i in asked}), ONE)


async def agents_stop_at_breakpoints(t):
    """Before tools, and on again."""
    for version in ("v1", "v2"):
        m = script([("add", {"a": 1})], "done")
        agent = create_react_agent(
            m, [add], interrupt_before=["tools"], checkpointer=InMemorySaver(), version=version
        )
        await _talk(t, agent, {"messages": [("user", "x")]}, ONE)
        t.note("next", agent.get_state(ONE).next)
        await _talk(t, agent, None, ONE)


async def a_person_speaks_instead_of_a_tool(t):
    """Who says something before the tools run, or speaks for the model, has them not run."""
    for version in ("v1", "v2"):
        for number, said in enumerate((HumanMessage("no"), AIMessage("no"), SystemMessage("no"))):
            m = script([("add", {"a": 1})], "done")
            agent = create_react_agent(
                m, [add], interrupt_before=["tools"], checkpointer=InMemorySaver(), version=version
            )
            for node in ("agent", None):
                config = {"configurable": {"thread_id": f"{number} {node}"}}
                m.heard.clear()
                await t.call(agent, "invoke", {"messages": [("user", "x")]}, config)
                await t.call(agent, "update_state", config, {"messages": [said]}, as_node=node)
                t.note("next", agent.get_state(config).next)
                await _talk(t, agent, None, config)


@differs("a call that is left runs")
async def a_person_answers_one_of_two_calls(t):
    """The other one is left."""
    m = script([("add", {"a": 1}), ("add", {"a": 2})], "done")
    agent = create_react_agent(m, [add], interrupt_before=["tools"], checkpointer=InMemorySaver())
    result = await t.call(agent, "invoke", {"messages": [("user", "x")]}, ONE)
    call = result["messages"][-1].tool_calls[0]
    answer = ToolMessage("by hand", tool_call_id=call["id"])
    await t.call(agent, "update_state", ONE, {"messages": [answer]})
    t.note("next", agent.get_state(ONE).next)


async def agents_remember(t):
    """A thread keeps the messages."""
    m = script("one", "two")
    agent = create_react_agent(m, [], checkpointer=InMemorySaver())
    await _talk(t, agent, {"messages": [("user", "a")]}, ONE)
    await _talk(t, agent, {"messages": [("user", "b")]}, ONE)
    t.note("heard", m.heard)


async def agents_have_names(t):
    """The name is on the graph and on what the model says."""
    agent = create_react_agent(script("done"), [], name="helper")
    t.note("name", agent.name)
    await _talk(t, agent)
    t.note("default", create_react_agent(script("done"), []).name)


async def agents_are_nodes(t):
    """An agent in a graph."""
    agent = create_react_agent(script([("add", {"a": 1})], "done"), [add], name="helper")
    builder = StateGraph(MessagesState)
    builder.add_node("helper", agent)
    builder.add_edge(START, "helper")
    await _talk(t, builder.compile())


async def agents_stream_messages(t):
    """Messages of the model, token by token, and of the tools."""
    m = script([("add", {"a": 1})], "done")
    agent = create_react_agent(m, [add])
    given = {"messages": [HumanMessage("hi", id="human")]}
    chunks = []
    if t.asyncio:
        async for chunk in agent.astream(given, stream_mode="messages"):
            chunks.append(chunk)
    else:
        chunks.extend(agent.stream(given, stream_mode="messages"))
    t.note(
        "chunks", [(m.type, m.content, meta["langgraph_node"], meta["langgraph_step"]) for m, meta in chunks]
    )


@differs("sent calls don't carry the state")
async def sent_calls_are_shown(t):
    """What a tool's task was sent."""
    agent = create_react_agent(script([("add", {"a": 1})], "done"), [add])
    given = {"messages": [HumanMessage("hi", id="human")]}
    chunks = []
    if t.asyncio:
        async for chunk in agent.astream(given, stream_mode="tasks"):
            chunks.append(chunk)
    else:
        chunks.extend(agent.stream(given, stream_mode="tasks"))
    t.note(
        "sent", [sorted(chunk["input"]) for chunk in chunks if "input" in chunk and chunk["name"] == "tools"]
    )


async def agents_are_tools(t):
    """A tool may run another agent, which may ask."""

    @tool
    def ask(what: str) -> str:
        """Ask."""
        return f"{what}: {interrupt(what)}"

    inner = script([("ask", {"what": "name"})], "inner done")
    helper = create_react_agent(inner, [ask], name="helper")

    @tool
    async def ahelp(task: str) -> str:
        """Help."""
        result = await helper.ainvoke({"messages": [("user", task)]})
        return result["messages"][-1].content

    @tool("ahelp")
    def help(task: str) -> str:
        """Help."""
        return helper.invoke({"messages": [("user", task)]})["messages"][-1].content

    m = script([("ahelp", {"task": "x"})], "done")
    agent = create_react_agent(m, [ahelp if t.asyncio else help], checkpointer=InMemorySaver())
    result = await _talk(t, agent, {"messages": [("user", "x")]}, ONE)
    if result is not None:
        await _talk(t, agent, Command(resume="ada"), ONE)
    t.note("heard", m.heard)
    t.note("inner", inner.heard)


async def agents_are_drawn(t):
    """The picture of each shape."""

    class Weather(BaseModel):
        degrees: int

    def hook(state):
        return {}

    for options in (
        {},
        {"version": "v1"},
        {"pre_model_hook": hook},
        {"post_model_hook": hook},
        {"response_format": Weather},
        {"pre_model_hook": hook, "post_model_hook": hook, "response_format": Weather},
    ):
        for tools in ([], [add]):
            agent = create_react_agent(script("x"), tools, **options)
            t.note("picture", agent.get_graph().draw_mermaid())


async def ids_of_calls_that_are_used_again(t):
    """Models number their calls anew in each answer: a call is answered by the messages after it alone."""
    for version in ("v1", "v2"):
        lines = script([("add", {"a": 1})], [("add", {"a": 2})], "done").lines
        for line in lines[:2]:
            line.tool_calls[0]["id"] = "call"
        await _talk(t, create_react_agent(model(*lines), [add], version=version))


class Listener(BaseCallbackHandler):
    """Notes the tools that it is told of."""

    def __init__(self):
        self.heard = []

    def on_tool_start(self, serialized, input_str, **kwargs):
        self.heard.append(serialized["name"])


async def functions_with_and_without_listeners(t):
    """What functions return is answered alike whether callbacks are told of them or not; so are their errors."""
    blank = {
        "text": "a",
        "number": 1.5,
        "none": None,
        "list": ["a", {"b": [1]}],
        "empty": [],
        "blocks": [{"type": "text", "text": "a"}],
        "model": Answered(text="a"),
        "bytes": b"a",
        "unicode": {"a": "ä"},
    }

    def give(what: str, more: int = 1, parts: list[int] | None = None) -> Any:
        """Give something."""
        return blank[what] if what in blank else (type(more).__name__, parts)

    def described(what: str) -> str:
        """Describe it.

        Args:
            what: anything
        """
        return what * 2

    asked = [("give", {"what": what}) for what in blank]
    asked += [
        ("give", {"what": "args", "more": "3", "parts": ["1"]}),
        ("give", {}),
        ("give", {"what": "x", "y": 1}),
    ]
    asked += [("described", {"what": "a"}), ("described", {"what": 1})]
    for callbacks in ([], [Listener()]):
        agent = create_react_agent(script(asked, "done"), [give, described])
        await _talk(t, agent, {"messages": [HumanMessage("go", id="0")]}, {"callbacks": callbacks})
        t.note("heard", [sorted(listener.heard) for listener in callbacks])


async def models_that_repeat_an_id(t):
    """A message whose id was there takes that one's place: what comes last is an answer, and the agent ends."""

    def look() -> str:
        """Look."""
        return "seen"

    says.count = 0
    line = says("", ("look", {}))
    agent = create_react_agent(Model(lines=[line] * 3, heard=[], bound=[]), [look])
    await t.invoke(agent, {"messages": [HumanMessage("go", id="0")]})


class Answered(BaseModel):
    text: str


async def a_model_that_is_a_mock(t):
    """It is asked as a test says, by a mock of LangChain's class."""
    asks = AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1}, "id": "1"}])

    def add(a: int) -> int:
        "Add one."
        return a + 1

    model = MagicMock(spec=BaseChatModel)
    model.bind_tools = MagicMock(return_value=model)
    model.invoke.side_effect = [asks, AIMessage("done")]
    model.ainvoke = AsyncMock(side_effect=[asks, AIMessage("done")])
    found = await t.call(create_react_agent(model, [add]), "invoke", {"messages": [("user", "q")]})
    t.note("said", [message.content for message in found["messages"]])


class _Counted(AgentState):
    """An agent's state with a key of its author's."""

    count: int


async def schemas_of_agents_states(t):
    """Messages are of the base class of all of them, also in a state that extends an agent's."""
    model = FakeListChatModel(responses=["hi"])
    agents = [create_react_agent(model, []), create_react_agent(model, [], state_schema=_Counted)]
    for agent in agents:
        for schema in (agent.get_input_jsonschema(), agent.get_output_jsonschema()):
            t.note("messages", schema["properties"]["messages"])
            t.note("required", schema["required"])
            t.note("kinds", list(schema["$defs"]))
    t.note("whole", agents[1].get_input_jsonschema())


@differs("a schema describes what its author wrote")
async def a_schema_of_the_librarys_own_state(t):
    """It says what the state is, and that there is a newer one."""
    schema = create_react_agent(FakeListChatModel(responses=["hi"]), []).get_input_jsonschema()
    t.note("says", [name for name in ("description", "deprecated") if name in schema])
