"""Building a graph: nodes, edges, routers, and what is refused with which words (sections 1.2, 2.2 and 9.3)."""

import copy
import functools
import logging
import pickle
from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal
from unittest.mock import AsyncMock, MagicMock, Mock, create_autospec

from langchain_core.runnables import AddableDict, RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config, get_store, get_stream_writer
from langgraph.errors import NodeError
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime, get_runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, RetryPolicy, Send, StreamWriter, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from ..parts import ONE, State, edges, nodes
from ..trace import Trace, differs


def first(state: State) -> dict[str, Any]:
    return {"x": ["first"]}


def second(state: State) -> dict[str, Any]:
    return {"x": ["second"]}


class Speaker:
    steps = 1  # not those of a sequence of runnables

    def __call__(self, state: State) -> dict[str, Any]:
        return {"x": ["callable"]}

    def method(self, state: State) -> dict[str, Any]:
        return {"x": ["method"]}


async def names_from_functions(t: Trace) -> None:
    """A node without a name is called like its function, be it a method or a lambda, or like its class."""
    builder = StateGraph(State)
    for function in [first, Speaker().method, lambda state: {"x": ["lambda"]}]:
        t.raises(builder.add_node, function)
    t.raises(builder.add_node, Speaker())
    t.raises(builder.add_node, functools.partial(second))
    t.note("nodes", list(builder.nodes))


async def kinds_of_callables(t: Trace) -> None:
    """Partials, bound methods and instances with `__call__` are nodes when they are given a name."""

    def said(word: str, state: State) -> dict[str, Any]:
        return {"x": [word]}

    builder = StateGraph(State)
    builder.add_node("partial", functools.partial(said, "partial"))
    builder.add_node("method", Speaker().method)
    builder.add_node("instance", Speaker())
    await t.invoke(edges(builder, ". partial method instance .").compile(), {"x": []})


class Asker:
    """What a project's own code invokes, in its own way, and a graph calls."""

    def invoke(self, question: str, style: str = "plain") -> str:
        return f"{style} {question}"

    async def ainvoke(self, question: str) -> str:
        return self.invoke(question)

    def __call__(self, state: State) -> Any:
        return {"x": [self.invoke("question")]} if len(state["x"]) < 2 else "end"


async def callables_that_can_be_invoked(t: Trace) -> None:
    """What can be called is called, as a node and as a router, whatever else it has: a mock has everything."""
    for one in (Asker(), MagicMock(return_value={"x": ["mock"]})):
        builder = nodes(t, StateGraph(State).add_node("one", one), end=first)
        router = Asker() if isinstance(one, Asker) else MagicMock(return_value="end")
        builder.add_edge(START, "one").add_conditional_edges("one", router, ["end"])
        await t.invoke(builder.compile(store=MagicMock()), {"x": ["i"]})
        t.note("called", (getattr(one, "called", None), getattr(router, "called", None)))


async def generators_as_nodes(t: Trace) -> None:
    """What a generator yields adds up; where it doesn't, the last counts."""

    def nothing(state: State) -> Iterator[Any]:
        yield from ()

    def adds(state: State) -> Iterator[Any]:
        yield AddableDict(x=[1])
        yield AddableDict(x=[2])

    def replaces(state: State, config: RunnableConfig) -> Iterator[Any]:
        yield {"x": [3]}
        yield {"x": [config["metadata"]["langgraph_node"]]}

    def routes(state: State) -> Iterator[Any]:
        yield {"x": [4]}
        yield Command(update={"x": [5]}, goto="asks")

    def asks(state: State) -> Iterator[Any]:
        yield {"x": [interrupt("?")]}
        get_stream_writer()("after the last")

    async def awaited(state: State) -> AsyncIterator[Any]:
        for piece in adds(state):
            yield piece

    builder = StateGraph(State).add_sequence(
        [nothing, adds, ("in their colour", awaited if t.asyncio else adds), replaces, routes]
    )
    graph = builder.add_node(asks).add_edge(START, "nothing").compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": []}, ONE)
    await t.stream(graph, Command(resume="!"), ONE, stream_mode=["custom", "updates"])

    def to_both(state: State) -> Iterator[str]:
        yield "a"
        yield "b"

    builder = nodes(t, StateGraph(State), "ab").add_conditional_edges(START, to_both, ["ab"])
    await t.invoke(builder.compile(), {"x": []})


