"""Graphs among LangChain's runnables, and their callbacks (section 4.6), compared with LangGraph's."""

import asyncio
import importlib
import operator
import threading
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypedDict
from uuid import UUID

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableLambda, RunnableParallel

from graph_compat.graph.state import CompiledStateGraph
from graph_compat.langchain.runnable import MEMBERS
from graph_compat.prebuilt import ToolNode
from graph_compat.pregel import Pregel

from .loading import CALLERS, GRAPH_COMPAT, LANGGRAPH
from .trace import Mask, render

ASK = {"messages": [("user", "hi")]}


class Log(BaseCallbackHandler):
    """What callbacks are told, with runs numbered in the order of their start."""

    def __init__(self) -> None:
        self.lines: list[Any] = []
        self._runs: list[Any] = []

    def _number(self, run_id: Any) -> int | None:
        if run_id is not None and run_id not in self._runs:
            self._runs.append(run_id)
        return None if run_id is None else self._runs.index(run_id)

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: Any, parent_run_id: Any = None, **rest: Any
    ) -> None:
        metadata = sorted(rest["metadata"].items(), key=str)
        where = (self._number(run_id), self._number(parent_run_id))
        self.lines.append(("start", *where, rest["name"], rest["tags"], metadata))

    def on_chain_end(self, outputs: Any, *, run_id: Any, **rest: Any) -> None:
        self.lines.append(("end", self._number(run_id), type(outputs).__name__))

    def on_chain_error(self, error: BaseException, *, run_id: Any, **rest: Any) -> None:
        self.lines.append(("error", self._number(run_id), isinstance(error, Exception)))

    def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: Any, parent_run_id: Any = None, **rest: Any
    ) -> None:
        where = (self._number(run_id), self._number(parent_run_id))
        self.lines.append(("model", *where, rest["tags"], sorted(rest["metadata"])))


def chat(library: str) -> Any:
    """A node that calls a model without a config, a branch, a runnable, a graph in the graph, and a sequence."""
    graphs = importlib.import_module(f"{library}.graph")
    model = GenericFakeChatModel(
        messages=iter([AIMessage(content="hello world", id=str(n)) for n in range(9)])
    )

    def call(state: Any) -> Any:
        return {"messages": [model.invoke(state["messages"])]}

    def route(state: Any) -> str:
        return "runs"

    inner = graphs.StateGraph(graphs.MessagesState)
    inner.add_node("call", call)
    inner.add_edge(graphs.START, "call")
    builder = graphs.StateGraph(graphs.MessagesState)
    builder.add_node("call", call)
    builder.add_node("runs", RunnableLambda(lambda state: {"messages": []}, name="inside"))
    builder.add_node("sub", inner.compile(name="inner"))
    builder.add_node(
        "steps", RunnableLambda(lambda state: [], name="one") | (lambda found: {"messages": found})
    )
    builder.add_edge(graphs.START, "call")
    builder.add_conditional_edges("call", route, ["runs"])
    builder.add_edge("runs", "sub")
    builder.add_edge("sub", "steps")
    return builder.compile()


def run(graph: Any, caller: str, given: Any, config: Any) -> Any:
    return graph.invoke(given, config) if caller == "blocking" else asyncio.run(graph.ainvoke(given, config))


def same(work: Callable[[str], Any]) -> None:
    """Both libraries come to the same."""
    theirs, ours = (render(work(library), Mask()) for library in (LANGGRAPH, GRAPH_COMPAT))
    assert ours.splitlines() == theirs.splitlines()


@pytest.mark.parametrize("caller", CALLERS)
def test_callbacks_are_told_of_the_same_runs(caller: str) -> None:
    """A graph, its nodes, its branches, what runs in them and models called without a config, each under its caller."""

    def work(library: str) -> Any:
        log = Log()
        config = {"callbacks": [log], "tags": ["T"], "metadata": {"m": 1}, "run_name": "named"}
        run(chat(library), caller, ASK, config)
        return log.lines

    same(work)


@pytest.mark.parametrize("caller", CALLERS)
def test_callbacks_are_told_of_failures(caller: str) -> None:
    """A failing node fails its run and the graph's."""

    def work(library: str) -> Any:
        graphs = importlib.import_module(f"{library}.graph")

        def fails(state: int) -> int:
            raise ValueError(state)

        builder = graphs.StateGraph(int)
        builder.add_node(fails)
        builder.add_edge(graphs.START, "fails")
        log = Log()
        with pytest.raises(ValueError, match="1"):
            run(builder.compile(), caller, 1, {"callbacks": [log]})
        return log.lines

    same(work)


@pytest.mark.filterwarnings("ignore:astream_events version='v1'")
@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("config", [{}, {"run_id": str(UUID(int=1))}], ids=["", "of a run with an id"])
def test_the_events_of_a_graph(version: Any, config: Any) -> None:
    """`astream_events` shows the same events, chunks of nodes and of models among them, whatever id it has."""

    async def events(graph: Any) -> list[Any]:
        return [
            (e["event"], e["name"], e["tags"], len(e["parent_ids"]), sorted(e["data"]))
            async for e in graph.astream_events(ASK, config, version=version)
        ]

    same(lambda library: asyncio.run(events(chat(library))))


