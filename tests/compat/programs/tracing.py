"""What callbacks are told of a run: its parts and their ends, by which tags and metadata (section 2.3)."""

from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langchain_core.tracers.langchain import LangChainTracer, wait_for_all_tracers
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt
from langgraph.utils.runnable import RunnableCallable
from langsmith import Client, traceable
from langsmith.run_helpers import get_current_run_tree

from ..parts import ONE, State, edges, nodes
from ..trace import Trace


class Counted(State):
    y: int


class Told(BaseCallbackHandler):
    """Notes who began and who ended, by name."""

    run_inline = True

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self._names: dict[UUID, str] = {}

    def _begun(self, name: str, run_id: UUID, parent: UUID | None, tags: Any, metadata: Any) -> None:
        self._names[run_id] = name
        around = None if parent is None else self._names[parent]
        known = {key: value for key, value in metadata.items() if not key.startswith("langgraph_")}
        self.seen.append(("begun", name, around, tags, known))

    def on_chain_start(self, _: Any, __: Any, *, run_id: UUID, **rest: Any) -> None:
        self._begun(rest["name"], run_id, rest["parent_run_id"], rest["tags"], rest["metadata"])

    def on_tool_start(self, told: Any, _: str, *, run_id: UUID, **rest: Any) -> None:
        self._begun(told["name"], run_id, rest["parent_run_id"], rest["tags"], rest["metadata"])

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **rest: Any) -> None:
        self.seen.append(("ended", self._names[run_id]))

    def on_tool_end(self, output: Any, *, run_id: UUID, **rest: Any) -> None:
        self.seen.append(("ended", self._names[run_id]))

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **rest: Any) -> None:
        self.seen.append(("failed", self._names[run_id], type(error).__name__, _questions(error)))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **rest: Any) -> None:
        self.seen.append(("failed", self._names[run_id], type(error).__name__, _questions(error)))


def _questions(error: BaseException) -> list[Any]:
    found = error.args[0] if error.args else ()
    return [each.value for each in found] if isinstance(found, list | tuple) else []


async def questions(t: Trace) -> None:
    """A question ends the runs that it unwinds with a GraphInterrupt that has it; only the outermost one just ends."""
    sub = edges(nodes(t, StateGraph(State), ask=lambda state: {"x": [interrupt("?")]}), ". ask .").compile()
    lazily = RunnableLambda(lambda state: {"x": [interrupt("lazily?")]}).with_config(run_name="lazily")
    builder = StateGraph(State).add_node("sub", sub).add_node("runs", lazily | RunnableLambda(lambda x: x))
    graph = edges(builder, ". sub runs .").compile(checkpointer=InMemorySaver())
    told = Told()
    for given in ({"x": []}, Command(resume="!"), Command(resume="!")):
        await t.invoke(graph, given, {**ONE, "callbacks": [told]})
        t.note("told", told.seen)
        told.seen.clear()


async def commands_for_the_graph_around(t: Trace) -> None:
    """One that leaves a graph ends the runs that it unwinds with a ParentCommand."""
    inner = nodes(
        t, StateGraph(State), leaves=lambda state: Command(graph=Command.PARENT, update={"x": ["left"]})
    )
    builder = StateGraph(State).add_node("sub", edges(inner, ". leaves").compile())
    told = Told()
    await t.invoke(edges(builder, ". sub .").compile(), {"x": []}, {"callbacks": [told]})
    t.note("told", [each[:3] if each[0] == "failed" else each for each in told.seen])


async def tools_that_ask(t: Trace) -> None:
    """A tool that asks has ended, for callbacks; with the answer it runs anew."""

    @tool
    def book(hotel: str) -> str:
        """Book a hotel."""
        return f"{hotel}: {interrupt('sure?')}"

    async def takes(state: State) -> Any:
        call = {"name": "book", "args": {"hotel": "A"}, "id": "1", "type": "tool_call"}
        answers = await t.call(ToolNode([book]), "invoke", [call])
        return {"x": [answer.content for answer in answers]}

    graph = edges(nodes(t, StateGraph(State), takes=takes), ". takes .").compile(checkpointer=InMemorySaver())
    told = Told()
    for given in ({"x": []}, Command(resume="yes")):
        await t.invoke(graph, given, {**ONE, "callbacks": [told]})
        t.note("told", told.seen)
        told.seen.clear()


async def the_entrys_router(t: Trace) -> None:
    """A router of START is told of, in a hidden node; without one that node isn't told of."""

    def route(state: State) -> str:
        return "a"

    for routed in (True, False):
        builder = nodes(t, StateGraph(State), "a")
        if routed:
            builder.add_conditional_edges("__start__", t.node(route))
        else:
            builder.add_edge("__start__", "a")
        told = Told()
        await t.invoke(builder.compile(), {"x": []}, {"callbacks": [told]})
        t.note("told", told.seen)