@differs("add_node without action says so")
async def add_node_refuses(t: Trace) -> None:
    """A name that is taken, reserved or has a separator in it, and an action that nothing can call."""
    builder = StateGraph(State).add_node("a", first)
    for name in ["a", START, END, "a|b", "a:b"]:
        t.raises(builder.add_node, name, first)
    t.raises(builder.add_node, "number", 1)
    t.raises(builder.add_node, "missing")
    t.raises(builder.add_node, 1)


async def a_name_that_is_no_string(t: Trace) -> None:
    """It is told by a TypeError."""
    for name in (3, ("a", "b")):
        try:
            StateGraph(State).add_node(name, first)
        except TypeError:
            t.note("refused", name)


async def a_node_named_like_a_key(t: Trace) -> None:
    """A node may have the name of a state key."""
    builder = StateGraph(State)
    t.raises(builder.add_node, "x", first)
    await t.invoke(edges(builder, ". x .").compile(), {"x": []})


async def add_edge_refuses(t: Trace) -> None:
    """END starts nothing, START ends nothing, and the starts of a join have to be known."""
    builder = StateGraph(State).add_node("a", first)
    t.raises(builder.add_edge, END, "a")
    t.raises(builder.add_edge, "a", START)
    t.raises(builder.add_edge, ["a", "later"], "a")
    t.raises(builder.add_edge, ["a", END], "a")
    t.raises(builder.add_edge, ["a"], START)


async def compile_refuses_unknown_nodes(t: Trace) -> None:
    """Edges, routers and breakpoints name nodes that exist, and something follows START."""
    t.raises(StateGraph(State).compile)
    t.raises(StateGraph(State).add_node("a", first).compile)
    t.raises(edges(StateGraph(State).add_node("a", first), ". a zz").compile)
    t.raises(edges(StateGraph(State).add_node("a", first), ". a", "zz a").compile)
    t.raises(edges(StateGraph(State).add_node("a", first), ". zz").compile)
    builder = edges(StateGraph(State).add_node("a", first), ". a")
    t.raises(builder.compile, interrupt_before=["zz"])
    t.raises(builder.compile, interrupt_after=["a", "zz"])
    builder.add_conditional_edges("a", second, ["a", "zz"])
    t.raises(builder.compile)
    t.raises(edges(StateGraph(State).add_node("a", first), ". a").add_conditional_edges("zz", second).compile)


async def compile_refuses_a_checkpointer(t: Trace) -> None:
    """A checkpointer is a saver, True, False or None."""
    builder = edges(StateGraph(State).add_node("a", first), ". a .")
    t.raises(builder.compile, checkpointer="memory")
    t.raises(builder.compile, checkpointer=InMemorySaver)


async def a_node_that_nothing_leads_to(t: Trace) -> None:
    """A node without an edge to it is allowed and doesn't run."""
    builder = edges(nodes(t, StateGraph(State), "a", "orphan"), ". a .")
    await t.invoke(builder.compile(), {"x": []})


async def edges_to_end_are_optional(t: Trace) -> None:
    """A node without an edge from it ends its path."""
    await t.invoke(edges(nodes(t, StateGraph(State), "a", "b"), ". a b").compile(), {"x": []})


async def entry_and_finish_points(t: Trace) -> None:
    """set_entry_point, set_finish_point and set_conditional_entry_point are edges from START and to END."""
    builder = nodes(t, StateGraph(State), "a", "b")
    builder.set_entry_point("a").set_finish_point("b")
    edges(builder, "a b")
    await t.invoke(builder.compile(), {"x": []})
    builder = nodes(t, StateGraph(State), "a", "b")
    builder.set_conditional_entry_point(lambda state: "go", {"go": "b", "stay": "a"})
    await t.invoke(builder.compile(), {"x": []})


async def sequences(t: Trace) -> None:
    """add_sequence adds nodes and chains them, and refuses an empty list and a repeated name."""
    builder = StateGraph(State).add_sequence([first, ("named", t.node(second))])
    await t.invoke(edges(builder, ". first").compile(), {"x": []})
    t.raises(StateGraph(State).add_sequence, [])
    t.raises(StateGraph(State).add_sequence, [first, first])
    t.raises(StateGraph(State).add_sequence, [first, ("first", second)])


