"""What nodes and tasks are given by the names of their parameters, and what they look up (section 2.29)."""

import functools
import operator
from dataclasses import dataclass
from typing import Annotated, Any, Optional, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config, get_store, get_stream_writer
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.managed import IsLastStep, RemainingSteps
from langgraph.runtime import Runtime, get_runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import StreamWriter
from pydantic import BaseModel

from ..parts import edges, nodes
from ..trace import Trace, differs


class State(TypedDict):
    x: Annotated[list, operator.add]


class Managed(TypedDict):
    x: Annotated[list, operator.add]
    last: IsLastStep
    remaining: RemainingSteps


@dataclass
class Context:
    user: str
    level: int = 1


class Model(BaseModel):
    user: str
    level: int = 1


class Typed(TypedDict):
    user: str


THREAD = {"configurable": {"thread_id": "1"}}


def one(t, node, **kwargs):
    """A builder of a graph of this one node."""
    builder = StateGraph(State, **kwargs)
    builder.add_node("node", t.node(node))
    builder.add_edge(START, "node")
    return builder


async def config_parameter(t):
    """A node gets the config of the call, with its own place added to the metadata."""

    def node(state, config: RunnableConfig):
        metadata = {k: v for k, v in config["metadata"].items() if k.startswith("langgraph_")}
        return {"x": [config["configurable"]["user"], config["tags"], config["recursion_limit"], metadata]}

    config = {"configurable": {"user": "ann"}, "tags": ["tag"], "recursion_limit": 7}
    await t.invoke(one(t, node).compile(), {"x": []}, config)


async def config_annotations(t):
    """The config is found by name, with no annotation or with one of those that are known."""

    def plain(state, config):
        return {"x": [type(config).__name__]}

    def optional(state, config: Optional[RunnableConfig] = None):  # noqa: UP045
        return {"x": [type(config).__name__]}

    def keyword(state, *, config: RunnableConfig):
        return {"x": [type(config).__name__]}

    def quoted(state, config: "RunnableConfig"):
        return {"x": [type(config).__name__]}

    for node in (plain, optional, keyword, quoted):
        await t.invoke(one(t, node).compile(), {"x": []})


async def config_with_a_wrong_annotation(t):
    """A parameter `config` of another type is warned of, and not given."""

    def node(state, config: dict = None):  # noqa: RUF013
        return {"x": [config]}

    graph = t.warns(lambda: one(t, node).compile())
    await t.invoke(graph, {"x": []})


async def store_parameter(t):
    """A node gets the store of its graph."""

    def node(state, *, store: BaseStore):
        store.put(("a",), "k", {"v": 1})
        return {"x": [store.get(("a",), "k").value]}

    store = InMemoryStore()
    await t.invoke(one(t, node).compile(store=store), {"x": []})
    t.note("outside", store.get(("a",), "k").value)


async def store_of_the_graph_around(t):
    """A graph that is nested or called in another one uses that one's store, whichever it was compiled with."""
    around = InMemoryStore()

    def node(state, *, store: BaseStore):
        return {"x": [store is around]}

    sub = one(t, node).compile(store=InMemoryStore())

    async def calls(state):
        return {"x": (await t.call(sub, "invoke", {"x": []}))["x"]}

    for inner in (sub, t.node(calls)):
        builder = StateGraph(State).add_node("sub", inner).add_edge(START, "sub")
        await t.invoke(builder.compile(store=around), {"x": []})


async def store_that_is_missing(t):
    """In a graph without a store the parameter is None, whether it says that it may be or not."""

    def required(state, *, store: BaseStore):
        return {"x": [store]}

    def optional(state, *, store: Optional[BaseStore] = None):  # noqa: UP045
        return {"x": [store]}

    await t.invoke(one(t, required).compile(), {"x": []})
    await t.invoke(one(t, optional).compile(), {"x": []})


async def writer_parameter(t):
    """A writer is given with or without its annotation, and not with another."""

    def annotated(state, writer: StreamWriter):
        writer("annotated")

    def plain(state, writer):
        writer("plain")

    def wrong(state, writer: int = 0):
        return {"x": [writer]}

    for node in (annotated, plain, wrong):
        await t.stream(one(t, node).compile(), {"x": []}, stream_mode=["custom", "updates"])


async def runtime_parameter(t):
    """A node gets the runtime: the context, the store, the writer and where it runs."""

    def node(state, runtime: Runtime[Context]):
        runtime.stream_writer("written")
        runtime.store.put(("a",), "k", {"v": 1})
        info = runtime.execution_info
        where = (info.thread_id, info.checkpoint_ns == f"node:{info.task_id}", info.node_attempt)
        return {"x": [runtime.context, runtime.previous, where, runtime.server_info]}

    graph = one(t, node, context_schema=Context).compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    await t.stream(graph, {"x": []}, THREAD, context=Context("ann"), stream_mode=["custom", "updates"])


