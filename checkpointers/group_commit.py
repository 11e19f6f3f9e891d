"""Commits of several threads in one transaction.

Rule: whoever gets the writing lock commits everything that waits for it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Protocol

from flowfn.ports import Commit

Refusals = list[Exception | None]


class Write(Protocol):
    """Writes commits while the lock is held; for each, None or why it was refused."""

    def __call__(self, commits: Sequence[Commit], *, wait: bool) -> Refusals: ...


class _Waiting:
    """Commits in the queue, and what became of them."""

    __slots__ = ("commits", "refusals")

    def __init__(self, commits: Sequence[Commit]) -> None:
        self.commits = commits
        self.refusals: Refusals | None = None


class GroupCommit:
    """The commits that wait for one writing lock."""

    def __init__(self) -> None:
        self._queue: deque[_Waiting] = deque()

    def commit(
        self, lock: threading.Lock, write: Write, commits: Sequence[Commit], *, wait: bool
    ) -> Refusals:
        """Write commits, in one go with others that wait.

        Raises:
            BlockingIOError: with `wait=False`, where another thread is writing; nothing was done.
        """
        if lock.acquire(blocking=False):
            try:
                if wait and self._queue:
                    return self._write_queue(write, self._enqueue(commits))
                return write(commits, wait=wait)
            finally:
                lock.release()
        if not wait:
            raise BlockingIOError("another thread is writing")
        mine = self._enqueue(commits)
        with lock:
            return self._write_queue(write, mine) if mine.refusals is None else mine.refusals

    def _enqueue(self, commits: Sequence[Commit]) -> _Waiting:
        waiting = _Waiting(commits)
        self._queue.append(waiting)
        return waiting

    def _write_queue(self, write: Write, mine: _Waiting) -> Refusals:
        """Write all that waits, `mine` included; the caller holds the lock.

        If that is cut short, the others' commits wait on for the next holder.
        """
        batch = [self._queue.popleft() for _ in range(len(self._queue))]
        try:
            refusals = iter(write([commit for one in batch for commit in one.commits], wait=True))
        except BaseException:
            self._queue.extendleft(one for one in reversed(batch) if one is not mine)
            raise
        for one in batch:
            one.refusals = list(islice(refusals, len(one.commits)))
        assert mine.refusals is not None
        return mine.refusals
