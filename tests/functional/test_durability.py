"""`durability=`: when outcomes are committed changes what a crash costs, and nothing else."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import Command, RetryPolicy, current, entrypoint, interrupt, task, uuid4
from flowfn.errors import SaverError
from flowfn.ports import Commit, Writes
from flowfn.row_channels import ANSWER, RETURN

from ..worlds import World


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_durability_does_not_change_results(world: World, durability: Any) -> None:
    """When outcomes are committed changes what a crash costs, never what a run gives or a later one sees."""
    failures = [True]

    @world.task
    async def note(x: int) -> int:
        world.ran.append(x)
        return x

    @world.entrypoint
    async def wf(x: int, *, previous: Any = None) -> Any:
        first = await world.value(note(x))
        answer = interrupt("ok?")
        second = await world.value(note(x + 1))
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return [first, answer, second, previous]

    options = {"thread_id": "t", "durability": durability}
    world.invoke(wf, 1, **options)
    with pytest.raises(ConnectionError):
        world.invoke(wf, Command(resume="yes"), **options)
    assert world.invoke(wf, None, **options) == [1, "yes", 2, None]
    assert world.ran == [1, 2]
    assert world.state(wf, "t").values == [1, "yes", 2, None]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_an_answer_is_durable_before_the_run_goes_on(world: World, durability: Any) -> None:
    """Whatever else may wait for a later commit: a human isn't asked again for what a crash would lose."""

    @world.entrypoint
    async def wf() -> list[str]:
        interrupt("ok?")
        loaded = world.saver.load("t", "", None)
        assert loaded is not None
        return [row.channel for row in loaded.writes if row.channel == ANSWER]

    world.invoke(wf, thread_id="t", durability=durability)
    assert world.invoke(wf, Command(resume="yes"), thread_id="t", durability=durability) == [ANSWER]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_retry_finds_what_is_not_committed_yet(world: World, durability: Any) -> None:
    """A retried parent doesn't re-run its finished children, committed or not."""

    @world.task
    async def child(x: int) -> int:
        world.ran.append(x)
        return x

    @world.task(retry_policy=RetryPolicy(initial_interval=0, jitter=False))
    async def parent() -> int:
        value = await world.value(child(1))
        if current().attempt < 3:
            raise ConnectionError("lost")
        return value

    @world.entrypoint
    async def wf() -> int:
        return await world.value(parent())

    assert world.invoke(wf, thread_id="t", durability=durability) == 1
    assert world.ran == [1]


def test_an_unknown_durability_is_refused(world: World) -> None:
    """A typo in `durability=` or `on_busy=` is an error that lists what may be written, before anything runs."""

    @world.entrypoint
    async def wf(x: int) -> int:
        world.ran.append(x)
        return x

    with pytest.raises((TypeError, ValueError), match="exit"):
        world.invoke(wf, 1, thread_id="t", durability="never")
    with pytest.raises((TypeError, ValueError), match="reject"):
        world.invoke(wf, 1, thread_id="t", on_busy="shrug")
    assert world.ran == []


class HeldSaver(MemorySaver):
    """Holds a commit until it is told to go on, and tells when a number of tasks are recorded."""

    def __init__(self, tasks: int) -> None:
        super().__init__()
        self.go_on, self.held, self.recorded = threading.Event(), threading.Event(), threading.Event()
        self.go_on.set()
        self._left = tasks

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        if not self.go_on.is_set():
            self.held.set()
            assert self.go_on.wait(20)
        refusals = super().commit(commits, wait=wait)
        rows = [
            row
            for commit in commits
            for item in commit.items
            if isinstance(item, Writes)
            for row in item.rows
        ]
        self._left -= sum(row.channel == RETURN for row in rows)
        if not self._left:
            self.recorded.set()
        return refusals