async def joins_wait_for_all(t: Trace) -> None:
    """A join runs when every one of its starts has run since it last did, in a loop too."""

    def again(state: State) -> Any:
        return "a" if state["x"].count("j") < 2 else END

    builder = edges(nodes(t, StateGraph(State), "a", "b", "c", "j"), ". a b", "a c")
    builder.add_edge(["b", "c"], "j").add_conditional_edges("j", again, ["a", END])
    await t.stream(builder.compile(), {"x": []}, stream_mode="values")


async def a_join_of_one(t: Trace) -> None:
    """A list of one start is a join too."""
    builder = edges(nodes(t, StateGraph(State), "a", "b"), ". a").add_edge(["a"], "b")
    await t.invoke(builder.compile(), {"x": []})


async def a_join_with_a_branch_not_taken(t: Trace) -> None:
    """A join one of whose starts never runs doesn't run, and the graph ends quietly."""
    builder = edges(nodes(t, StateGraph(State), "a", "b", "c", "j"), ". a")
    builder.add_conditional_edges("a", lambda state: "b", ["b", "c"]).add_edge(["b", "c"], "j")
    await t.invoke(builder.compile(), {"x": []})


def _routed(t: Trace, path: Any, *args: Any) -> Any:
    builder = nodes(t, StateGraph(State), "a", "b", "c")
    return edges(builder.add_conditional_edges("a", path, *args), ". a").compile()


async def forms_of_a_path_map(t: Trace) -> None:
    """A dict maps results to nodes, a list is a dict of itself, and a Literal says it in the annotation."""

    def literal(state: State) -> Literal["c", "__end__"]:
        return "c"

    await t.invoke(_routed(t, lambda state: 1, {1: "b", 2: "c"}), {"x": []})
    await t.invoke(_routed(t, lambda state: True, {True: "c", False: END}), {"x": []})
    await t.invoke(_routed(t, lambda state: "b", ["b", "c"]), {"x": []})
    await t.invoke(_routed(t, literal), {"x": []})
    await t.invoke(_routed(t, lambda state: "b"), {"x": []})
    await t.invoke(_routed(t, t.node(literal), {"c": END, "__end__": "b"}), {"x": []})


async def results_of_a_router(t: Trace) -> None:
    """A router gives a name, a list of names and Sends, END, or nothing at all."""
    for result in [
        "b",
        ["b", "c"],
        ("c", "b"),
        END,
        [END, "b"],
        [],
        Send("b", {"x": ["private"]}),
        ["c", Send("b", 0)],
    ]:
        t.note("result", result)
        await t.invoke(_routed(t, lambda state, result=result: result), {"x": []})


async def what_a_router_may_not_give(t: Trace) -> None:
    """None and START are no destinations, END takes no Send, and the map has to have the result."""
    for result in [None, START, [None], Send(END, {})]:
        t.note("result", result)
        await t.invoke(_routed(t, lambda state, result=result: result), {"x": []})
    await t.invoke(_routed(t, lambda state: "b", {"c": "c"}), {"x": []})


async def a_command_sends_to_the_end(t: Trace) -> None:
    """What a command sends to the end, which a router may not, goes nowhere; the rest of it counts."""
    for goto in (Send(END, {}), [Send(END, {}), "b"], [END, Send("b", {"x": ["private"]}), Send(END, {})]):
        builder = StateGraph(State)
        builder.add_node("a", t.node(lambda state, goto=goto: Command(update={"x": ["a"]}, goto=goto)))
        builder.add_node("b", t.node(lambda state: {"x": ["b", *state["x"]]}))
        await t.invoke(builder.add_edge(START, "a").compile(), {"x": []})


async def an_unknown_destination_is_dropped(t: Trace) -> None:
    """A name that no node has is dropped with a log record; the run ends quietly."""
    records: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    try:
        await t.invoke(_routed(t, lambda state: "zz"), {"x": []})
        await t.invoke(_routed(t, lambda state: Send("zz", 1)), {"x": []})
    finally:
        logging.getLogger().removeHandler(handler)
    t.note("logged", len(records))


@differs("a router without a name is called condition")
async def two_routers_of_a_node(t: Trace) -> None:
    """A node may have several routers of different names; two lambdas have the same one."""

    def to_b(state: State) -> str:
        return "b"

    def to_c(state: State) -> str:
        return "c"

    builder = edges(nodes(t, StateGraph(State), "a", "b", "c"), ". a")
    builder.add_conditional_edges("a", to_b).add_conditional_edges("a", to_c)
    t.raises(builder.add_conditional_edges, "a", to_c)
    builder.add_conditional_edges("b", lambda state: END)
    t.raises(builder.add_conditional_edges, "b", lambda state: END)
    await t.invoke(builder.compile(), {"x": []})