async def context_from_a_dict(t):
    """A dict as the context becomes the dataclass or model of the context schema; errors are raised."""

    def node(state, runtime: Runtime):
        return {"x": [runtime.context]}

    for schema in (Context, Model, Typed, None):
        graph = one(t, node, context_schema=schema).compile()
        await t.invoke(graph, {"x": []}, context={"user": "ann"})
        await t.invoke(graph, {"x": []})
    for schema in (Context, Model):
        graph = one(t, node, context_schema=schema).compile()
        await t.invoke(graph, {"x": []}, context={"nope": 1})


async def context_in_a_subgraph(t):
    """A subgraph has the context of its parent, unless it's called with another."""

    def inner(state, runtime: Runtime):
        return {"x": [runtime.context]}

    sub = one(t, inner).compile()

    async def outer(state):
        here = await t.call(sub, "invoke", {"x": []})
        there = await t.call(sub, "invoke", {"x": []}, context={"user": "bob"})
        return {"x": here["x"] + there["x"]}

    await t.invoke(one(t, outer).compile(), {"x": []}, context={"user": "ann"})


async def contexts_that_are_empty(t):
    """An empty context is none: the graph's is that of its parent, and of the outermost one None."""

    def inner(state, runtime: Runtime):
        return {"x": [runtime.context]}

    for schema in (Context, Typed, dict, None):
        sub = one(t, inner, context_schema=schema).compile()

        async def outer(state, sub=sub):
            return await t.call(sub, "invoke", {"x": []}, context={})

        graph = one(t, outer).compile()
        for given in ({}, [], 0, {"user": "ann"}):
            await t.invoke(graph, {"x": []}, context=given)
            t.note("given", given)


async def lookups(t):
    """The config, the store, the writer and the runtime can be looked up inside a node."""

    def node(state):
        get_stream_writer()("written")
        get_store().put(("a",), "k", {"v": 1})
        runtime = get_runtime(Context)
        return {
            "x": [get_config()["configurable"]["user"], runtime.context, get_store().get(("a",), "k").value]
        }

    graph = one(t, node, context_schema=Context).compile(store=InMemoryStore())
    config = {"configurable": {"user": "ann"}}
    await t.stream(graph, {"x": []}, config, context=Context("bob"), stream_mode=["custom", "updates"])


async def lookups_outside_a_graph(t):
    """Outside a graph there's nothing to look up."""
    t.raises(get_config)
    t.raises(get_store)
    t.raises(get_stream_writer)
    t.raises(get_runtime)


async def partials_and_objects(t):
    """A partial, an object that can be called and a bound method are nodes like functions."""

    def function(state, word, config: RunnableConfig):
        return {"x": [word, config["configurable"]["user"]]}

    class Callable:
        def __call__(self, state, config: RunnableConfig):
            return {"x": ["object", config["configurable"]["user"]]}

        def method(self, state, *, runtime: Runtime):
            return {"x": ["method", runtime.context]}

    builder = StateGraph(State)
    builder.add_node("partial", functools.partial(function, word="partial"))
    builder.add_node("object", Callable())
    builder.add_node("method", Callable().method)
    for edge in ((START, "partial"), ("partial", "object"), ("object", "method")):
        builder.add_edge(*edge)
    await t.invoke(builder.compile(), {"x": []}, {"configurable": {"user": "ann"}}, context="c")


async def names_of_nodes(t):
    """A node without a name has that of its function, its method, or its class."""

    class Callable:
        def __call__(self, state):
            return {"x": []}

        def method(self, state):
            return {"x": []}

    def function(state):
        return {"x": []}

    for node in (function, Callable(), Callable().method, functools.partial(function), lambda state: None):
        builder = StateGraph(State)
        t.raises(builder.add_node, node)
        t.note("nodes", list(builder.nodes))


async def router_parameters(t):
    """A conditional edge is given config, store and runtime like a node."""

    def route(state, config: RunnableConfig, *, store: BaseStore, runtime: Runtime):
        store.put(("seen",), "context", {"v": runtime.context})
        return config["configurable"]["to"]

    store = InMemoryStore()
    builder = one(t, lambda state: {"x": ["node"]})
    builder.add_node("yes", t.node(lambda state: {"x": ["yes"]}))
    builder.add_conditional_edges("node", route, ["yes"])
    graph = builder.compile(store=store)
    await t.invoke(graph, {"x": []}, {"configurable": {"to": "yes"}}, context="c")
    t.note("seen", store.get(("seen",), "context").value)


