"""What event loops commit: together what is due in one turn, at once what nobody could share."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from checkpointers import SqliteSaver
from flowfn import entrypoint, task
from flowfn.hosts.admission import Admission
from flowfn.hosts.commits import COMMITS_IN_PLACE, Committer
from flowfn.ports import Commit


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


def committing(saver: Any, *authors: Sequence[str]) -> Quick:
    """Have each author, in an asyncio task of its own, make its commits one after another."""

    async def author(committer: Committer, threads: Sequence[str]) -> None:
        for thread in threads:
            await committer.commit(saver, Commit(thread), Admission())

    async def together() -> None:
        committer = Committer()
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