def test_an_awaited_listener_is_told_on_the_callers_loop() -> None:
    """Also of nodes that block, whose code is on a thread; so no loop is begun for each thing that it is told."""

    class Awaited(AsyncCallbackHandler):
        def __init__(self) -> None:
            self.told: list[Any] = []

        async def on_chain_start(self, serialized: Any, inputs: Any, **rest: Any) -> None:
            self.told.append((rest["name"], asyncio.get_running_loop()))

    async def run(library: str) -> Any:
        def block(state: Any) -> Any:
            threads.append(threading.get_ident())
            return {"asked": 1}

        threads: list[int] = []
        log, loop = Awaited(), asyncio.get_running_loop()
        builder = importlib.import_module(f"{library}.graph").StateGraph(dict)
        builder.add_node("block", block)
        builder.add_edge("__start__", "block")
        await builder.compile().ainvoke({}, {"callbacks": [log]})
        names, loops = zip(*log.told, strict=True)
        return names, {*loops} == {loop}, threads[0] == threading.get_ident()

    same(lambda library: asyncio.run(run(library)))


def test_graphs_called_in_many_watched_nodes_end() -> None:
    """Each node has a thread, on which it waits for a graph whose nodes block, too."""
    from graph_compat.graph import StateGraph
    from graph_compat.types import Send

    class State(TypedDict):
        found: Annotated[list[int], operator.add]

    inner: Any = StateGraph(State)
    inner.add_node("found", lambda state: {"found": [1]})
    inner.add_edge("__start__", "found")
    graph = inner.compile()
    outer: Any = StateGraph(State)
    outer.add_node("calls", lambda number: {"found": graph.invoke({"found": []})["found"]})
    outer.add_conditional_edges("__start__", lambda state: [Send("calls", n) for n in range(100)], ["calls"])

    async def run() -> Any:
        config = {"callbacks": [AsyncCallbackHandler()]}
        return await asyncio.wait_for(outer.compile().ainvoke({"found": []}, config), 60)

    assert asyncio.run(run()) == {"found": [1] * 100}


def test_a_graph_is_a_runnable() -> None:
    """It passes for one, whichever was imported first, and has its methods."""
    graph = chat(GRAPH_COMPAT)

    assert isinstance(graph, Runnable)
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        graph.nope  # noqa: B018


def _ways() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    asks = RunnableLambda(lambda text: {"messages": [("user", text)]})
    last = lambda state: state["messages"][-1].content  # noqa: E731
    yield "after a runnable", lambda graph: (asks | graph).invoke("q")
    yield "before a function", lambda graph: (graph | last).invoke(ASK)
    yield "after a function", lambda graph: ((lambda text: ASK) | graph).invoke("q")
    yield "after a dict", lambda graph: ({"messages": lambda text: [text]} | graph).invoke("q")
    yield "streamed", lambda graph: list((asks | graph).stream("q"))
    yield "awaited", lambda graph: asyncio.run((asks | graph | last).ainvoke("q"))
    yield "pipe", lambda graph: graph.pipe(last).invoke(ASK)
    yield "pick", lambda graph: graph.pick("messages").invoke(ASK)
    yield "assign", lambda graph: graph.assign(last=last).invoke(ASK)
    yield "map", lambda graph: [last(state) for state in graph.map().invoke([ASK, ASK])]
    yield "bind", lambda graph: graph.bind(stream_mode="updates").invoke(ASK)
    yield "with_retry", lambda graph: graph.with_retry().invoke(ASK)
    yield "with_fallbacks", lambda graph: graph.with_fallbacks([asks]).invoke(ASK)
    yield "with_config", lambda graph: graph.with_config(tags=["t"]).invoke(ASK)
    yield (
        "parallel",
        lambda graph: RunnableParallel(a=graph, b=last).invoke(ASK | {"messages": [AIMessage("x")]}),
    )
    yield "batch", lambda graph: [last(state) for state in graph.batch([ASK, ASK])]
    yield "batch_as_completed", lambda graph: list(graph.batch_as_completed([ASK]))
    yield "transform", lambda graph: list(graph.transform(iter([ASK])))
    yield "config_specs", lambda graph: graph.config_specs
    yield "input schema", lambda graph: graph.get_input_jsonschema()["properties"]["messages"]
    yield "input type", lambda graph: graph.InputType.__name__


WAYS = dict(_ways())


@pytest.mark.parametrize("way", WAYS)
def test_ways_to_use_a_graph(way: str) -> None:
    """What runnables do with each other they do with graphs."""
    same(lambda library: WAYS[way](chat(library)))


def test_a_tool_of_a_graph() -> None:
    """A graph becomes a tool with the arguments of its input."""
    with pytest.warns(match="beta"):
        tool = chat(GRAPH_COMPAT).as_tool(name="chat", description="chats")

    found = tool.invoke({"messages": [{"type": "human", "content": "hi"}]})

    assert list(tool.args) == ["messages"]
    assert found["messages"][-1].content == "hello world"


