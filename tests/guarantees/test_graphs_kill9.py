"""G1 for graphs: SIGKILL at random moments loses no update that a stream's consumer has seen.

The script streams a graph of sequential nodes, a fan-out of Sends, a graph as a node, and tasks called in
nodes. It is killed and started again until it is done. What runs appends a line to a log, and so does the
consumer of the stream with each update, and the node with each task's result: what was seen may never run
again afterwards. `FLOWFN_KILLS=50 pytest -s tests/guarantees/test_graphs_kill9.py` is the long form.
"""

from __future__ import annotations

import ast
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..nursery import ENGINE, Nursery, nursery_of
from .killing import Script

SCRIPT = """
import asyncio
import operator
import os
import sys
from typing import Annotated, TypedDict

from graph_compat.func import task
from graph_compat.graph import END, START, StateGraph
from graph_compat.types import Send

blocking, same_run = sys.argv[1] == "blocking", sys.argv[2] == "as the same run"
by_turns, mode = sys.argv[2].startswith("by turns"), "tasks" if sys.argv[2] == "by turns, as tasks" else "updates"
log = os.open("log", os.O_CREAT | os.O_APPEND | os.O_WRONLY)


def note(what, label):
    os.write(log, f"{what} {label}\\n".encode())


def works(label):
    note("ran", label)
    sum(range(20_000))
    return [label]


class Inner(TypedDict):
    inside: Annotated[list, operator.add]


class State(Inner):
    outside: Annotated[list, operator.add]


def coloured(function):
    async def coroutine(given):
        await asyncio.sleep(0)
        return function(given)

    return function if blocking else coroutine


@task
def plain(label):
    return works(label)


@task
async def coroutine(label):
    await asyncio.sleep(0)
    return works(label)


def chained(key, label):
    return coloured(lambda state: {key: works(label)})


def seen(label, result):
    note("saw", label)
    return result


def calls_tasks(key, label):
    def begun(given):
        labels = [label.format(given)] + [f"{label.format(given)} task {number}" for number in range(3)]
        note("ran", labels[0])
        return labels

    def function(given):
        found, *labels = begun(given)
        return {key: sum([seen(one, plain(one).result()) for one in labels], [found])}

    async def coroutines(given):
        found, *labels = begun(given)
        return {key: sum([seen(one, await coroutine(one)) for one in labels], [found])}

    return function if blocking else coroutines


worker = calls_tasks("outside", "worker {}")


def sequence(graph, nodes):
    for name, action in nodes:
        graph.add_node(name, action)
    for (before, _), (after, _) in zip(nodes, nodes[1:]):
        graph.add_edge(before, after)
    graph.add_edge(START, nodes[0][0])
    return graph


inner = sequence(
    StateGraph(Inner),
    [(f"inner {number}", chained("inside", f"inner {number}")) for number in range(4)]
    + [("inner tasks", calls_tasks("inside", "inner tasks"))],
)
nodes = [(f"node {number}", chained("outside", f"node {number}")) for number in range(8)]
nodes += [("tasks", calls_tasks("outside", "tasks"))]
outer = sequence(StateGraph(State), nodes)
outer.add_node("worker", worker)
outer.add_conditional_edges("tasks", lambda state: [Send("worker", number) for number in range(8)], ["worker"])
outer.add_node("inner", inner.compile())
outer.add_edge("worker", "inner")
outer.add_node("last", chained("outside", "last"))
outer.add_edge("inner", "last")
graph = outer.compile(checkpointer="runs.db")
thread = {"configurable": {"thread_id": "job"}, "metadata": {"run_id": "a run"} if same_run else {}}


def consume(chunk):
    for name, update in chunk[1].items():
        if name == "inner" and by_turns:
            for label in update["inside"]:
                note("saw", label)
        if name not in ("inner", "plain", "coroutine", "__metadata__"):
            note("saw", (update.get("outside") or update["inside"])[0])


def update_in(chunk):
    if mode == "updates":
        return chunk
    return {chunk["name"]: chunk["result"]} if "result" in chunk else {}


async def coroutines(given):
    async for chunk in graph.astream(given, thread, stream_mode="updates", subgraphs=True):
        consume(chunk)


def main():
    state = graph.get_state(thread)
    print("begins", flush=True)
    given = {"outside": [], "inside": []} if same_run or state.metadata is None else None
    if given is not None or state.tasks:
        if blocking:
            for chunk in graph.stream(given, thread, stream_mode=mode, subgraphs=not by_turns):
                consume(((), update_in(chunk)) if by_turns else chunk)
        else:
            asyncio.run(coroutines(given))
    return graph.get_state(thread).values


print(main(), flush=True)
os._exit(0)
"""

KILLS = int(os.environ.get("FLOWFN_KILLS", "6"))


def with_tasks(label: str) -> list[str]:
    return [label, *(f"{label} task {number}" for number in range(3))]


NODES = [f"node {number}" for number in range(8)]
WORKERS = [label for number in range(8) for label in with_tasks(f"worker {number}")]
STATE = {
    "inside": [f"inner {number}" for number in range(4)] + with_tasks("inner tasks"),
    "outside": [*NODES, *with_tasks("tasks"), *WORKERS, "last"],
}
WORK = {label for labels in STATE.values() for label in labels}

LIBRARIES = (
    *("langchain_core.tracers.event_stream", "langchain_core.tracers.langchain", "langsmith.run_helpers"),
    *("graph_compat.func", "graph_compat.graph"),
)
"""What a script takes four times as long to import as to run."""


@pytest.fixture(scope="module")
def nursery(installed: Path) -> Iterator[Nursery]:
    """Starts the scripts that are to be killed."""
    with nursery_of(*LIBRARIES, *ENGINE, installed=installed) as made:
        yield made


@pytest.mark.parametrize(
    ("colour", "called"),
    [
        ("blocking", "without input"),
        ("blocking", "by turns"),
        ("blocking", "by turns, as tasks"),
        ("asyncio", "without input"),
        ("asyncio", "as the same run"),
    ],
)
def test_a_graph_killed_at_random_moments(
    tmp_path: Path, installed: Path, nursery: Nursery, colour: str, called: str
) -> None:
    """G1: killed and called again, the graph ends in the right state, and nothing seen has run again.

    Without input, by a stream that runs on its consumer's thread or by another; or with it and the `run_id` of the call
    before, as a server calls that tries again. Who goes on after the last kill is a Python of its own.
    """
    moments = random.Random(colour)
    undisturbed = Script(tmp_path / "undisturbed", SCRIPT, [colour, called], installed)
    assert ast.literal_eval(undisturbed.run_in(nursery) or "") == STATE
    assert (undisturbed.runs(), undisturbed.seen()) == (len(WORK), WORK)
    kills = jobs = again = 0
    while kills < KILLS:
        script = Script(tmp_path / str(jobs), SCRIPT, [colour, called], installed)
        printed = None
        while printed is None:
            if kills < KILLS:
                printed = script.run_in(nursery, moments.uniform(0, undisturbed.seconds))
                kills += printed is None
            else:
                printed = script.run()
        jobs += 1
        again += script.runs() - len(WORK)
        assert (ast.literal_eval(printed), script.repeated()) == (STATE, [])
    print(
        f"{colour}, {called}: {kills} kills in {jobs} jobs of {undisturbed.seconds * 1000:.0f} ms: {again} nodes and"
        " tasks whose update or result nobody had seen ran again, none that was seen"
    )