def test_what_comes_during_a_commit_in_the_background_does_not_wait_for_the_next() -> None:
    """With `durability="async"` quick tasks are recorded while a long one runs, though it is the last to start."""
    saver = HeldSaver(5)

    @task
    def quick(x: int) -> int:
        if x == 0:
            saver.go_on.clear()
        else:
            assert saver.held.wait(20)
        return x

    @task
    def long() -> bool:
        saver.go_on.set()
        return saver.recorded.wait(5)

    @entrypoint(checkpointer=saver, durability="async")
    def wf(tasks: int) -> bool:
        for number in range(tasks):
            quick(number).result()
        return long().result()

    assert wf.invoke(5, thread_id="t")


class RefusingSaver(HeldSaver):
    """Refuses the commit that it held, and takes those that come after it."""

    def __init__(self) -> None:
        super().__init__(0)
        self.later: list[Commit] = []
        self.refused = False

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        refusing = not (self.go_on.is_set() or self.refused)
        refusals = super().commit([] if refusing else commits, wait=wait)
        if refusing:
            self.refused = True
            return [SaverError("the disk was full for a moment")] * len(commits)
        if self.refused:
            self.later += commits
        return refusals


def test_nothing_is_committed_behind_what_could_not_be() -> None:
    """G2: a record or a checkpoint whose forerunner is lost would be read as if that had never been."""
    saver = RefusingSaver()

    @task
    def step(x: int) -> int:
        if x == 2:
            assert saver.held.wait(20)  # what the first came to is being committed
        return x

    @task
    def last() -> None:
        saver.go_on.set()  # while what the second came to waits

    @entrypoint(checkpointer=saver, durability="async")
    def wf(_: int) -> None:
        saver.go_on.clear()
        step(1).result()
        step(2).result()
        last().result()

    with pytest.raises(SaverError, match="for a moment"):
        wf.invoke(0, thread_id="t")
    assert [item for commit in saver.later for item in commit.items] == []


def test_who_interrupts_a_run_twice_leaves_no_lease() -> None:
    """The second Ctrl-C comes while the run commits what waits: that is lost, and the thread is free."""

    class Interrupted(MemorySaver):
        def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
            if interrupts:
                raise interrupts.pop()
            return super().commit(commits, wait=wait)

    interrupts: list[BaseException] = []

    @task
    def step() -> int:
        return 1

    @entrypoint(checkpointer=Interrupted(), durability="exit", on_busy="reject")
    def wf(fails: bool) -> int:
        value = step().result()
        if fails:
            interrupts.append(KeyboardInterrupt("again"))
            raise KeyboardInterrupt
        return value

    with pytest.raises(KeyboardInterrupt, match="again"):
        wf.invoke(True, thread_id="t")
    assert interrupts == []
    assert wf.invoke(False, thread_id="t") == 1


@pytest.mark.timeout(20)
def test_a_value_made_once_does_not_wait_for_a_commit_of_its_own_loop(async_world: World) -> None:
    """With `durability="exit"` a coroutine gets its ids while another one's start is being committed."""

    @async_world.task(in_doubt="ask")
    async def charge(x: int) -> int:
        return x

    async def stamps() -> int:
        found = set()
        for _ in range(20):
            found.add(uuid4())
            await asyncio.sleep(0)
        return len(found)

    @async_world.entrypoint(durability="exit")
    async def wf(x: int) -> Any:
        return await asyncio.gather(charge(x), stamps())

    assert async_world.invoke(wf, 1, thread_id="t") == [1, 20]


def test_a_run_that_is_committed_at_its_end_keeps_its_last_checkpoint(world: World) -> None:
    """With `durability="exit"` no checkpoint before the last one is stored, nor what was recorded under it."""

    @world.task
    async def note(x: int) -> int:
        return x

    @world.entrypoint(durability="exit")
    async def wf(x: int) -> int:
        return await world.value(note(x))

    assert world.invoke(wf, 1, thread_id="t") == 1
    assert [snapshot.values for snapshot in world.history(wf, "t")] == [1]
