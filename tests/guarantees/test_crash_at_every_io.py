"""G1, section 4: whichever I/O a process dies at, the next one gives the same answer and repeats nothing.

Every task returns something that differs on each computation (a `nonce`), and every place that sees a
result tells the `World`: had a task run again, or a result gone to another call, two processes would
have seen two values in one place.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Sequence
from contextlib import suppress
from functools import partial, wraps
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowfn
from checkpointers import MemorySaver
from flowfn import RetryPolicy, Workflow, as_completed, current, entrypoint, gather, interrupt, task
from flowfn.engine.drive import drive
from flowfn.ports import Commit, Saver, Writes
from flowfn.testing.processes import Crash, DyingSaver, When, at

from ..worlds import SAVERS
from .crashing import THREAD, Caller, Disk, Job, World, deaths

AT_ONCE = RetryPolicy(initial_interval=0, jitter=False)

Result = tuple[int, str]
"""A value that follows from the program, and a nonce that doesn't."""


def nonce() -> str:
    return uuid.uuid4().hex


def blocking(world: World, saver: Saver) -> Workflow[Any, Any]:
    """Nested, parallel, retried and interrupted tasks, a child workflow, also streamed, and recorded chance."""

    @task
    def square(label: str, x: int) -> Result:
        world.runs(label)
        return x * x, nonce()

    @task(retry_policy=AT_ONCE)
    def flaky(label: str, x: int) -> Result:
        world.runs(label)
        if current().attempt < 3:
            square(f"{label} / attempt {current().attempt}", x).result()
            raise ConnectionError(label)
        return x + 1, nonce()

    @task
    def nested(label: str, x: int) -> Result:
        world.runs(label)
        parts = [square(f"{label} / {i}", i) for i in range(x)]
        values = [world.sees(f"{label} / {i}", part.result())[0] for i, part in enumerate(parts)]
        return sum(values), nonce()

    @task
    def asking(label: str, x: int) -> tuple[str, str]:
        world.runs(label)
        before = world.sees(f"{label} / before", square(f"{label} / before", x).result())
        return f"{interrupt(label)} with {before[0]}", nonce()

    @entrypoint
    def child(label: str, x: int) -> Result:
        first = world.sees(f"{label} / first", square(f"{label} / first", x).result())
        world.sees(f"{label} / id", flowfn.uuid4())
        return world.sees(f"{label} / second", nested(f"{label} / second", first[0]).result())

    @entrypoint(checkpointer=saver)
    def flow(n: int) -> list[Any]:
        world.sees("now", flowfn.now())
        world.sees("uuid4", flowfn.uuid4())
        answer: list[Any] = [world.sees("one", square("one", n).result())[0]]
        answer.append(world.sees("flaky", flaky("flaky", n).result())[0])
        mapped = square.map([f"map {i}" for i in range(n)], range(n))
        together = gather(*mapped, nested("nested", n)).result()
        answer.append([world.sees(f"together {i}", result)[0] for i, result in enumerate(together)])
        answer.append(world.sees("child", child("child", 2))[0])
        told = [*child.stream({"label": "told", "x": 1})]
        answer.append([[*world.sees(f"told {i}", chunk)] for i, chunk in enumerate(told)])
        answer.append(interrupt("go on?"))
        asked = [asking(f"asking {i}", i) for i in range(2)]
        answer.append([world.sees(f"asked {i}", future.result())[0] for i, future in enumerate(asked)])
        finished = as_completed([square(f"race {i}", i) for i in range(3)])
        order = [world.sees(f"finished {i}", future.result()) for i, future in enumerate(finished)]
        answer.append(sorted(value for value, _ in order))
        return answer

    return flow