def test_langchain_imported_after_a_graph(run_python: Any) -> None:
    """A graph that was compiled before LangChain is imported is a runnable as soon as it is."""
    code = """
import sys
from graph_compat.graph import START, StateGraph
builder = StateGraph(int)
builder.add_node("add", lambda n: n + 1)
builder.add_edge(START, "add")
graph = builder.compile()
assert "langchain_core" not in sys.modules
from langchain_core.runnables import Runnable, RunnableLambda
print(isinstance(graph, Runnable), (RunnableLambda(lambda n: n * 2) | graph).invoke(2))
"""
    done = run_python("-c", code)

    assert (done.stdout, done.stderr) == ("True 5\n", "")


def test_a_graph_called_inside_a_chain_is_told_of_as_a_part_of_it() -> None:
    """A function of a chain that calls a graph without a config hands its callbacks on."""

    def work(library: str) -> Any:
        log, graph = Log(), chat(library)
        RunnableLambda(lambda text: graph.invoke(ASK), name="outer").invoke(
            "q", {"callbacks": [log], "tags": ["T"]}
        )
        return log.lines

    same(work)


LOOKS: dict[str, Callable[[Any], Any]] = {
    "unpacked": lambda config: {**config},
    "copied": dict,
    "merged": lambda config: config | {},
    "merged into": lambda config: {} | config,
    "its own copy": lambda config: config.copy(),
    "by key": lambda config: {key: config[key] for key in config},
    "by get": lambda config: {key: config.get(key) for key in list(config.keys())},
    "its items": lambda config: dict(config.items()),
    "compared": lambda config: (
        dict(config) if config == {**config} and len(config) and bool(config) else None
    ),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_a_node_finds_a_configuration_however_it_looks(look: Callable[[Any], Any]) -> None:
    """LangChain's code in a node that nobody listens to finds the same, whatever it reads first."""
    from langchain_core.runnables.config import var_child_runnable_config

    seen: list[Any] = []

    def node(state: Any) -> Any:
        found: Any = var_child_runnable_config.get()
        seen.append(look(found))
        return {}

    graphs = importlib.import_module(f"{GRAPH_COMPAT}.graph")
    builder = graphs.StateGraph(dict)
    builder.add_node(node)
    builder.add_edge(graphs.START, "node")
    builder.compile().invoke({}, {"metadata": {"a": 1}, "tags": ["t"], "configurable": {"k": 2}})

    (found,) = seen
    assert (found["callbacks"].handlers, found["tags"], found["configurable"]["k"]) == ([], ["t"], 2)
    assert {"a": 1, "langgraph_node": "node"}.items() <= found["metadata"].items()


def test_handlers_are_told_where_nothing_else_of_langchain_was_imported(run_python: Any) -> None:
    """A handler needs LangChain's callbacks alone: whoever hands one over listens."""
    done = run_python("-W", "error", "-c", LISTENS)
    assert done.stdout.splitlines() == ["LangGraph", "wf", "double"]


LISTENS = """
from langchain_core.callbacks import BaseCallbackHandler
from graph_compat.func import entrypoint, task

class Listens(BaseCallbackHandler):
    def on_chain_start(self, serialized, inputs, *, name, **told):
        print(name)

@task
def double(n):
    return 2 * n

@entrypoint()
def wf(n):
    return double(n).result()

wf.invoke(1, {"callbacks": [Listens()]})
"""


@pytest.mark.parametrize("listens", [False, True])
@pytest.mark.parametrize("place", ["node", "router", "tool"])
def test_a_stop_iteration_is_told_by_the_name_of_the_node(place: str, listens: bool) -> None:
    """Whoever listens: Python takes it for the end of what runs the node, and would say no more than that."""
    prebuilt, graph = (importlib.import_module(f"{GRAPH_COMPAT}.{name}") for name in ("prebuilt", "graph"))

    def ends(state: Any) -> Any:
        """Has no more."""
        raise StopIteration

    called = AIMessage("", tool_calls=[{"name": "ends", "args": {"state": 1}, "id": "1"}])
    builder = graph.StateGraph(graph.MessagesState)
    builder.add_node("one", {"node": ends, "tool": prebuilt.ToolNode([ends])}.get(place, lambda state: None))
    builder.add_edge(graph.START, "one").add_conditional_edges("one", ends if place == "router" else str)
    with pytest.raises(RuntimeError, match=r"'one' raised StopIteration\(\)"):
        builder.compile().invoke({"messages": [called]}, {"callbacks": [Log()] if listens else []})


def test_classes_show_all_that_a_runnable_has() -> None:
    """What LangChain adds to `Runnable` is lent to graphs and tool nodes once `MEMBERS` names it."""
    public = {name for name in dir(Runnable) if not name.startswith("_")}
    for cls in (CompiledStateGraph, Pregel, ToolNode):
        assert public - {*dir(cls)} == set()
    assert {*MEMBERS.split()} < public
