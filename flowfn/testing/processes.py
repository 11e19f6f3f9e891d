"""A process that dies at its n-th I/O, without a process.

Rule: a process sees its rows through a saver that dies before or after a chosen call, and from then on
lets nothing through, as a dead process writes nothing. Rows survive on the `Disk`; the lease that the
dead process held stays written there, and is free because its owner is dead, not because it was given back.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from checkpointers import MemorySaver, SqliteSaver
from flowfn.ports import Busy, Commit, Lease, Loaded, Place, Saver, ThreadRow
from flowfn.saver_around import SaverAround

T = TypeVar("T")

When = Literal["before", "after"]


class Crash(BaseException):
    """The process is dead."""


class LivingSaver(Saver, Protocol):
    """A saver that can be left as a killed process leaves it."""

    def abandon(self) -> None: ...


class Disk(Protocol):
    """What outlives a process."""

    def open(self) -> LivingSaver:
        """A saver as a new process opens it."""


class MemoryDisk:
    """The rows of a `MemorySaver`, which no process opens or closes."""

    def __init__(self) -> None:
        self._saver = MemorySaver()

    def open(self) -> LivingSaver:
        return self._saver


class FileDisk:
    """A new SQLite file in a folder: a copy of an empty one, since making one costs more than most runs."""

    def __init__(self, folder: Path) -> None:
        empty = folder / "empty.db"
        if not empty.exists():
            SqliteSaver(empty).close()
        self.file = folder / f"{uuid.uuid4()}.db"
        shutil.copyfile(empty, self.file)

    def open(self) -> LivingSaver:
        return SqliteSaver(self.file)


Outlook = Callable[[Commit], object]
"""Is told of each commit that is durable."""

Fate = Callable[[Commit | None, int], When | None]
"""Says of an I/O (its commit, if it is one, and its number from 1) whether the process dies there."""


def never(commit: Commit | None, number: int) -> When | None:
    """The process lives."""
    return None


def at(dies_at: int | None, when: When) -> Fate:
    """The process dies at its n-th I/O; never, where that is None."""
    return lambda commit, number: when if number == dies_at else None


def perish() -> None:
    """Die for good."""
    os.kill(os.getpid(), signal.SIGKILL)


class DyingSaver(SaverAround):
    """Lets a process die at one of its I/Os. `reads` says whether reading counts as one as well."""

    def __init__(
        self,
        inner: Saver,
        told: Outlook,
        fate: Fate = never,
        *,
        reads: bool = True,
        die: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(inner)
        self.dead = False
        self.calls = 0
        self._told = told
        self._fate = fate
        self._reads = reads
        self._die = die
        self._busy = 0
        self._idle = threading.Condition()

    def _io(self, commit: Commit | None, method: Callable[[], T]) -> T:
        with self._idle:
            self.calls += 1
            end = None if self.dead else self._fate(commit, self.calls)
            if self.dead or end == "before":
                self._end()
            self._busy += 1
        try:
            result = method()
        finally:
            with self._idle:
                self._busy -= 1
                self._idle.notify_all()
        if end == "after":
            self._end()
        return result

    def bury(self) -> None:
        """Let nothing more through. What other threads were writing at the moment of death has been written."""
        with self._idle:
            self.dead = True
            self._idle.wait_for(lambda: self._busy == 0)

    def _end(self) -> None:
        self.dead = True
        self._die()
        raise Crash

    def _read(self, method: Callable[[], T]) -> T:
        if self._reads:
            return self._io(None, method)
        if self.dead:
            raise Crash
        return method()

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        """Death comes as a refusal, so that whoever waits for a commit unwinds, and its threads end."""

        def commit() -> list[Exception | None]:
            refusals = self.inner.commit(commits, wait=wait)
            for one, refusal in zip(commits, refusals, strict=True):
                if refusal is None:
                    self._told(one)
            return refusals

        try:
            return self._io(commits[-1], commit)
        except Crash as crash:
            return [crash] * len(commits)  # type: ignore[list-item]  # the engine raises what it is given

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        return self._io(None, lambda: self.inner.claim(thread, force=force))

    def adopt(self, workflow: str, call: str) -> Lease | None:
        return self._io(None, lambda: self.inner.adopt(workflow, call))

    def release(self, lease: Lease) -> None:
        self._io(None, lambda: self.inner.release(lease))

    def load(self, thread: str, namespace: str = "", checkpoint: str | None = None) -> Loaded | None:
        return self._read(lambda: self.inner.load(thread, namespace, checkpoint))

    def history(self, thread: str | None, namespace: str | None = "", **options: Any) -> Iterator[Loaded]:
        return self._read(lambda: self.inner.history(thread, namespace, **options))

    def places(self, thread: str) -> list[Place]:
        return self._read(lambda: self.inner.places(thread))

    def threads(self, *, limit: int | None = None) -> list[ThreadRow]:
        return self._read(lambda: self.inner.threads(limit=limit))

    def unfinished(self, workflow: str, *, limit: int | None = None) -> list[ThreadRow]:
        return self._read(lambda: self.inner.unfinished(workflow, limit=limit))

    def thread(self, thread: str) -> ThreadRow | None:
        return self._read(lambda: self.inner.thread(thread))

    def delete_thread(self, thread_id: str) -> None:
        self._io(None, lambda: self.inner.delete_thread(thread_id))

    def close(self) -> None:
        self._io(None, self.inner.close)
