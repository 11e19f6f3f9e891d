"""Tools that trace programs put methods of their own in the place of `Pregel`'s, which all graphs have."""

from typing import TypedDict
from unittest import mock

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.pregel import Pregel
from langgraph.types import Command, interrupt

THREAD = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    x: int


def _watching(t):
    """Streams that note what they are asked for, and pass it on."""
    stream, astream = Pregel.stream, Pregel.astream

    def watched(graph, *args, **kw):
        t.note("stream", (graph.name, kw.get("stream_mode")))
        yield from stream(graph, *args, **kw)
        t.note("ended", graph.name)

    async def awatched(graph, *args, **kw):
        t.note("stream", (graph.name, kw.get("stream_mode")))
        async for chunk in astream(graph, *args, **kw):
            yield chunk
        t.note("ended", graph.name)

    return mock.patch.multiple(Pregel, stream=watched, astream=awatched)


def _graph(t):
    inner = StateGraph(State).add_node("tenfold", lambda state: {"x": state["x"] * 10})
    inner = inner.add_edge(START, "tenfold").compile(name="inner")

    async def call(state):
        return await t.call(inner, "invoke", state)

    def ask(state):
        return {"x": state["x"] + interrupt("how many?")}

    builder = StateGraph(State).add_node("call", t.node(call)).add_node("inner", inner).add_node("ask", ask)
    builder.add_edge(START, "call").add_edge("call", "inner").add_edge("inner", "ask")
    return builder.compile(checkpointer=InMemorySaver(), name="outer")


async def streams_of_a_tool(t):
    """It sees every run, of `invoke` and of graphs inside, and what they come to is the same."""
    graph = _graph(t)
    with _watching(t):
        await t.invoke(graph, {"x": 1}, THREAD)
        await t.invoke(graph, Command(resume=5), THREAD)
        await t.invoke(graph, {"x": 2}, THREAD, stream_mode="updates")
        await t.invoke(graph, Command(resume=5), THREAD, version="v2")
        await t.invoke(graph, {"x": 3}, THREAD, output_keys="x")
        await t.stream(graph, Command(resume=5), THREAD, stream_mode="values")
        await t.invoke(graph, {"y": 3}, {"recursion_limit": 0, **THREAD})
    await t.invoke(graph, {"x": 1}, THREAD)
    await t.stream(graph, Command(resume=5), THREAD)


async def streams_of_somebodys(t):
    """What a graph comes to is what its stream says last, wherever that comes from."""
    graph = _graph(t)

    def stream(graph, *args, **kw):
        yield "values", {"x": 1}
        yield "values", {"x": 2}

    async def astream(graph, *args, **kw):
        for each in stream(graph):
            yield each

    with mock.patch.multiple(Pregel, stream=stream, astream=astream):
        await t.invoke(graph, {"x": 1}, THREAD)


async def calls_of_a_tool(t):
    """So does one that takes the place of `invoke`, beside one of `stream` or alone."""
    graph = _graph(t)
    invoke, ainvoke = Pregel.invoke, Pregel.ainvoke

    def invoked(graph, *args, **kw):
        t.note("invoke", graph.name)
        return invoke(graph, *args, **kw)

    async def ainvoked(graph, *args, **kw):
        t.note("invoke", graph.name)
        return await ainvoke(graph, *args, **kw)

    with mock.patch.multiple(Pregel, invoke=invoked, ainvoke=ainvoked):
        await t.invoke(graph, {"x": 1}, THREAD)
        with _watching(t):
            await t.invoke(graph, Command(resume=5), THREAD)
        await t.invoke(graph, {"x": 1}, THREAD)
    with _watching(t), mock.patch.multiple(Pregel, invoke=invoked, ainvoke=ainvoked):
        await t.invoke(graph, Command(resume=5), THREAD)
    await t.invoke(graph, {"x": 1}, THREAD)