def coroutines(world: World, saver: Saver) -> Workflow[Any, Any]:
    """The same program as `blocking`, in coroutines, with one task that stays a plain function."""

    @task
    def plain(label: str, x: int) -> Result:
        world.runs(label)
        return x * x, nonce()

    @task
    async def square(label: str, x: int) -> Result:
        world.runs(label)
        await asyncio.sleep(0)
        return x * x, nonce()

    @task(retry_policy=AT_ONCE)
    async def flaky(label: str, x: int) -> Result:
        world.runs(label)
        if current().attempt < 3:
            await square(f"{label} / attempt {current().attempt}", x)
            raise ConnectionError(label)
        return x + 1, nonce()

    @task
    async def nested(label: str, x: int) -> Result:
        world.runs(label)
        parts = [square(f"{label} / {i}", i) for i in range(x)]
        values = [world.sees(f"{label} / {i}", await part)[0] for i, part in enumerate(parts)]
        return sum(values), nonce()

    @task
    async def asking(label: str, x: int) -> tuple[str, str]:
        world.runs(label)
        before = world.sees(f"{label} / before", await square(f"{label} / before", x))
        return f"{interrupt(label)} with {before[0]}", nonce()

    @entrypoint
    async def child(label: str, x: int) -> Result:
        first = world.sees(f"{label} / first", await square(f"{label} / first", x))
        world.sees(f"{label} / id", flowfn.uuid4())
        return world.sees(f"{label} / second", await nested(f"{label} / second", first[0]))

    @entrypoint(checkpointer=saver)
    async def flow(n: int) -> list[Any]:
        world.sees("now", flowfn.now())
        world.sees("uuid4", flowfn.uuid4())
        answer: list[Any] = [world.sees("one", await plain("one", n))[0]]
        answer.append(world.sees("flaky", await flaky("flaky", n))[0])
        mapped = square.map([f"map {i}" for i in range(n)], range(n))
        together = await asyncio.gather(*mapped, nested("nested", n))
        answer.append([world.sees(f"together {i}", result)[0] for i, result in enumerate(together)])
        answer.append(world.sees("child", await child("child", 2))[0])
        told = [chunk async for chunk in child.astream({"label": "told", "x": 1})]
        answer.append([[*world.sees(f"told {i}", chunk)] for i, chunk in enumerate(told)])
        answer.append(interrupt("go on?"))
        asked = [asking(f"asking {i}", i) for i in range(2)]
        answer.append([world.sees(f"asked {i}", await future)[0] for i, future in enumerate(asked)])
        order = []
        async for future in as_completed([square(f"race {i}", i) for i in range(3)]):
            order.append(world.sees(f"finished {len(order)}", future.result()))
        answer.append(sorted(value for value, _ in order))
        return answer

    return flow


ANSWER = [
    9,
    4,
    [0, 1, 4, 5],
    14,
    [["square"], ["square"], ["nested"], ["child"]],
    "yes to go on?",
    ["yes to asking 0 with 0", "yes to asking 1 with 1"],
    [0, 1, 4],
]


@pytest.fixture(params=SAVERS)
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Makes empty disks, of each kind of saver."""
    if request.param == "postgres":
        return partial(Disk, request.getfixturevalue("postgres_database"))
    return partial(Disk, tmp_path if request.param == "sqlite" else None)


@deaths(*SAVERS)
@pytest.mark.parametrize("caller", ["invoke", "ainvoke", "call"])
def test_a_crash_at_any_io_changes_no_answer_and_repeats_nothing(
    disk: Any, caller: Caller, when: When
) -> None:
    """G1: die at the first I/O, resume; die at the second, resume; and so on until a run gets through."""
    build = coroutines if caller == "ainvoke" else blocking
    for dies_at in count(1, disk().stride):
        job = Job(disk(), caller, build, 3)
        try:
            answer, crashed = job.run(dies_at, when), False
        except Crash:
            answer, crashed = job.run(), True
        assert (answer, job.world.violations) == (ANSWER, []), f"died {when} I/O {dies_at}"
        if not crashed:
            break
    assert dies_at > 30
    assert len(job.world.executed) == len(set(job.world.executed)) + RESTARTS[caller]


RESTARTS = {"invoke": 4, "ainvoke": 4, "call": 6}
"""Attempts beyond each call's first where nothing crashes: two retries, and two tasks that asked. A caller
who calls anew after an answer makes these two ask once more."""


SPAN = 14
"""I/Os of a life: some more than going on costs and giving an answer, where each row has a commit of its own. How many
share one is the clock's business, and on a busy machine few do."""


