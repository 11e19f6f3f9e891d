"""Failures: what a thread keeps of a step that failed, and what its resumption runs (sections 2.9 and 2.23)."""

import asyncio
import operator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, StateGraph
from langgraph.types import Command, RetryPolicy, Send

from ..trace import differs


class State(TypedDict):
    x: Annotated[list, operator.add]


THREAD = {"configurable": {"thread_id": "1"}}


def says(word, log=None):
    """A node that appends its word, and notes in the log that it ran."""

    def node(state):
        if log is not None:
            log.append(word)
        return {"x": [word]}

    return node


def fails(word, times, log, error=RuntimeError):
    """A node that fails some times before it appends its word."""

    def node(state):
        log.append(word)
        if log.count(word) <= times:
            raise error(f"boom {log.count(word)}")
        return {"x": [word]}

    return node


def chain(t, **nodes):
    builder = StateGraph(State)
    builder.add_sequence([(name, t.node(node)) for name, node in nodes.items()])
    builder.add_edge(START, next(iter(nodes)))
    return builder


async def failure_and_resumption(t):
    """A run that failed resumes with None at the node that failed."""
    log = []
    graph = chain(t, a=says("a", log), b=fails("b", 1, log)).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)
    t.note("ran", log)
    await t.history(graph, THREAD)


async def failure_of_a_stream(t):
    """A stream shows what was done before the failure, and raises it."""
    log = []
    graph = chain(t, a=says("a"), b=fails("b", 1, log), c=says("c")).compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": ["i"]}, THREAD, stream_mode=["values", "updates", "tasks"])
    await t.stream(graph, None, THREAD, stream_mode=["values", "updates", "tasks"])


async def failure_twice(t):
    """A second failure replaces the first in the state."""
    log = []
    graph = chain(t, a=fails("a", 2, log)).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, None, THREAD)
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)
    await t.history(graph, THREAD)


async def new_input_after_a_failure(t):
    """A new input forgets the node that failed."""
    log = []
    graph = chain(t, a=fails("a", 1, log), b=says("b")).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, {"x": ["j"]}, THREAD)
    await t.history(graph, THREAD)


async def update_after_a_failure(t):
    """An update as the node that failed stands for its result."""
    log = []
    graph = chain(t, a=fails("a", 9, log), b=says("b")).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.update(graph, THREAD, {"x": ["by hand"]}, as_node="a")
    await t.invoke(graph, None, THREAD)


async def failure_without_a_saver(t):
    """Without a saver a failure is just raised, with a note about its node."""
    graph = chain(t, a=fails("a", 1, [])).compile()
    await t.invoke(graph, {"x": ["i"]})


async def failure_of_the_router(t):
    """A conditional edge that raises fails its node's task."""

    def route(state):
        raise ValueError("no way")

    builder = chain(t, a=says("a"))
    builder.add_conditional_edges("a", route)
    await t.invoke(builder.compile(), {"x": ["i"]})


@differs("a router that failed is asked again")
async def a_router_that_fails_once(t):
    """A node whose conditional edge raised runs again when the thread goes on, and is led on then."""
    log = []

    def route(state):
        log.append("route")
        if len(log) == 1:
            raise ValueError("no way")
        return "b"

    builder = chain(t, a=says("a"))
    builder.add_node("b", t.node(says("b")))
    builder.add_conditional_edges("a", route)
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": ["i"]}, THREAD)
    await t.state(graph, THREAD)
    await t.stream(graph, None, THREAD)


@differs("a router that failed is asked again")
async def failure_of_the_inputs_router(t):
    """A router of START that raises leaves the thread where it was: gone on with, it decides."""
    log = []

    def route(state):
        log.append("route")
        if len(log) == 1:
            raise ValueError("no way")
        return "a"

    builder = chain(t, a=says("a"))
    builder.edges.clear()
    builder.add_conditional_edges(START, route)
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)


@differs("a thread can be read")
async def failure_of_a_reducer(t):
    """A reducer that can't take the update fails the run outside any node."""

    def wrong(state):
        return {"x": 5}

    graph = chain(t, a=wrong).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.state(graph, THREAD)


@differs("a thread can be read")
async def writes_that_are_refused_together(t):
    """Two nodes write what only one may; all of the superstep is due still, and what each wrote is shown."""

    class One(TypedDict):
        y: int

    builder = StateGraph(One)
    for name in "ab":
        builder.add_node(name, t.node(lambda state: {"y": 1}))
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"y": 0}, THREAD)
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)


