"""What event loops commit: together what is due in one turn, at once what nobody could share."""

import asyncio
import itertools
import re
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from checkpointers import SqliteSaver
from flowfn import entrypoint, gather, task
from flowfn.hosts.admission import Admission
from flowfn.hosts.clock import SYSTEM, Clock
from flowfn.hosts.commits import COMMITS_IN_PLACE, LONG, Committer
from flowfn.ports import Commit

from ..worlds import World


class Quick:
    """A quick saver that tells what it was given, and may be busy or refuse."""

    inline = True

    def __init__(self, *, busy: bool = False, refuses: Exception | None = None) -> None:
        self.batches: list[list[str]] = []
        self.busy = busy
        self.refuses = refuses

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        if self.busy and not wait:
            raise BlockingIOError("busy")
        self.batches.append([commit.thread for commit in commits])
        return [self.refuses] * len(commits)


class Slow(Clock):
    """A clock by which a turn of the loop is long: it goes on whenever somebody looks."""

    def __init__(self) -> None:
        self._looks = itertools.count()

    def elapsed(self) -> float:
        return next(self._looks) * 2 * LONG


def committing(saver: Any, *authors: Sequence[str], clock: Clock = SYSTEM) -> Quick:
    """Have each author, in an asyncio task of its own, make its commits one after another."""

    async def author(committer: Committer, threads: Sequence[str]) -> None:
        for thread in threads:
            await committer.commit(saver, Commit(thread), Admission())

    async def together() -> None:
        committer = Committer(clock)
        await asyncio.gather(*(author(committer, threads) for threads in authors))

    asyncio.run(together())
    return saver  # type: ignore[no-any-return]


def test_who_commits_alone_does_not_wait_for_a_turn() -> None:
    """After its first commit nobody else has any: each goes at once, and the loop has other turns but rarely."""
    turns: list[int] = []

    async def alone() -> None:
        committer, saver = Committer(), Quick()
        ticking = asyncio.create_task(tick(saver))
        for number in range(3 * COMMITS_IN_PLACE + 1):
            await committer.commit(saver, Commit(str(number)), Admission())  # type: ignore[arg-type]
        ticking.cancel()

    async def tick(saver: Quick) -> None:
        while True:
            turns.append(len(saver.batches))
            await asyncio.sleep(0)

    asyncio.run(alone())
    between = [later - earlier for earlier, later in pairwise(sorted(set(turns)))]
    assert max(between) == COMMITS_IN_PLACE


def test_those_that_commit_in_one_turn_share_each_transaction() -> None:
    """However many commits each of them makes."""
    saver = committing(Quick(), ["a1", "a2", "a3"], ["b1", "b2", "b3"])
    assert saver.batches == [["a1", "b1"], ["a2", "b2"], ["a3", "b3"]]


def test_a_long_turn_does_not_keep_what_is_due() -> None:
    """As of tasks that compute: it is written as they go, and each of them lets others go on before its next one."""
    saver = committing(Quick(), ["a1", "a2"], ["b1"], ["c1"], ["d1"], clock=Slow())
    assert saver.batches == [["a1", "b1"], ["c1"], ["d1"], ["a2"]]


@pytest.mark.parametrize("busy", [True, False])
def test_what_a_long_turn_could_not_write_is_refused(busy: bool) -> None:
    """Each of those who commit is told."""

    async def refused() -> list[str]:
        committer = Committer(Slow())
        saver: Any = Quick(refuses=KeyError("no"), busy=busy)
        commits = [committer.commit(saver, Commit(str(n)), Admission()) for n in range(3)]
        return [repr(each) for each in await asyncio.gather(*commits, return_exceptions=True)]

    assert asyncio.run(refused()) == ["KeyError('no')"] * 3


@pytest.mark.parametrize("busy", [True, False])
def test_commits_of_which_a_saver_says_nothing_fail(busy: bool) -> None:
    """As of a mock: none of those who commit waits for ever."""

    class Mute(Quick):
        def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
            return super().commit(commits, wait=wait)[:1]

    with pytest.raises(TypeError, match=re.escape("Mute.commit() returned [None] for 2 commits")):
        committing(Mute(busy=busy), ["a1"], ["b1"])