@pytest.mark.parametrize("caller", ["invoke", "ainvoke", "call"])
def test_a_process_that_dies_again_and_again_gets_there(disk: Any, caller: Caller) -> None:
    """G1: each process dies soon after it has gone on with what the last one left; what is recorded adds up."""
    build = coroutines if caller == "ainvoke" else blocking
    job = Job(disk(), caller, build, 3)
    for lives in count():
        try:
            answer = job.run(SPAN, "after")
            break
        except Crash:
            assert lives < 100, "no progress"
    assert lives >= 3
    assert (answer, job.world.violations) == (ANSWER, [])


@pytest.mark.parametrize("dies_at", [1, 2, 3])
def test_a_thread_that_never_began_is_not_done(disk: Any, dies_at: int) -> None:
    """G2: a process that dies before its first commit leaves no thread that claims to have an answer."""
    place, world = disk(), World()
    dead = place.open()
    saver = DyingSaver(dead, world.was_committed, at(dies_at, "before"))
    with pytest.raises(Crash):
        blocking(world, saver).invoke(3, thread_id=THREAD)
    dead.abandon()
    assert blocking(world, place.open()).thread(THREAD).status != "done"


class LateCommit(MemorySaver):
    """Is late with the commit of one result, or with its return, until let through or nothing else happens."""

    def __init__(self, late: Any, when: When) -> None:
        super().__init__()
        self._when = when
        self._late = self.serde.dumps(late)
        self.reached = threading.Event()
        self.let_through = threading.Event()

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        rows = [row for one in commits for item in one.items if isinstance(item, Writes) for row in item.rows]
        is_late = any(row.value == self._late for row in rows)
        if is_late and self._when == "before":
            self._dawdle()
        refusals = super().commit(commits, wait=wait)
        if is_late and self._when == "after":
            self._dawdle()
        return refusals

    def _dawdle(self) -> None:
        self.reached.set()
        self.let_through.wait(0.2)


@pytest.mark.parametrize("when", ["before", "after"])
def test_as_completed_replays_the_order_that_its_caller_saw(when: When) -> None:
    """Section 3: also where the result that was ready, or committed, first resolves its future last."""
    saver = LateCommit("slow", when)
    seen: list[list[str]] = []

    @task
    def work(name: str) -> str:
        if name == "quick":
            saver.reached.wait(10)
        return name

    @entrypoint(checkpointer=saver)
    def flow(n: int) -> None:
        seen.append([])
        for future in as_completed([work("slow"), work("quick")]):
            seen[-1].append(future.result())
            saver.let_through.set()
        if len(seen) == 1:
            raise Crash

    with pytest.raises(Crash):
        flow.invoke(0, thread_id=THREAD)
    flow.invoke(None, thread_id=THREAD)
    assert seen[1] == seen[0]


# -- random programs --------------------------------------------------------------------------------

Program = tuple[Any, ...]
"""A leaf: ("call",), ("same", n), ("error",), ("ask",), ("retry",) or ("chance",). Or something of programs:
("sequence" | "parallel" | "nested" | "child", programs) or ("loop", n, program)."""

LEAVES = st.one_of(
    st.sampled_from([("call",), ("error",), ("ask",), ("retry",), ("chance",)]),
    st.tuples(st.just("same"), st.integers(2, 3)),
)


def _larger(smaller: st.SearchStrategy[Program]) -> st.SearchStrategy[Program]:
    several = st.lists(smaller, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(st.sampled_from(["sequence", "parallel", "nested", "child"]), several),
        st.tuples(st.just("loop"), st.integers(1, 3), smaller),
    )


PROGRAMS = st.tuples(
    st.just("sequence"), st.lists(st.recursive(LEAVES, _larger, max_leaves=8), min_size=1, max_size=4)
)


