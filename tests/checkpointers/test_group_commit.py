"""Who writes what, when several threads commit at once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from linecache import getline
from types import FrameType
from typing import Any

import pytest

from checkpointers import group_commit
from checkpointers.group_commit import GroupCommit, Refusals, _Waiting
from flowfn.ports import Commit


class Written:
    """Notes each group, and writes it when let; `stop_at` raises instead in the group of that number."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.groups: list[list[str]] = []
        self.begun = threading.Semaphore(0)
        self.let = threading.Semaphore(0)
        self._stop_at = stop_at

    def __call__(self, commits: Sequence[Commit], *, wait: bool) -> Refusals:
        self.groups.append([commit.thread for commit in commits])
        number = len(self.groups)
        self.begun.release()
        assert self.let.acquire(timeout=10)
        if number == self._stop_at:
            raise KeyboardInterrupt
        return [ValueError(commit.thread) if commit.thread == "bad" else None for commit in commits]


class Commits:
    """Threads that commit to one lock."""

    def __init__(self, written: Written) -> None:
        self.group, self.lock, self.written = GroupCommit(), threading.Lock(), written
        self.pool = ThreadPoolExecutor(10)

    def begin(self, *names: str) -> list[Future[Refusals]]:
        """Commit from a thread each, and wait until each waits."""
        begun = []
        for name in names:
            before = len(self.group._queue)
            begun.append(self.pool.submit(self._commit, name))
            while len(self.group._queue) == before and not self.written.begun.acquire(blocking=False):
                pass
        return begun

    def _commit(self, name: str) -> Refusals:
        return self.group.commit(self.lock, self.written, [Commit(name)], wait=True)


def test_those_that_come_meanwhile_are_one_group() -> None:
    """Each gets its own answer."""
    written = Written()
    commits = Commits(written)
    (first,) = commits.begin("a")
    rest = commits.begin("b", "bad", "c")
    written.let.release(2)
    assert first.result(10) == [None]
    assert [type(*one.result(10)) for one in rest] == [type(None), ValueError, type(None)]
    assert written.groups == [["a"], ["b", "bad", "c"]]


def test_nobody_waits_for_the_group_after_the_own() -> None:
    """While `d` is written, `b` and `c`, whose commits are made, have gone on."""
    written = Written()
    commits = Commits(written)
    commits.begin("a")
    middle = commits.begin("b", "c")
    written.let.release()
    assert written.begun.acquire(timeout=10)
    (last,) = commits.begin("d")
    written.let.release()
    assert [one.result(10) for one in middle] == [[None], [None]]
    assert not last.done()
    written.let.release()
    assert last.result(10) == [None]


def test_an_interrupted_writer_leaves_the_others_commits_to_the_next() -> None:
    """Ctrl-C in whoever writes for all is its own affair."""
    written = Written(stop_at=2)
    commits = Commits(written)
    commits.begin("a")
    rest = commits.begin("b", "c", "d")
    written.let.release(3)
    with pytest.raises(KeyboardInterrupt):
        rest[0].result(10)
    assert [one.result(10) for one in rest[1:]] == [[None], [None]]
    assert written.groups == [["a"], ["b", "c", "d"], ["c", "d"]]


def test_an_interrupted_writer_tells_all_whose_commits_it_has_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C comes as it begins to: the others would wait for ever."""
    wake, interrupted = _Waiting.wake, []

    def once(self: _Waiting) -> None:
        if not interrupted:
            interrupted.append(self)
            raise KeyboardInterrupt
        wake(self)

    monkeypatch.setattr(_Waiting, "wake", once)
    written = Written()
    commits = Commits(written)
    commits.begin("a")
    rest = commits.begin("b", "c", "bad")
    written.let.release(2)
    with pytest.raises(KeyboardInterrupt):
        rest[0].result(10)
    assert [type(*one.result(10)) for one in rest[1:]] == [type(None), ValueError]
    assert written.groups == [["a"], ["b", "c", "bad"]]


def test_whoever_must_not_wait_is_turned_away() -> None:
    """`wait=False` while another thread writes."""
    written = Written()
    commits = Commits(written)
    (first,) = commits.begin("a")
    with pytest.raises(BlockingIOError):
        commits.group.commit(commits.lock, written, [Commit("b")], wait=False)
    written.let.release()
    assert first.result(10) == [None]


def test_ctrl_c_anywhere_leaves_nobody_waiting() -> None:
    """It comes before each line that the one who leads executes in turn: whoever else waits gets its answer."""
    pool = ThreadPoolExecutor(2)

    def write(commits: Sequence[Commit], *, wait: bool) -> Refusals:
        return [None] * len(commits)

    def ends(group: GroupCommit, lock: threading.Lock, at: int) -> bool:
        """Whether a leader that is interrupted at that line comes so far."""
        lines = count()

        def interrupt(frame: FrameType, event: str, arg: Any) -> Any:
            if frame.f_code.co_filename != group_commit.__file__:
                return None
            source = getline(group_commit.__file__, frame.f_lineno).lstrip()
            # A `with` is traced again before it lets go, where no signal is looked for.
            if event == "line" and not source.startswith("with ") and next(lines) == at:
                raise KeyboardInterrupt
            return interrupt

        def lead() -> bool:
            sys.settrace(interrupt)
            try:
                group.commit(lock, write, [Commit("leader")], wait=True)
            except KeyboardInterrupt:
                return False
            finally:
                sys.settrace(None)
            return True

        with lock:
            leading = pool.submit(lead)
            while not (group._queue or leading.done()):
                pass
            other = pool.submit(group.commit, lock, write, [Commit("other")], wait=True)
            while not (other.done() or any(one.commits[0].thread == "other" for one in group._queue)):
                pass
        assert other.result(10) == [None]
        return leading.result(10)

    at = 0
    while not ends(GroupCommit(), threading.Lock(), at):
        at += 1
    assert at > 15
