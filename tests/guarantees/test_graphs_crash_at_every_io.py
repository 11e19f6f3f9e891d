"""G1 for graphs: whichever I/O a process dies at, the next one ends in the same state and repeats nothing recorded.

Every update holds something that differs on each computation (a `nonce`), and every node tells the `World`
which updates it found in the state: had a recorded node run again, two processes would have found two
values in one place.
"""

from __future__ import annotations

import operator
import uuid
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from flowfn import RetryPolicy, current, task
from flowfn.ports import Saver
from flowfn.testing.processes import Crash, DyingSaver, When, at
from graph_compat.graph import START, StateGraph
from graph_compat.types import Command, Send, interrupt

from .crashing import THREAD, Caller, Disk, Job, World, deaths

AT_ONCE = RetryPolicy(initial_interval=0, jitter=False)

Updates = Annotated[dict[str, str], operator.or_]
"""What has run, and the nonce of each."""


class Inner(TypedDict):
    """What the graph inside reads and writes."""

    inside: Updates


class Part(Inner):
    """What a graph reads that is one of several at once."""

    number: int


class State(Inner):
    """What the graph reads and writes."""

    n: int
    outside: Updates
    answers: Annotated[list[str], operator.add]


def nonce() -> str:
    return uuid.uuid4().hex


class Nodes:
    """The nodes of one process, that tell the world what they find and that they run; in one colour."""

    def __init__(self, world: World, *, on_loop: bool) -> None:
        self._world = world
        self._on_loop = on_loop

    def coloured(self, function: Any) -> Any:
        async def coroutine(state: Any) -> Any:
            return function(state)

        return coroutine if self._on_loop else function

    def begin(self, label: str, found: dict[str, str]) -> None:
        self._world.runs(label)
        for other, value in found.items():
            self._world.sees(other, value)

    def plain(self, key: str, label: str) -> Any:
        """Adds its nonce under its name."""

        def node(state: Any) -> dict[str, Any]:
            self.begin(label, state[key])
            return {key: {label: nonce()}}

        return self.coloured(node)

    def part(self, label: str, *, fails: bool = False) -> Any:
        """As `plain`, of one graph of several; `fails` the first time."""

        def node(state: Any) -> dict[str, Any]:
            name = f"{label} of {state['number']}"
            self.begin(name, state["inside"])
            if fails and self._world.executed.count(name) == 1:
                raise ConnectionError
            return {"inside": {name: nonce()}}

        return self.coloured(node)

    def flaky(self) -> Any:
        """Fails twice."""

        def node(state: Any) -> dict[str, Any]:
            self.begin("flaky", state["outside"])
            if current().attempt < 3:
                raise ConnectionError
            return {"outside": {"flaky": nonce()}}

        return self.coloured(node)

    def calling(self) -> Any:
        """Calls two tasks."""

        @task
        def square(label: str) -> str:
            self._world.runs(label)
            return nonce()

        @task
        async def coroutine(label: str) -> str:
            self._world.runs(label)
            return nonce()

        def node(state: Any) -> dict[str, Any]:
            self.begin("calling", state["outside"])
            futures = {label: square(label) for label in ("square 0", "square 1")}
            results = {label: self._world.sees(label, future.result()) for label, future in futures.items()}
            return {"outside": {"calling": nonce(), **results}}

        async def awaiting(state: Any) -> dict[str, Any]:
            self.begin("calling", state["outside"])
            futures = {label: coroutine(label) for label in ("square 0", "square 1")}
            results = {label: self._world.sees(label, await future) for label, future in futures.items()}
            return {"outside": {"calling": nonce(), **results}}

        return awaiting if self._on_loop else node

    def worker(self) -> Any:
        """One of a fan-out, that is sent its number."""

        def node(number: int) -> dict[str, Any]:
            self._world.runs(f"worker {number}")
            return {"outside": {f"worker {number}": nonce()}}

        return self.coloured(node)

    def asking(self, label: str, key: str) -> Any:
        """Asks a human."""

        def node(state: Any) -> dict[str, Any]:
            self.begin(label, state[key])
            answer = interrupt(label)
            wrote = {key: {label: nonce()}}
            return wrote | {"answers": [answer]} if key == "outside" else wrote

        return self.coloured(node)


