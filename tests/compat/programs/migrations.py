"""Graphs that change between two runs of a thread: nodes and keys added, removed, renamed."""

import operator
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ..trace import differs


class State(TypedDict):
    x: Annotated[list, operator.add]


class Wider(TypedDict):
    x: Annotated[list, operator.add]
    y: str
    z: Annotated[list, operator.add]


class Plain(TypedDict):
    x: list


class Other(TypedDict):
    y: str


THREAD = {"configurable": {"thread_id": "1"}}


def says(word):
    """A node that appends its word."""

    def node(state):
        return {"x": [word]}

    return node


def chain(t, names, saver, schema=State, **kwargs):
    builder = StateGraph(schema)
    builder.add_sequence([(name, t.node(says(name))) for name in names])
    builder.add_edge(START, names[0])
    return builder.compile(checkpointer=saver, **kwargs)


async def a_node_is_added_after_the_pause(t):
    """A node added behind the next one runs in its turn."""
    saver = InMemorySaver()
    await t.invoke(chain(t, "ab", saver, interrupt_before=["b"]), {"x": ["i"]}, THREAD)
    after = chain(t, "abc", saver)
    await t.state(after, THREAD)
    await t.invoke(after, None, THREAD)


async def a_node_is_added_before_the_pause(t):
    """A node added before the next one was never due, and doesn't run."""
    saver = InMemorySaver()
    await t.invoke(chain(t, "ab", saver, interrupt_before=["b"]), {"x": ["i"]}, THREAD)
    after = chain(t, ["a", "new", "b"], saver)
    await t.state(after, THREAD)
    await t.invoke(after, None, THREAD)


@differs("a node that is due is gone")
async def the_next_node_is_removed(t):
    """A thread whose next node is gone can't go on; it takes a new input."""
    saver = InMemorySaver()
    await t.invoke(chain(t, "abc", saver, interrupt_before=["b"]), {"x": ["i"]}, THREAD)
    after = chain(t, "ac", saver)
    await t.state(after, THREAD)
    await t.invoke(after, None, THREAD)
    await t.invoke(after, {"x": ["j"]}, THREAD)
    await t.history(after, THREAD)


async def the_next_node_is_renamed(t):
    """A renamed node isn't the one that was next; a Command can go to it."""
    saver = InMemorySaver()
    await t.invoke(chain(t, "ab", saver, interrupt_before=["b"]), {"x": ["i"]}, THREAD)
    after = chain(t, ["a", "bee"], saver)
    await t.state(after, THREAD)
    await t.invoke(after, Command(goto="bee"), THREAD)
    await t.state(after, THREAD)


async def a_node_that_ran_is_removed(t):
    """The history of a thread shows no tasks of nodes that are gone."""
    saver = InMemorySaver()
    await t.invoke(chain(t, "abc", saver), {"x": ["i"]}, THREAD)
    after = chain(t, "ac", saver)
    await t.history(after, THREAD)
    await t.update(after, THREAD, {"x": ["u"]})
    await t.invoke(after, {"x": ["j"]}, THREAD)


@differs("a node that is due is gone")
async def the_asking_node_is_renamed(t):
    """An interrupt of a node that is gone can't be answered."""

    def ask(state):
        return {"x": [interrupt("?")]}

    def build(name):
        builder = StateGraph(State)
        builder.add_node(name, t.node(ask))
        builder.add_edge(START, name)
        return builder.compile(checkpointer=saver)

    saver = InMemorySaver()
    await t.invoke(build("ask"), {"x": ["i"]}, THREAD)
    after = build("question")
    await t.state(after, THREAD)
    await t.invoke(after, Command(resume="yes"), THREAD)
    await t.state(after, THREAD)


@differs("a join is edited under a thread")
async def a_source_of_a_join_is_added(t):
    """One source has arrived when the join is given a third."""

    def build(sources):
        builder = StateGraph(State)
        for name in "abxc":
            builder.add_node(name, t.node(says(name)))
        builder.add_edge(START, "a")
        builder.add_edge("a", "b")
        builder.add_edge("b", "x")
        builder.add_edge(list(sources), "c")
        return builder.compile(checkpointer=saver, interrupt_before=["b"])

    saver = InMemorySaver()
    await t.invoke(build("ab"), {"x": ["i"]}, THREAD)
    after = build("abx")
    await t.state(after, THREAD)
    await t.invoke(after, None, THREAD)


async def keys_are_added(t):
    """A new key is absent until written, or starts empty where it has a reducer."""
    saver = InMemorySaver()
    await t.invoke(chain(t, "ab", saver, interrupt_before=["b"]), {"x": ["i"]}, THREAD)
    after = chain(t, "ab", saver, Wider)
    await t.state(after, THREAD)
    await t.invoke(after, None, THREAD)
    await t.invoke(after, {"y": "y", "z": ["z"]}, THREAD)


async def keys_are_removed(t):
    """A removed key isn't shown."""

    def node(state):
        return {"y": f"{state.get('y')}!"}

    saver = InMemorySaver()
    await t.invoke(chain(t, "a", saver, Wider), {"x": ["i"], "y": "y"}, THREAD)
    builder = StateGraph(Other)
    builder.add_node("a", t.node(node))
    builder.add_edge(START, "a")
    after = builder.compile(checkpointer=saver)
    await t.state(after, THREAD)
    await t.invoke(after, {}, THREAD)
    await t.history(after, THREAD)


async def a_reducer_is_dropped(t):
    """A key that lost its reducer keeps its value until it's replaced."""
    saver = InMemorySaver()
    await t.invoke(chain(t, "ab", saver, interrupt_before=["b"]), {"x": ["i"]}, THREAD)
    after = chain(t, "ab", saver, Plain)
    await t.state(after, THREAD)
    await t.invoke(after, None, THREAD)


@differs("a join is edited under a thread")
async def a_plain_edge_becomes_a_join(t):
    """A join is added to a waiting thread behind one of its sources."""

    def build(join):
        builder = StateGraph(State)
        for name in "abcd":
            builder.add_node(name, t.node(says(name)))
        builder.add_edge(START, "a")
        builder.add_edge("a", "b")
        builder.add_edge("b", "c")
        if join:
            builder.add_edge(["b", "c"], "d")
        else:
            builder.add_edge("c", "d")
        return builder.compile(checkpointer=saver, interrupt_before=["c"])

    saver = InMemorySaver()
    await t.invoke(build(False), {"x": []}, THREAD)
    await t.invoke(build(True), None, THREAD)
    await t.state(build(True), THREAD)


async def another_graph_reads_the_thread(t):
    """A thread belongs to no graph: another one reads the keys that it knows."""
    saver = InMemorySaver()
    await t.invoke(chain(t, "ab", saver), {"x": ["i"]}, THREAD)
    other = chain(t, "pq", saver, Wider)
    await t.state(other, THREAD)
    await t.invoke(other, {"x": ["j"]}, THREAD)