async def going_on_after_writes_that_were_refused(t):
    """What can't be applied is given up for a new input or an update: a graph that was mended works on the thread."""

    class One(TypedDict):
        x: Annotated[list, operator.add]
        y: int

    saver = InMemorySaver()

    def graph(also):
        builder = StateGraph(One)
        for name, value in (("a", {"x": ["a"], "y": 1}), ("b", {"x": ["b"], **also})):
            builder.add_node(name, t.node(lambda state, value=value: value))
            builder.add_edge(START, name)
        return builder.compile(checkpointer=saver)

    wrong, mended = graph({"y": 2}), graph({})
    for thread in ("1", "2", "3"):
        await t.invoke(wrong, {"y": 0}, {"configurable": {"thread_id": thread}})
    await t.invoke(mended, {"y": 5}, THREAD)
    await t.state(mended, THREAD)
    second, third = ({"configurable": {"thread_id": thread}} for thread in ("2", "3"))
    await t.update(mended, second, {"y": 7}, as_node="a")
    await t.state(mended, second)
    await t.invoke(mended, Command(update={"y": 8}), third)
    await t.invoke(mended, {"y": 9}, third)


async def wrong_return_value(t):
    """A node must return a dict; the thread stays at that node."""

    def wrong(state):
        return "text"

    graph = chain(t, a=wrong).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.state(graph, THREAD)


@differs("errors of flowfn's have its base")
async def too_many_steps(t):
    """A run over its recursion limit can be continued from where it stopped."""
    builder = chain(t, a=says("a"), b=says("b"), c=says("c"), d=says("d"))
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, {**THREAD, "recursion_limit": 2})
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)
    await t.invoke(graph, {"x": ["i"]}, {**THREAD, "recursion_limit": 0})
    t.note("bases", [base.__name__ for base in GraphRecursionError.__mro__])


async def retries_before_a_failure(t):
    """A retried node fails the run only with its last error."""
    log = []
    policy = RetryPolicy(initial_interval=0, jitter=False, max_attempts=3, retry_on=KeyError)
    builder = StateGraph(State)
    builder.add_node("a", t.node(fails("a", 2, log, KeyError)), retry_policy=policy)
    builder.add_node("b", t.node(fails("b", 9, log, KeyError)), retry_policy=policy)
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": ["i"]}, THREAD)
    t.note("ran", log)
    await t.state(graph, THREAD)


@differs("durability exit keeps what finished")
async def durability_exit_and_a_failure(t):
    """With durability `exit` a failure keeps the steps that were done."""
    log = []
    graph = chain(t, a=says("a", log), b=fails("b", 1, log)).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD, durability="exit")
    await t.history(graph, THREAD)
    await t.invoke(graph, None, THREAD, durability="exit")
    t.note("ran", log)
    await t.history(graph, THREAD)


async def failure_in_a_send(t):
    """Of several Sends only the one that failed runs again."""
    log = []

    def worker(sent):
        log.append(sent)
        if sent == 1 and log.count(1) == 1:
            raise RuntimeError("boom")
        return {"x": [sent]}

    builder = StateGraph(State)
    builder.add_node("gen", t.node(says("gen", log)))
    builder.add_node("w", t.node(worker))
    builder.add_edge(START, "gen")
    builder.add_conditional_edges("gen", lambda state: [Send("w", 0), Send("w", 1)])
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, {**THREAD, "max_concurrency": 1})
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)
    t.note("runs of the first", log.count(0))


@differs("a cancelled task has no error")
async def a_task_that_is_cancelled_for_a_failure(t):
    """In asyncio a node is cancelled when one beside it fails."""

    async def waits(state):
        await asyncio.Event().wait()

    async def breaks(state):
        raise RuntimeError("boom")

    async def run(graph):
        try:
            await graph.ainvoke({"x": []}, THREAD)
        except RuntimeError:
            return [(task.name, task.error) for task in (await graph.aget_state(THREAD)).tasks]

    builder = StateGraph(State)
    builder.add_node("waits", waits)
    builder.add_node("breaks", breaks)
    builder.add_edge(START, "waits")
    builder.add_edge(START, "breaks")
    graph = builder.compile(checkpointer=InMemorySaver())
    with ThreadPoolExecutor(1) as threads:
        t.note("errors", threads.submit(asyncio.run, run(graph)).result())


async def a_cancelled_task_in_a_stream(t):
    """Of a task that is cancelled for a failure beside it a stream shows the start alone."""

    async def waits(state):
        await asyncio.Event().wait()

    async def breaks(state):
        raise RuntimeError("boom")

    async def shown(graph):
        ends = []
        with suppress(RuntimeError):
            async for chunk in graph.astream({"x": []}, stream_mode="tasks"):
                ends.append((chunk["name"], "error" in chunk))
        return sorted(ends)

    builder = StateGraph(State).add_node("waits", waits).add_node("breaks", breaks)
    graph = builder.add_edge(START, "waits").add_edge(START, "breaks").compile()
    with ThreadPoolExecutor(1) as threads:
        t.note("shown", threads.submit(asyncio.run, shown(graph)).result())
