"""Batches of inputs: batch and abatch."""

import operator
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph


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