async def what_metadata_repeat(t: Trace) -> None:
    """Metadata repeat ids of `configurable`, which traces are searched by, unless they say something else."""
    seen: list[Any] = []

    def says(state: State, config: Any = None) -> None:
        seen.append({k: v for k, v in config["metadata"].items() if not k.startswith("langgraph_")})

    says.__annotations__["config"] = "RunnableConfig"
    sub = edges(nodes(t, StateGraph(State), inner=says), ". inner .").compile()

    async def calls(state: State) -> None:
        await t.call(sub, "invoke", state)

    builder = nodes(t, StateGraph(State), says=says, calls=calls).add_node("sub", sub)
    graph = edges(builder, ". says sub calls .").compile(checkpointer=InMemorySaver())
    ids = {"run_id": "r", "task_id": "t", "assistant_id": "as", "graph_id": True, "user": "u", "model": "m"}
    first = {"configurable": {"thread_id": "1", **ids}, "metadata": {"thread_id": "mine", "graph_id": "g"}}
    await t.invoke(graph, {"x": []}, first)
    replayed = (await t.history(graph, ONE))[-2].config
    other = {"thread_id": "2", "run_id": None, "task_id": "", "assistant_id": ["a list"]}
    for given, config in [({"x": []}, {"configurable": other}), (None, replayed)]:
        told = Told()
        await t.invoke(graph, given, {**config, "callbacks": [told]})
        t.note("told", told.seen)
    t.note("seen", seen)


async def routers_that_are_runnables(t: Trace) -> None:
    """A runnable that is a router tells of its runs itself, under its own name, or not at all."""

    def to_b(state: Any) -> str:
        return "b"

    routers = (
        RunnableLambda(to_b),
        RunnableLambda(to_b).with_config(run_name="named", tags=["tagged"]),
        RunnableLambda(len) | RunnableLambda(to_b),
        RunnableCallable(to_b, trace=False),
    )
    for router in routers:
        for source in ("__start__", "a"):
            builder = nodes(t, StateGraph(State), "a", "b").add_conditional_edges(source, router, ["b"])
            told = Told()
            graph = builder.set_entry_point("a").compile()
            await t.invoke(graph, {"x": []}, {"callbacks": [told], "max_concurrency": 1})
            t.note("told", told.seen)


async def the_integration_that_metadata_name(t: Trace) -> None:
    """A graph's run is of LangGraph's integration, unless metadata say of which; a nested one's may be of another."""
    seen: list[Any] = []

    def says(state: State, config: Any) -> None:
        seen.append(config["metadata"].get("ls_integration"))

    says.__annotations__["config"] = RunnableConfig
    plain = edges(nodes(t, StateGraph(State), says=says), ". says .").compile()
    bound = plain.with_config(metadata={"ls_integration": "bound"})
    for graph in (plain, bound):
        for config in ({}, {"metadata": {"ls_integration": "mine"}}):

            async def calls(state: State, graph: Any = graph) -> None:
                await t.call(graph, "invoke", state)

            around = nodes(t, StateGraph(State), calls=calls).add_node("is", graph)
            for each in (graph, edges(around, ". is calls .").compile()):
                told = Told()
                await t.invoke(each, {"x": []}, config)
                await t.invoke(each, {"x": []}, {**config, "callbacks": [told]})
                t.note("told", told.seen)
    t.note("seen", seen)


async def a_dict_as_a_node(t: Trace) -> None:
    """Its functions and runnables run side by side, each a run of its own, and one may ask."""
    parts = {"x": lambda state: ["i"], "y": RunnableLambda(lambda state: len(state["x"]))}
    builder = (
        StateGraph(Counted).add_node("both", parts).add_node("asks", {"x": lambda state: [interrupt("?")]})
    )
    graph = edges(builder, ". both asks .").compile(checkpointer=InMemorySaver())
    told = Told()
    for given in ({"x": ["i"]}, Command(resume="!")):
        await t.invoke(graph, given, {**ONE, "callbacks": [told]})
        t.note("told", sorted(told.seen, key=str))
        told.seen.clear()
    await t.history(graph, ONE)


async def a_dict_of_something_else(t: Trace) -> None:
    """What can be neither called nor invoked is refused, also in a dict; one without parts writes nothing."""
    t.raises(StateGraph(State).add_node, "no", {"x": 5})
    await t.invoke(edges(StateGraph(State).add_node("none", {}), ". none .").compile(), {"x": ["i"]})


async def the_id_of_a_run_as_it_was_given(t: Trace) -> None:
    """Callbacks are told of a run by the id that its caller gave, be it a text."""
    graph = edges(nodes(t, StateGraph(State), "a"), ". a .").compile()
    for given in (UUID(int=7), str(UUID(int=8)), "mine"):
        told = Told()
        await t.invoke(graph, {"x": []}, {"run_id": given, "callbacks": [told]})
        t.note("told", (told.seen, [name for run, name in told._names.items() if run == given]))