async def previous_parameter(t):
    """An entrypoint is given what the last run of its thread returned or saved."""

    @entrypoint(checkpointer=InMemorySaver())
    @t.node
    def flow(n: int, *, previous: Any = None):
        return {"n": n, "previous": previous}

    @entrypoint(checkpointer=InMemorySaver())
    @t.node
    def saving(n: int, *, previous: Any = None) -> entrypoint.final[int, int]:
        return entrypoint.final(value=previous, save=n)

    for graph in (flow, saving):
        await t.invoke(graph, 1, THREAD)
        await t.invoke(graph, 2, THREAD)
        await t.invoke(graph, 3, {"configurable": {"thread_id": "2"}})


async def parameters_of_tasks(t):
    """A task is given config, store, writer and runtime; an argument of that name wins."""

    @task
    @t.node
    def work(n, config: RunnableConfig, *, store: BaseStore, writer: StreamWriter, runtime: Runtime):
        writer(n)
        store.put(("a",), str(n), {"n": n})
        return [n, config["configurable"]["user"], runtime.context]

    @entrypoint(store=InMemoryStore())
    @t.node
    async def flow(n):
        given = await t.value(work(n))
        own = await t.value(work(n + 1, config={"configurable": {"user": "own"}}))
        return [given, own]

    config = {"configurable": {"user": "ann"}}
    await t.stream(flow, 1, config, context="c", stream_mode=["custom", "updates"])


@differs("tuples stay tuples")
async def managed_values(t):
    """A node sees how many steps remain, if its state says so; they're never stored."""

    def node(state: Managed):
        return {"x": [(state["remaining"], state["last"])]}

    builder = StateGraph(Managed)
    builder.add_sequence([(name, t.node(node)) for name in "abc"])
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": []}, {**THREAD, "recursion_limit": 4}, stream_mode=["values", "tasks"])
    await t.state(graph, THREAD)


async def config_of_the_graph(t):
    """The config bound to a graph comes first; that of the call is laid over it."""

    def node(state, config: RunnableConfig):
        configurable = {k: config["configurable"].get(k) for k in ("a", "b")}
        return {"x": [configurable, config["tags"], config["metadata"].get("m")]}

    bound = {"configurable": {"a": 1, "b": 1}, "tags": ["bound"], "metadata": {"m": 1}}
    graph = one(t, node).compile().with_config(bound)
    await t.invoke(graph, {"x": []}, {"configurable": {"b": 2}, "tags": ["call"]})
    await t.invoke(graph.with_config(tags=["more"]), {"x": []}, {"metadata": {"m": 2}})


async def config_of_a_subgraph(t):
    """A graph called by a node has the node's config under its own."""

    def inner(state, config: RunnableConfig):
        return {"x": [config["configurable"]["user"], config["tags"]]}

    sub = one(t, inner).compile()

    async def outer(state):
        ambient = await t.call(sub, "invoke", {"x": []}, {"tags": ["inner"]})
        other = await t.call(sub, "invoke", {"x": []}, {"configurable": {"user": "bob"}})
        return {"x": [*ambient["x"], *other["x"]]}

    config = {"configurable": {"user": "ann"}, "tags": ["outer"]}
    await t.invoke(one(t, outer).compile(), {"x": []}, config)


async def unknown_keys_of_the_config(t):
    """A key of the config that isn't known is moved into its configurable."""

    def node(state, config: RunnableConfig):
        return {"x": [config["configurable"].get("user"), "user" in config]}

    await t.invoke(one(t, node).compile(), {"x": []}, {"user": "ann"})


async def config_says_what_somebody_said(t: Trace) -> None:
    """No tags, limits or numbers of workers that nobody gave; and in a nested graph where that is."""
    seen: list[Any] = []

    def look(state: State, config: RunnableConfig) -> None:
        told = {key: value for key, value in config.items() if key not in ("callbacks", "configurable")}
        seen.append(told)

    inner = edges(nodes(t, StateGraph(State), look=look), ". look .").compile()

    async def calls(state: State) -> dict[str, Any]:
        await t.call(inner, "invoke", {"x": []})
        return await t.call(inner, "invoke", {"x": []})

    builder = nodes(t, StateGraph(State), look=look, calls=calls).add_node("inner", inner)
    graph = edges(builder, ". look inner calls .").compile()
    await t.call(graph, "invoke", {"x": []})
    await t.call(graph, "invoke", {"x": []}, {"tags": ["a"], "recursion_limit": 20, "max_concurrency": 2})
    for told in seen:
        t.note("told", told)