def graph(world: World, saver: Saver, *, on_loop: bool) -> Any:
    """A node; three at once, one of them retried, one calling tasks; a fan-out; a graph that asks; two that ask."""
    nodes = Nodes(world, on_loop=on_loop)
    inner = StateGraph(Inner)
    inner.add_node("inner first", nodes.plain("inside", "inner first"))
    inner.add_node("inner left", nodes.plain("inside", "inner left"))
    inner.add_node("inner right", nodes.plain("inside", "inner right"))
    inner.add_node("inner asks", nodes.asking("inner asks", "inside"))
    inner.add_edge(START, "inner first")
    inner.add_edge("inner first", "inner left")
    inner.add_edge("inner first", "inner right")
    inner.add_edge(["inner left", "inner right"], "inner asks")

    outer = StateGraph(State)
    outer.add_node("first", nodes.plain("outside", "first"))
    outer.add_node("flaky", nodes.flaky(), retry_policy=AT_ONCE)
    outer.add_node("calling", nodes.calling())
    outer.add_node("sibling", nodes.plain("outside", "sibling"))
    outer.add_node("joined", nodes.plain("outside", "joined"))
    outer.add_node("worker", nodes.worker())
    outer.add_node("inner", inner.compile())
    outer.add_node("asks", nodes.asking("asks", "outside"))
    outer.add_node("asks too", nodes.asking("asks too", "outside"))
    outer.add_node("last", nodes.plain("outside", "last"))
    outer.add_edge(START, "first")
    for name in ("flaky", "calling", "sibling"):
        outer.add_edge("first", name)
    outer.add_edge(["flaky", "calling", "sibling"], "joined")
    outer.add_conditional_edges(
        "joined", lambda state: [Send("worker", number) for number in range(state["n"])], ["worker"]
    )
    outer.add_edge("worker", "inner")
    outer.add_edge("inner", "asks")
    outer.add_edge("inner", "asks too")
    outer.add_edge(["asks", "asks too"], "last")
    compiled = outer.compile()
    compiled.checkpointer = saver
    return compiled


def chain(*nodes: tuple[str, Any], **options: Any) -> Any:
    """A graph of a part whose nodes follow each other."""
    found = StateGraph(Part)
    for name, node in nodes:
        found.add_node(name, node, **options)
    for before, (after, _) in zip([START, *(name for name, _ in nodes)], nodes, strict=False):
        found.add_edge(before, after)
    return found.compile()


def nested(world: World, saver: Saver, *, on_loop: bool) -> Any:
    """Graphs at once that are a graph and nothing else; one that is tried again; one that decides on the way."""
    nodes = Nodes(world, on_loop=on_loop)
    deep = chain(("one", nodes.part("deep one")), ("two", nodes.part("deep two")))
    failing = chain(("one", nodes.part("failing one")), ("two", nodes.part("failing two", fails=True)))
    outer = StateGraph(State)
    outer.add_node("middle", chain(("deep", deep)))
    outer.add_node("retried", chain(("failing", failing), retry_policy=AT_ONCE))
    outer.add_node("routed", chain(("only", nodes.part("routed"))))
    outer.add_node("last", nodes.plain("inside", "last"))
    outer.add_conditional_edges(
        START, lambda state: [Send("middle", {"number": number}) for number in range(state["n"])], ["middle"]
    )
    outer.add_edge("middle", "to retried")
    outer.add_node("to retried", lambda state: Command(goto=Send("retried", {"number": 8})))
    outer.add_edge("retried", "to routed")
    outer.add_node("to routed", lambda state: Command(goto=Send("routed", {"number": 9})))

    def decides(state: Any) -> str:
        for label, value in state["inside"].items():
            world.sees(label, value)
        return "last"

    outer.add_conditional_edges("routed", decides, ["last"])
    compiled = outer.compile()
    compiled.checkpointer = saver
    return compiled