def test_what_has_ended_is_recorded_while_others_compute(world: World) -> None:
    """G1: tasks that await nothing run in one turn of the loop; those killed in its midst don't all run again."""

    @world.task
    async def work(number: int) -> int:
        begun = time.monotonic()
        while time.monotonic() - begun < 2 * LONG:
            pass
        while number == 4 and ended() < 3:
            assert time.monotonic() - begun < 10, f"of 4 only {ended()} are recorded"
        return number

    def ended() -> int:
        found = world.saver.load("1")
        return 0 if found is None else [write.channel for write in found.writes].count("__return__")

    @world.entrypoint
    async def flow(count: int) -> list[int]:
        calls = gather(*map(work, range(count)))
        return list(await calls if world.is_async else calls.result())

    assert world.invoke(flow, 5, thread_id="1") == [0, 1, 2, 3, 4]


def test_a_busy_saver_has_its_commits_made_on_a_thread() -> None:
    """The loop doesn't wait for another thread's transaction."""
    saver = committing(Quick(busy=True), ["1", "2", "3"])
    assert saver.batches == [["1"], ["2"], ["3"]]


def test_a_refused_commit_is_refused_to_who_made_it() -> None:
    """Also where it was made at once."""
    with pytest.raises(KeyError, match="no"):
        committing(Quick(refuses=KeyError("no")), ["1"])

    async def second() -> None:
        committer, saver = Committer(), Quick()
        await committer.commit(saver, Commit("1"), Admission())  # type: ignore[arg-type]
        saver.refuses = KeyError("no")
        with pytest.raises(KeyError, match="no"):
            await committer.commit(saver, Commit("2"), Admission())  # type: ignore[arg-type]

    asyncio.run(second())


class Held(Quick):
    """A busy saver that makes a commit when it is told to."""

    def __init__(self) -> None:
        super().__init__(busy=True)
        self.begun, self.may_end = threading.Event(), threading.Event()

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        if wait:
            self.begun.set()
            assert self.may_end.wait(60)
        return super().commit(commits, wait=wait)


def test_who_is_cancelled_again_and_again_leaves_when_his_commit_is_made() -> None:
    """As anyio cancels in each turn of the loop."""
    saver = Held()

    async def cancelled() -> list[bool]:
        waiting = asyncio.create_task(Committer().commit(saver, Commit("a"), Admission()))  # type: ignore[arg-type]
        await asyncio.to_thread(saver.begun.wait, 60)
        for _ in range(3):
            waiting.cancel()
            for _ in range(5):
                await asyncio.sleep(0)
        left = [waiting.done()]
        saver.may_end.set()
        await asyncio.wait([waiting])
        return [*left, waiting.cancelled()]

    assert asyncio.run(cancelled()) == [False, True]


def test_who_is_cancelled_in_the_turn_in_which_a_commit_is_made_does_not_wait_for_it() -> None:
    """It is made by the time when he hears of that, and nobody tells him later."""
    saver = Quick()

    async def cancelled() -> tuple[list[list[str]], bool]:
        waiting = asyncio.create_task(Committer().commit(saver, Commit("a"), Admission()))  # type: ignore[arg-type]
        await asyncio.sleep(0)  # the turn whose end makes it comes next
        assert saver.batches == []
        waiting.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        return saver.batches, waiting.cancelled()

    assert asyncio.run(cancelled()) == ([["a"]], True)


def test_a_workflow_that_never_suspends_can_be_cancelled(tmp_path: Path) -> None:
    """Its commits let the loop go on from time to time."""

    @task
    async def step(number: int) -> int:
        return number

    @entrypoint(checkpointer=SqliteSaver(tmp_path / "runs.db"))
    async def endless(start: int) -> None:
        while True:
            start = await step(start)

    async def cancelled() -> None:
        running = asyncio.create_task(endless.ainvoke(1, {"configurable": {"thread_id": "1"}}))
        for _ in range(20):
            await asyncio.sleep(0)
        running.cancel()
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