async def what_a_router_sees(t: Trace) -> None:
    """A router sees its own node's writes, not those of the nodes beside it, and keys that are no state."""

    def route(state: Any) -> str:
        t.note("seen", dict(state))
        return END

    builder = nodes(t, StateGraph(State), "b", a=lambda state: {"x": ["a"], "extra": 1})
    builder.add_conditional_edges("a", t.node(route), [END])
    await t.invoke(edges(builder, ". a", ". b").compile(), {"x": ["i"]})


async def a_router_with_a_schema_of_its_own(t: Trace) -> None:
    """A router's annotated parameter says what it's given."""

    class Part(BaseModel):
        x: list[str]

    def route(state: Part) -> str:
        t.note("seen", state)
        return END

    await t.invoke(_routed(t, route, [END]), {"x": ["i"]})


async def a_router_that_raises(t: Trace) -> None:
    """A router is part of its node's task, and so is its exception."""

    def route(state: State) -> str:
        raise LookupError("no way")

    await t.invoke(_routed(t, route, [END]), {"x": []})


async def deferred_nodes(t: Trace) -> None:
    """A deferred node runs once when nothing else is left, though two paths of different length lead to it."""
    builder = edges(nodes(t, StateGraph(State), "a", "b", "c"), ". a b c .")
    builder.add_node("d", t.node(lambda state: {"x": ["d"]}), defer=True)
    edges(builder, "a d", "b d", "c d", "d .")
    await t.stream(builder.compile(), {"x": []}, stream_mode="values")


async def a_deferred_join(t: Trace) -> None:
    """A deferred node with a join waits for the join and for everything else."""
    builder = edges(nodes(t, StateGraph(State), "a", "b", "c", "c2", "c3"), ". a", ". b", ". c c2 c3")
    builder.add_node("d", t.node(lambda state: {"x": ["d"]}), defer=True).add_edge(["a", "b"], "d")
    await t.invoke(builder.compile(), {"x": []})


async def two_deferred_nodes(t: Trace) -> None:
    """What a deferred node leads to runs after it; several deferred nodes run together."""
    builder = nodes(t, StateGraph(State), "a", "z")
    for name in ["d1", "d2"]:
        builder.add_node(name, t.node(lambda state, name=name: {"x": [name]}), defer=True)
    await t.stream(edges(builder, ". a d1 z", "a d2").compile(), {"x": []}, stream_mode="values")


async def metadata_and_destinations(t: Trace) -> None:
    """Metadata reaches the node's config; destinations restrict nothing."""

    def a(state: State) -> Command:
        t.note(
            "metadata",
            {k: v for k, v in get_config()["metadata"].items() if k in ("owner", "langgraph_node")},
        )
        return Command(goto="c")

    builder = nodes(t, StateGraph(State), "b", "c")
    builder.add_node("a", t.node(a), metadata={"owner": "me"}, destinations=("b",))
    await t.invoke(edges(builder, ". a").compile(), {"x": []})