def commanded(world: World, saver: Saver, *, on_loop: bool) -> Any:
    """A node calls a graph that remembers: with an input, and when it runs again with a command that leads aside."""
    nodes = Nodes(world, on_loop=on_loop)
    inner = StateGraph(Inner).add_node("first", nodes.plain("inside", "remembered"))
    inner.add_node("aside", nodes.plain("inside", "aside")).add_edge(START, "first")
    remembering = inner.compile(checkpointer=True)

    def chosen(state: Any) -> tuple[str, Any]:
        began = "remembered" in state["inside"]
        label = "second call" if began else "first call"
        nodes.begin(label, state["inside"])
        return label, Command(goto="aside") if began else {"inside": {}}

    def node(state: Any) -> dict[str, Any]:
        label, given = chosen(state)
        return {"inside": {**remembering.invoke(given)["inside"], label: nonce()}}

    async def awaiting(state: Any) -> dict[str, Any]:
        label, given = chosen(state)
        return {"inside": {**(await remembering.ainvoke(given))["inside"], label: nonce()}}

    outer = StateGraph(State).add_node("calls", awaiting if on_loop else node)
    outer.add_node("last", nodes.plain("inside", "last")).add_edge(START, "calls")
    outer.add_conditional_edges("calls", lambda state: "last" if "aside" in state["inside"] else "calls")
    compiled = outer.compile()
    compiled.checkpointer = saver
    return compiled


PARTS = {f"deep {which} of {number}" for which in ("one", "two") for number in range(3)}
PARTS |= {"failing one of 8", "failing two of 8", "routed of 9", "last"}

REMEMBERED = {"remembered", "aside", "first call", "second call", "last"}

INSIDE = {"inner first", "inner left", "inner right", "inner asks"}
OUTSIDE = {
    "first",
    "flaky",
    "calling",
    "square 0",
    "square 1",
    "sibling",
    "joined",
    "asks",
    "asks too",
    "last",
}
OUTSIDE |= {f"worker {number}" for number in range(3)}
ANSWERS = ["yes to asks", "yes to asks too"]

AGAIN = 2 + 3
"""Attempts beyond each node's first where nothing crashes: two retries, and three nodes that asked."""