class Interpreter:
    """Runs a program, in coroutines that suspend only where the caller has an event loop.

    Its answer follows from the program alone; each task's nonce goes to the `World`.
    """

    def __init__(self, world: World, saver: Saver, *, suspends: bool) -> None:
        self._world = world
        self._suspends = suspends
        colour = _as_is if suspends else _driven
        self._leaf = task(colour(self._run_leaf), name="leaf")
        self._flaky = task(colour(self._run_flaky), name="flaky", retry_policy=AT_ONCE)
        self._branch = task(colour(self._run_branch), name="branch")
        self._child = entrypoint(colour(self._run_branch), name="child")
        self.flow = entrypoint(checkpointer=saver, name="flow")(colour(self._run_flow))

    async def _run_leaf(self, place: str, fails: bool = False) -> str:
        self._world.runs(place)
        if fails:
            raise ValueError(place)
        return nonce()

    async def _run_flaky(self, place: str) -> str:
        self._world.runs(place)
        if current().attempt == 1:
            raise ConnectionError(place)
        return nonce()

    async def _run_branch(self, program: Program, place: str) -> Any:
        return await self.run(program, place)

    async def _run_flow(self, program: Program) -> Any:
        return await self.run(program, "")

    async def _result(self, future: Any) -> Any:
        return await future if self._suspends else future.result()

    async def run(self, program: Program, place: str) -> Any:
        """The program's answer; `place` says where in the whole it stands, loops counted."""
        kind, *rest = program
        return await getattr(self, f"_{kind}_program")(place, *rest)

    async def _call_program(self, place: str) -> str:
        self._world.sees(place, await self._result(self._leaf(place)))
        return "called"

    async def _same_program(self, place: str, times: int) -> str:
        futures = [self._leaf(place) for _ in range(times)]
        nonces = [await self._result(future) for future in futures]
        assert len(set(nonces)) == times
        self._world.sees(place, nonces)
        return f"called {times} times"

    async def _error_program(self, place: str) -> str:
        try:
            await self._result(self._leaf(place, fails=True))
        except ValueError as error:
            return f"caught {error}"
        return "no error"

    async def _retry_program(self, place: str) -> str:
        self._world.sees(place, await self._result(self._flaky(place)))
        return "retried"

    async def _ask_program(self, place: str) -> Any:
        return interrupt(f"at {place}")

    async def _chance_program(self, place: str) -> str:
        self._world.sees(place, flowfn.random())
        return "left to chance"

    async def _sequence_program(self, place: str, parts: list[Program]) -> list[Any]:
        return [await self.run(part, f"{place}/{i}") for i, part in enumerate(parts)]

    async def _loop_program(self, place: str, times: int, part: Program) -> list[Any]:
        return [await self.run(part, f"{place}/{i}") for i in range(times)]

    async def _parallel_program(self, place: str, parts: list[Program]) -> list[Any]:
        futures = [self._branch(part, f"{place}/{i}") for i, part in enumerate(parts)]
        return [await self._result(future) for future in futures]

    async def _nested_program(self, place: str, parts: list[Program]) -> Any:
        return await self._result(self._branch(("sequence", parts), place))

    async def _child_program(self, place: str, parts: list[Program]) -> Any:
        child = self._child(("sequence", parts), place)
        return await child if self._suspends else child


def _as_is(function: Any) -> Any:
    return function


def _driven(function: Any) -> Any:
    """The coroutine function as a plain one, for coroutines that never suspend."""

    @wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        return drive(function(*args, **kwargs))

    return plain


def expected(program: Program, place: str = "") -> Any:
    """The answer of a program, found without running anything."""
    kind, *rest = program
    if kind == "loop":
        return [expected(rest[1], f"{place}/{i}") for i in range(rest[0])]
    if kind in ("sequence", "parallel", "nested", "child"):
        return [expected(part, f"{place}/{i}") for i, part in enumerate(rest[0])]
    return {
        "call": "called",
        "same": f"called {rest[0] if rest else 0} times",
        "error": f"caught {place}",
        "retry": "retried",
        "ask": f"yes to at {place}",
        "chance": "left to chance",
    }[kind]


CRASHES = st.lists(st.tuples(st.integers(1, 30), st.sampled_from(["before", "after"])), max_size=6)


@pytest.mark.parametrize("caller", ["invoke", "ainvoke"])
@given(program=PROGRAMS, crashes=CRASHES)
@settings(max_examples=100)
def test_any_program_survives_any_crashes(
    caller: Caller, program: Program, crashes: list[tuple[int, When]]
) -> None:
    """G1, G2: whatever a program nests, repeats, catches and asks, crashes don't show in what it sees."""

    def build(world: World, saver: Saver) -> Workflow[Any, Any]:
        return Interpreter(world, saver, suspends=caller == "ainvoke").flow

    job = Job(Disk(None), caller, build, program)
    for dies_at, when in crashes:
        with suppress(Crash):
            job.run(dies_at, when)
    assert (job.run(), job.world.violations) == (expected(program), [])