async def what_a_config_says_of_the_task(t: Trace) -> None:
    """A node's config has metadata about its step, its name, its triggers, its path and its namespace."""

    def a(state: State) -> None:
        metadata = get_config()["metadata"]
        t.note("metadata", {key: metadata[key] for key in metadata if key.startswith("langgraph")})
        t.note(
            "configurable", {k: v for k, v in get_config()["configurable"].items() if not k.startswith("__")}
        )

    graph = edges(nodes(t, StateGraph(State), a=a), ". a .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, {"configurable": {"thread_id": "1", "mine": 2}, "metadata": {"m": 1}})


async def what_a_node_may_ask_for(t: Trace) -> None:
    """config, writer, store and runtime are given by name, positional or keyword-only."""
    store = InMemoryStore()
    store.put(("ns",), "k", {"v": 1})

    class Context(TypedDict):
        user: str

    def a(
        state: State, config, *, writer: StreamWriter, store: Any = None, runtime: Runtime[Context]
    ) -> None:  # type: ignore[no-untyped-def]
        writer("written")
        t.note("thread", config["configurable"]["thread_id"])
        t.note("item", runtime.store.get(("ns",), "k").value)  # type: ignore[union-attr]
        t.note("context", runtime.context)
        t.note("store", store)

    def b(state: State) -> None:
        get_stream_writer()("from b")
        t.note("same", (get_store() is store, get_runtime(Context).context, get_config()["tags"]))

    builder = nodes(t, StateGraph(State, context_schema=Context), a=a, b=b)
    graph = edges(builder, ". a b .").compile(store=store)
    config = {"configurable": {"thread_id": 1}, "tags": ["tag"]}
    await t.stream(graph, {"x": []}, config, stream_mode="custom", context={"user": "u"})


async def a_store_that_is_missing(t: Trace) -> None:
    """A node that wants the store of a graph without one gets None."""

    def a(state: State, store: BaseStore) -> None:
        t.note("store", store)

    await t.invoke(edges(nodes(t, StateGraph(State), a=a), ". a .").compile(), {"x": []})


async def contexts(t: Trace) -> None:
    """A dict becomes the context schema's class; without a context it's None, whatever the defaults."""

    class Context(BaseModel):
        user: str = "nobody"
        age: int = 0

    def a(state: State, runtime: Runtime[Context]) -> None:
        t.note("context", runtime.context)

    graph = edges(nodes(t, StateGraph(State, context_schema=Context), a=a), ". a .").compile()
    await t.invoke(graph, {"x": []}, context={"age": "3"})
    await t.invoke(graph, {"x": []}, context=Context(user="u"))
    await t.invoke(graph, {"x": []})
    await t.invoke(graph, {"x": []}, context={"age": "no"})


async def execution_info(t: Trace) -> None:
    """`runtime.execution_info` says where a node runs and in which attempt."""
    attempts: list[int] = []

    def a(state: State, runtime: Runtime) -> None:
        info = runtime.execution_info
        t.note(
            "info", (info.thread_id, info.checkpoint_id, info.checkpoint_ns, info.task_id, info.node_attempt)
        )  # type: ignore[union-attr]
        attempts.append(info.node_attempt)  # type: ignore[union-attr]
        if len(attempts) == 1:
            raise OverflowError

    policy = RetryPolicy(initial_interval=0, jitter=False, retry_on=OverflowError)
    builder = StateGraph(State).add_node("a", t.node(a), retry_policy=policy)
    await t.invoke(edges(builder, ". a .").compile(checkpointer=InMemorySaver()), {"x": []}, ONE)


async def what_the_builder_shows(t: Trace) -> None:
    """Builder and compiled graph can be looked into: nodes, edges, channels, names."""
    builder = edges(nodes(t, StateGraph(State), "a", "b"), ". a b .").add_edge(["a", "b"], "b")
    graph = builder.compile(name="named")
    t.note("edges", sorted(builder.edges))
    t.note("waiting", sorted(builder.waiting_edges))
    t.note("nodes", list(graph.nodes))
    t.note("channels", sorted(graph.channels))
    t.note("keys", (graph.input_channels, graph.output_channels, graph.stream_channels, graph.stream_mode))
    t.note("name", (graph.name, graph.get_name(), builder.compile().name))
    t.note("builder", (graph.builder is builder, builder.compiled))


async def a_graph_may_be_changed_after_compiling(t: Trace) -> None:
    """What is added after `compile` isn't in the compiled graph and is in the next."""
    builder = edges(nodes(t, StateGraph(State), "a"), ". a")
    before = builder.compile()
    edges(nodes(t, builder, "b"), "a b")
    await t.invoke(before, {"x": []})
    await t.invoke(builder.compile(), {"x": []})


@differs("unknown keyword arguments")
async def deprecated_arguments(t: Trace) -> None:
    """Old names of arguments work with a warning that says since when, and others are refused."""
    t.warns(StateGraph, State, input=State, output=State)
    t.warns(StateGraph, State, config_schema=State)
    t.warns(StateGraph(State).add_node, "a", first, retry=RetryPolicy())
    t.warns(StateGraph(State).add_node, "a", first, input=State)
    t.raises(StateGraph(State).add_node, "a", first, unknown=1)


async def schemas_of_odd_kinds(t: Trace) -> None:
    """What isn't a class with annotations is one value; odd objects are warned of."""
    for schema in [dict, int, list[int], 1]:
        t.note("schema", repr(schema))
        t.warns(t.raises, StateGraph, schema)


async def destinations_that_do_not_exist(t: Trace) -> None:
    """Where a node says that its commands lead has to exist, whether it's said in an annotation or beside the node."""

    def to(where: str) -> Any:
        def node(state: State) -> Any:
            return None

        node.__annotations__["return"] = Command[Literal[where]]
        return node

    def handler(state: State, error: NodeError) -> Command[Literal["gone"]]:
        return Command()

    for where in ("b", END, "gone"):
        for options in ({"destinations": (where,)}, {"destinations": {where: "why"}}):
            builder = StateGraph(State).add_node("a", to("b"), **options).add_node("b", to(END))
            t.raises(builder.add_edge(START, "a").compile)
        builder = StateGraph(State).add_node("a", to(where)).add_node("b", to(END))
        t.raises(builder.add_edge(START, "a").compile)
    builder = StateGraph(State).add_node("a", to(END), error_handler=handler)
    t.raises(builder.add_edge(START, "a").compile)


def _with_a_double(t: Trace) -> Any:
    builder = StateGraph(State).add_node("a", t.node(lambda state: {"x": ["real"]}))
    return builder.add_edge(START, "a").compile()


async def a_node_that_a_test_replaces(t: Trace) -> None:
    """What is set as `bound` runs in its place."""
    graph = _with_a_double(t)
    graph.nodes["a"].bound = RunnableLambda(lambda state: {"x": ["fake"]})
    await t.invoke(graph, {"x": []})
    t.note("alone", await t.call(graph.nodes["a"], "invoke", {"x": []}))


@differs("what a test sets runs")
async def a_node_that_a_test_replaces_after_a_run(t: Trace) -> None:
    """What is set as `bound` runs in its place, whenever it is set."""
    graph = _with_a_double(t)
    await t.invoke(graph, {"x": []})
    graph.nodes["a"].bound = RunnableLambda(lambda state: {"x": ["fake"]})
    await t.invoke(graph, {"x": []})


@differs("what a test sets runs")
async def a_node_that_a_test_replaces_in_part(t: Trace) -> None:
    """The function that a node's runnable has is no place to put another one."""
    graph = _with_a_double(t)
    bound = graph.nodes["a"].bound
    t.raises(setattr, bound, "afunc" if t.asyncio else "func", t.node(lambda state: {"x": ["fake"]}))


def _to_second(state: State) -> str:
    return "second"


def _of_two(t: Trace) -> StateGraph:
    builder = StateGraph(State).add_node(first).add_node(second).add_conditional_edges("first", _to_second)
    return builder.add_edge(START, "first")


async def parts_of_a_builder_alone(t: Trace) -> None:
    """A test calls a node and a router before the graph is compiled, as runnables."""
    builder = _of_two(t)
    t.note("node", await t.call(builder.nodes["first"].runnable, "invoke", {"x": []}))
    t.note("function", builder.nodes["first"].runnable.func is first)
    t.note("router", await t.call(builder.branches["first"]["_to_second"].path, "invoke", {"x": []}))


async def a_builder_elsewhere(t: Trace) -> None:
    """A builder of functions at the top of a module is copied, and goes to another process."""
    builder = _of_two(t)
    for made in (copy.copy(builder), copy.deepcopy(builder), pickle.loads(pickle.dumps(builder))):
        await t.invoke(made.compile(), {"x": []})


async def mocks_as_nodes(t: Trace) -> None:
    """A mock of a graph is invoked, as the graph would be; any other is called."""
    compiled = StateGraph(State).add_node("a", lambda state: {"x": ["a"]}).add_edge(START, "a").compile()
    for mock in (MagicMock(spec=CompiledStateGraph), create_autospec(compiled), MagicMock()):
        method = "ainvoke" if t.asyncio else "invoke"
        setattr(mock, method, (AsyncMock if t.asyncio else Mock)(return_value={"x": ["mocked"]}))
        mock.return_value = {"x": ["called"]}
        graph = StateGraph(State).add_node("sub", mock).add_edge(START, "sub").compile()
        await t.invoke(graph, {"x": []})
        await t.stream(graph, {"x": []}, subgraphs=True)
        t.note("invoked", getattr(mock, method).call_count)
        t.note("nested", [name for name, _ in graph.get_subgraphs()])