@pytest.fixture(params=["memory", "sqlite"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Makes empty disks, of each kind of saver."""
    return partial(Disk, tmp_path if request.param == "sqlite" else None)


def new_job(disk: Any, caller: Caller) -> Job:
    given = {"n": 3, "outside": {}, "inside": {}, "answers": []}
    return Job(disk(), caller, partial(graph, on_loop=caller == "ainvoke"), given)


def check(job: Job, state: dict[str, Any], where: str) -> None:
    """The state is whole, and everybody saw the nonces that are in it."""
    assert (set(state["outside"]), set(state["inside"]), state["answers"]) == (OUTSIDE, INSIDE, ANSWERS), (
        where
    )
    for label, value in {**state["outside"], **state["inside"]}.items():
        job.world.sees(label, value)
    assert job.world.violations == [], where


@deaths("memory", "sqlite")
@pytest.mark.parametrize("caller", ["invoke", "ainvoke"])
def test_a_graph_survives_a_crash_at_any_io(disk: Any, caller: Caller, when: When) -> None:
    """G1: die at the first I/O, resume; die at the second, resume; and so on until a run gets through."""
    for dies_at in count(1):
        job = new_job(disk, caller)
        try:
            state, crashed = job.run(dies_at, when), False
        except Crash:
            state, crashed = job.run(), True
        check(job, state, f"died {when} I/O {dies_at}")
        if not crashed:
            break
    assert dies_at > 30
    assert len(job.world.executed) == len(INSIDE | OUTSIDE) + AGAIN


def dying_inside(disk: Any, caller: Caller, when: When, graph: Any, n: int, parts: Any) -> tuple[Job, int]:
    """Jobs of a graph with graphs in it, each of which dies at another I/O, until one has none left to die at: it, and
    at which I/O that was to be. What the parts of each say of the world is checked.
    """
    for dies_at in count(1):
        given = {"n": n, "inside": {}, "outside": {}, "answers": []}
        job = Job(disk(), caller, partial(graph, on_loop=caller == "ainvoke"), given)
        try:
            state, crashed = job.run(dies_at, when), False
        except Crash:
            state, crashed = job.run(), True
        for label, value in state["inside"].items():
            job.world.sees(label, value)
        assert (set(state["inside"]), job.world.violations) == (parts, []), f"died {when} I/O {dies_at}"
        if not crashed:
            return job, dies_at
    raise AssertionError("there is always another I/O")


@deaths("memory", "sqlite")
@pytest.mark.parametrize("caller", ["invoke", "ainvoke"])
def test_graphs_in_graphs_survive_a_crash_at_any_io(disk: Any, caller: Caller, when: When) -> None:
    """G1: how one ends goes with its call's record, at whatever depth, unless a router decides on it before."""
    job, dies_at = dying_inside(disk, caller, when, nested, 3, PARTS)
    assert dies_at > 12
    assert len(job.world.executed) == len(PARTS) + 1


@deaths("memory", "sqlite")
@pytest.mark.parametrize("caller", ["invoke", "ainvoke"])
def test_a_command_for_a_memory_survives_a_crash_at_any_io(disk: Any, caller: Caller, when: When) -> None:
    """G1: what a nested graph remembers has the command's node once, whichever of its calls was under way."""
    job, dies_at = dying_inside(disk, caller, when, commanded, 0, REMEMBERED)
    assert dies_at > 6
    assert sorted(job.world.executed) == sorted(REMEMBERED)


@pytest.mark.parametrize("caller", ["invoke", "ainvoke"])
def test_a_graph_whose_process_dies_again_and_again_gets_there(disk: Any, caller: Caller) -> None:
    """G1: each process dies at its 9th I/O; what is recorded adds up."""
    job = new_job(disk, caller)
    for lives in count():
        try:
            state = job.run(9, "after")
            break
        except Crash:
            assert lives < 100, "no progress"
    check(job, state, f"after {lives} deaths")


def asking_inside(world: World, saver: Saver) -> Any:
    """A graph in a graph in a graph: the innermost has a step, and then asks."""
    nodes = Nodes(world, on_loop=False)
    inner = StateGraph(State).add_node("before", nodes.plain("inside", "before"))
    inner.add_node("asks", lambda state: {"answers": [interrupt("which?")]})
    middle = StateGraph(State).add_node(
        "inner", inner.add_edge(START, "before").add_edge("before", "asks").compile()
    )
    outer = StateGraph(State).add_node("middle", middle.add_edge(START, "inner").compile())
    compiled = outer.add_edge(START, "middle").compile()
    compiled.checkpointer = saver
    return compiled


def test_who_goes_back_inside_is_there_or_where_it_was(disk: Any) -> None:
    """G1: whichever I/O a process dies at that goes back in a nested graph, nothing in there begins anew."""
    for dies_at in count(1):
        place, world = disk(), World()
        first = place.open()
        program = asking_inside(world, first)
        program.invoke({"n": 0, "outside": {}, "inside": {}, "answers": []}, thread_id=THREAD)
        waiting = program.get_state(thread_id=THREAD, subgraphs=True).tasks[0].state.tasks[0].state.config
        program.invoke(Command(resume="one"), thread_id=THREAD)
        saver = DyingSaver(first, world.was_committed, at(dies_at, "before"))
        with suppress(Crash):
            asking_inside(world, saver).invoke(Command(resume="another"), waiting)
        first.abandon()
        next_one = place.open()
        again = asking_inside(world, next_one)
        again.invoke(None, thread_id=THREAD)
        state = again.get_state(thread_id=THREAD)
        next_one.abandon()
        assert state.values["answers"] in ([["one"], ["another"]] if not state.next else [[]]), (
            f"died at I/O {dies_at}"
        )
        assert world.executed == ["before"], f"died at I/O {dies_at}"
        if not saver.dead:
            break
    assert dies_at > 3


def test_no_update_is_streamed_before_it_is_recorded(disk: Any) -> None:
    """G1: whichever I/O a process dies at, what its stream had shown doesn't run again."""
    given: Any = {"n": 3, "outside": {}, "inside": {}, "answers": []}
    for dies_at in count(1):
        place, world = disk(), World()
        dead = place.open()
        saver, shown = DyingSaver(dead, world.was_committed, at(dies_at, "before")), set[str]()
        dying = graph(world, saver, on_loop=False)
        with suppress(Crash):
            for _, update in dying.stream(given, thread_id=THREAD, stream_mode="updates", subgraphs=True):
                shown |= labels(update)
        dead.abandon()
        ran = len(world.executed)
        if not saver.dead:
            break
        next_one = place.open()
        again = graph(world, next_one, on_loop=False)
        began = again.get_state(thread_id=THREAD).metadata is not None
        again.invoke(None if began else given, thread_id=THREAD)
        next_one.abandon()
        assert shown.isdisjoint(world.executed[ran:]), f"died at I/O {dies_at}"
    assert dies_at > 15
    assert shown > {"first", "flaky", "joined", "worker 0", "inner first"}


def labels(update: dict[str, Any]) -> set[str]:
    """What has run, by a chunk of a stream of updates."""
    written = [wrote for wrote in update.values() if isinstance(wrote, dict)]
    return {label for wrote in written for key in ("outside", "inside") for label in wrote.get(key, ())}
