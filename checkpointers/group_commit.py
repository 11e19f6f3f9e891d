"""Commits of several threads in one transaction.

Rule: of those that find the writing lock taken, the first waits for it, and then writes all that has come
meanwhile. The others wait for their answers alone, so that nobody whose commit is made stands in a queue.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from flowfn.ports import Commit
from flowfn.python.forking import each_after_fork

Refusals = list[Exception | None]


class Write(Protocol):
    """Writes commits while the lock is held; for each, None or why it was refused."""

    def __call__(self, commits: Sequence[Commit], *, wait: bool) -> Refusals: ...


class _Waiting:
    """Commits in the queue, and what became of them. `woken` is let go when they are made, or when it is to lead."""

    __slots__ = ("commits", "refusals", "woken")

    def __init__(self, commits: Sequence[Commit]) -> None:
        self.commits = commits
        self.refusals: Refusals | None = None
        self.woken = threading.Lock()
        self.woken.acquire()

    def wake(self) -> None:
        """Let it go on. No error if it may already."""
        with suppress(RuntimeError):
            self.woken.release()


class GroupCommit:
    """The commits that wait for one writing lock."""

    def __init__(self) -> None:
        self._begin()
        _begun_anew_after_fork(self)

    def _begin(self) -> None:
        """Nobody waits: in a forked child the queue and its leader are its parent's."""
        self._queue: list[_Waiting] = []
        self._leader: _Waiting | None = None
        self._mutex = threading.Lock()

    def commit(
        self, lock: threading.Lock, write: Write, commits: Sequence[Commit], *, wait: bool
    ) -> Refusals:
        """Write commits, in one go with others that wait.

        Raises:
            BlockingIOError: with `wait=False`, where another thread is writing; nothing was done.
        """
        if not wait:
            return self._at_once(lock, write, commits)
        if not (self._queue or lock.locked()):
            with lock:  # and no `acquire`: between that and a `try` Ctrl-C would leave it locked for ever
                return write(commits, wait=True)
        mine = _Waiting(commits)
        try:
            self._enqueue(mine)
            if self._leader is not mine:
                mine.woken.acquire()
            if mine.refusals is None:
                with lock:
                    if mine.refusals is None:
                        self._write_queue(mine, write)
        except BaseException:
            self._leave(mine)
            raise
        assert mine.refusals is not None
        return mine.refusals

    def _at_once(self, lock: threading.Lock, write: Write, commits: Sequence[Commit]) -> Refusals:
        """Write where nobody else does. An event loop's thread asks, where Ctrl-C is a cancellation."""
        if not lock.acquire(blocking=False):
            raise BlockingIOError("another thread is writing")
        try:
            return write(commits, wait=False)
        finally:
            lock.release()

    def _enqueue(self, mine: _Waiting) -> None:
        """Join the queue; who finds no leader leads it."""
        with self._mutex:
            self._queue.append(mine)
            if self._leader is None:
                self._leader = mine

    def _write_queue(self, mine: _Waiting, write: Write) -> None:
        """Write all that waits; the caller holds the lock.

        If that is cut short, the others' commits wait on for the next holder.
        """
        batch: list[_Waiting] = []
        refusals: Refusals | None = None
        try:  # Ctrl-C may come between any two lines
            with self._mutex:
                batch, self._queue = self._queue, []
                self._leader = None
            refusals = write(_commits_of(batch), wait=True)
            _answer(batch, refusals)
        except BaseException:
            if refusals is not None:
                _answer(batch, refusals)
                raise
            with self._mutex:
                self._queue[:0] = batch
                self._leader = mine
            raise

    def _leave(self, mine: _Waiting) -> None:
        """Give up waiting; where this one led, the next one does."""
        with self._mutex:
            if mine in self._queue:
                self._queue.remove(mine)
            if self._leader is not mine:
                return
            self._leader = self._queue[0] if self._queue else None
            if self._leader is not None:
                self._leader.wake()


def _commits_of(batch: Sequence[_Waiting]) -> list[Commit]:
    """All of them. Not inside the `try` that asks: Python 3.13 may leave an inlined comprehension past its handlers."""
    return [commit for one in batch for commit in one.commits]


def _answer(batch: Sequence[_Waiting], refusals: Refusals) -> None:
    """Tell each what became of its commits. Nothing happens if it was told before."""
    end = 0
    for one in batch:
        start, end = end, end + len(one.commits)
        one.refusals = refusals[start:end]
        one.wake()


_begun_anew_after_fork = each_after_fork(GroupCommit._begin)
