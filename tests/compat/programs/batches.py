"""Batches of inputs: batch and abatch."""

import operator
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import END, START, StateGraph

from ..parts import edges
from ..trace import differs


class State(TypedDict):
    x: Annotated[list, operator.add]


def doubling(t):
    def double(state):
        if state["x"] == ["boom"]:
            raise ValueError("boom")
        return {"x": [2 * word for word in state["x"]]}

    builder = StateGraph(State)
    builder.add_node("double", t.node(double))
    builder.add_edge(START, "double")
    return builder


async def batch_in_order(t):
    """A batch has a result for each input, in their order."""
    graph = doubling(t).compile()
    await t.batch(graph, [{"x": [c]} for c in "abc"])
    await t.batch(graph, [])


async def batch_with_configs(t):
    """Each input may have a config of its own."""
    graph = doubling(t).compile(checkpointer=InMemorySaver())
    configs = [{"configurable": {"thread_id": n}} for n in "12"]
    await t.batch(graph, [{"x": ["a"]}, {"x": ["b"]}], configs)
    for config in configs:
        await t.state(graph, config)
    await t.batch(graph, [{"x": ["a"]}], configs)


async def batch_with_one_config(t):
    """One config is for all inputs; its limit of concurrency makes them go one by one."""
    graph = doubling(t).compile()
    await t.batch(graph, [{"x": [c]} for c in "abc"], {"max_concurrency": 1})


async def batch_with_a_failure(t):
    """A failure is raised, or stands in its place where that's asked for."""
    graph = doubling(t).compile()
    inputs = [{"x": ["a"]}, {"x": ["boom"]}, {"x": ["b"]}]
    await t.batch(graph, inputs)
    await t.batch(graph, inputs, return_exceptions=True)


async def batch_of_an_entrypoint(t):
    """An entrypoint takes batches too."""

    @entrypoint()
    @t.node
    def square(n):
        return n * n

    await t.batch(square, [1, 2, 3])


async def batch_with_options(t):
    """The options of `invoke` are those of a batch."""
    graph = doubling(t).compile()
    await t.batch(graph, [{"x": ["a"]}], stream_mode="updates")
    await t.batch(graph, [{"x": ["a"]}], output_keys="x")


@differs("a batch has the limit of its calls")
async def limits_of_batches(t):
    """Each call of a batch may take as many steps as it could alone."""
    builder = StateGraph(State)
    for n in range(30):
        builder.add_node(f"n{n}", t.node(lambda state: {"x": ["n"]}))
    graph = edges(builder, " ".join([".", *(f"n{n}" for n in range(30)), "."])).compile()
    for bound in (graph, graph.with_config(recursion_limit=40)):
        try:
            found = await t.call(bound, "batch", [{"x": []}])
            t.note("steps", [len(each["x"]) for each in found])
        except RecursionError as error:
            t.note("stopped", str(error)[:24])


async def _come(t, graph, *args):
    """What a batch gives when it is there, and with what it ends."""
    found = []
    try:
        if t.asyncio:
            async for place, result in graph.abatch_as_completed(*args):
                found.append((place, len(result["x"])))
        else:
            found.extend((place, len(result["x"])) for place, result in graph.batch_as_completed(*args))
    except RecursionError as error:
        found.append(str(error)[:26])
    return found


@differs("a batch has the limit of its calls")
async def limits_of_batches_as_they_complete(t):
    """So has each call of a batch whose results come when they are there; a limit that somebody gave counts."""
    builder = StateGraph(State)
    builder.add_node("more", t.node(lambda state: {"x": ["n"]}))
    builder.add_edge(START, "more")
    builder.add_conditional_edges("more", lambda state: "more" if len(state["x"]) < 30 else END)
    graph = builder.compile()
    for bound, config in [
        (graph, None),
        (graph.with_config(recursion_limit=40), None),
        (graph.with_config(recursion_limit=40), [{"recursion_limit": 3}]),
        (graph, {"recursion_limit": 5}),
    ]:
        t.note("come", await _come(t, bound, [{"x": []}], config))