class Come(BaseCallbackHandler):
    """Notes what chains came to."""

    run_inline = True

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_chain_end(self, outputs: Any, **rest: Any) -> None:
        self.seen.append(outputs)


async def results_that_callbacks_are_told_of(t: Trace) -> None:
    """A run's result has the keys that the call asked for, else those of the output, or all where it is streamed; so
    has that of a graph that a node calls."""

    def write(state: Counted) -> dict[str, Any]:
        return {"x": ["x"], "y": 1}

    builder = nodes(t, StateGraph(Counted, output_schema=State), write=write)
    graph = edges(builder, ". write .").compile()
    for keys in (None, "y", ["y"], ["x", "y"], []):

        async def call(state: State, keys: Any = keys) -> dict[str, Any]:
            return {"x": [await t.call(graph, "invoke", {"x": []}, output_keys=keys)]}

        around = edges(nodes(t, StateGraph(State), call=call), ". call .").compile()
        told = Come()
        await t.invoke(graph, {"x": ["i"]}, {"callbacks": [told]}, output_keys=keys or None)
        await t.stream(graph, {"x": ["i"]}, {"callbacks": [told]}, output_keys=keys)
        await t.stream(graph, {"x": ["i"]}, {"callbacks": [told]}, output_keys=keys, stream_mode="updates")
        if keys != []:
            await t.invoke(around, {"x": []}, {"callbacks": [told]})
        t.note("told", told.seen)


class KeepingClient(Client):
    """LangSmith's client that keeps what it is told of, and sends nothing."""

    def __init__(self) -> None:
        super().__init__(api_url="http://localhost:1", api_key="-", auto_batch_tracing=False, info={})
        self.kept: dict[str, tuple[str, str | None]] = {}

    def create_run(self, name: str, inputs: Any, run_type: Any, **rest: Any) -> None:
        """Note whose child a run is."""
        parent = rest.get("parent_run_id")
        self.kept[str(rest["id"])] = name, None if parent is None else str(parent)

    def update_run(self, run_id: Any, **rest: Any) -> None:
        """Nothing more is noted of it."""

    def told(self) -> list[Any]:
        """The runs, each with the one that it is in."""
        wait_for_all_tracers()
        names = {id: name for id, (name, _) in self.kept.items()}
        return sorted((name, parent and names[parent]) for name, parent in self.kept.values())


@traceable
def traced(x: int) -> int:
    """A function that LangSmith is told of."""
    return x


def in_tree() -> str | None:
    """The run that LangSmith takes the code to be in."""
    tree = get_current_run_tree()
    return None if tree is None else tree.name


async def run_trees_of_nodes(t: Trace) -> None:
    """In a node, and in a router, LangSmith takes code to be in the node, whose children `@traceable` functions are."""

    def node(state: Any) -> Any:
        traced(1)
        return {"x": [in_tree()]}

    def route(state: Any) -> str:
        traced(2)
        return "b"

    inner = edges(nodes(t, StateGraph(State), inside=node), ". inside .").compile(name="inner")
    builder = nodes(t, StateGraph(State), a=node, b=node).add_node("sub", inner)
    builder.add_conditional_edges("a", route, ["b"])
    graph = edges(builder, ". a", ". sub .", "b .").compile()
    client = KeepingClient()
    await t.invoke(graph, {"x": []}, {"callbacks": [LangChainTracer(client=client)]})
    t.note("told", client.told())
    t.note("after", in_tree())
    await t.invoke(graph, {"x": []})


async def run_trees_of_calls(t: Trace) -> None:
    """The same of entrypoints and tasks."""
    client = KeepingClient()

    if t.asyncio:

        @task(name="called")
        async def acalled() -> Any:
            traced(1)
            return in_tree()

        @entrypoint()
        async def workflow(given: Any) -> Any:
            return [in_tree(), await acalled(), in_tree()]
    else:

        @task
        def called() -> Any:
            traced(1)
            return in_tree()

        @entrypoint()
        def workflow(given: Any) -> Any:
            return [in_tree(), called().result(), in_tree()]

    await t.invoke(workflow, 1, {"callbacks": [LangChainTracer(client=client)]})
    t.note("told", client.told())
    await t.invoke(workflow, 1)


async def run_trees_of_what_fails(t: Trace) -> None:
    """After a node that failed, or asked, LangSmith's current run is the one around the graph again."""

    def fails(state: Any) -> Any:
        raise ValueError(in_tree())

    graph = edges(nodes(t, StateGraph(State), fails=fails), ". fails .").compile()
    client = KeepingClient()
    await t.invoke(graph, {"x": []}, {"callbacks": [LangChainTracer(client=client)]})
    t.note("after", in_tree())
