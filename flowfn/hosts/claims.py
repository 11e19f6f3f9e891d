"""The leases that runs of one event loop want at the same time.

Rule: those of threads that are free are taken at once, in place where the saver is quick (`inline`), else on one
worker; who finds somebody there claims by itself, so that nobody waits for another's thread. A lease that nobody waits
for any more is given back. Who does that is decided where it is taken, and not on the loop: that may end before it
comes to it, as `asyncio.run` does once all is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeGuard

from flowfn.errors import SaverError
from flowfn.hosts.admission import Admission
from flowfn.hosts.workers import run_soon
from flowfn.ports import ClaimsTogether, Lease, Saver

_Leases = Sequence[Lease | None] | BaseException


class _Claims(Saver, ClaimsTogether, Protocol):
    """A saver that takes many leases at once."""


def claims_together(saver: Saver) -> TypeGuard[_Claims]:
    """Whether it is one, by the name of the method: each run asks, and `isinstance` of a protocol takes 5 µs."""
    return hasattr(saver, "claim_free")


class _Due:
    """A thread that somebody wants the lease of, and `taken`, which he awaits."""

    __slots__ = ("_end", "taken", "thread")

    def __init__(self, thread: str, taken: asyncio.Future[Lease | None]) -> None:
        self.thread = thread
        self.taken = taken
        self._end: dict[None, Lease | None] = {}
        """What came first, in its only item: the lease was taken, or he left (None). `setdefault` is one step, so that
        of two threads that ask each hears the same."""

    def ends_with(self, lease: Lease | None) -> Lease | None:
        """What it ended with: this, unless it had ended before."""
        return self._end.setdefault(None, lease)

    def left_over(self) -> Lease | None:
        """The lease that was taken; it is handed out once."""
        return self._end.pop(None, None)


class Claimer:
    """Gathers the claims that all runs of one event loop have due in one of its turns."""

    def __init__(self) -> None:
        self._due: dict[int, tuple[_Claims, list[_Due]]] = {}

    async def claim(self, saver: _Claims, thread: str, admission: Admission) -> Lease | None:
        """The lease of a thread that is free; None where it has to be claimed by itself."""
        loop = asyncio.get_running_loop()
        taken: asyncio.Future[Lease | None] = loop.create_future()
        due = self._due.get(id(saver))
        if due is None:
            self._due[id(saver)] = due = (saver, [])
            loop.call_soon(self._flush, loop, id(saver))
        mine = _Due(thread, taken)
        due[1].append(mine)
        try:
            with admission:
                return await taken
        except asyncio.CancelledError:
            _give_back(saver, mine.ends_with(None))
            raise

    def _flush(self, loop: asyncio.AbstractEventLoop, key: int) -> None:
        saver, due = self._due.pop(key)
        if saver.inline:
            _tell(due, _claimed(saver, due))
            return

        def claim_and_tell() -> None:
            leases = _claimed(saver, due)
            try:
                loop.call_soon_threadsafe(_tell, due, leases)
            except RuntimeError:  # the loop has ended, and nobody waits
                for each in due:
                    _give_back(saver, each.left_over())

        try:
            run_soon(claim_and_tell)
        except RuntimeError as error:  # no thread can be started
            _tell(due, error)


def _claimed(saver: ClaimsTogether, due: list[_Due]) -> _Leases:
    """The leases, or why there are none; those of who has left meanwhile are given back."""
    try:
        leases = saver.claim_free([each.thread for each in due])
    except BaseException as error:
        return error
    for each, lease in zip(due, leases, strict=True):
        if each.ends_with(lease) is not lease:
            _give_back(saver, lease)
    return leases


def _tell(due: list[_Due], leases: _Leases) -> None:
    if isinstance(leases, BaseException):
        for each in due:
            if not each.taken.done():
                each.taken.set_exception(leases)
        return
    for each, lease in zip(due, leases, strict=True):
        if not each.taken.done():
            each.taken.set_result(lease)


def _give_back(saver: ClaimsTogether, lease: Lease | None) -> None:
    if lease is not None:
        run_soon(partial(_release, saver, lease))


def _release(saver: ClaimsTogether, lease: Lease) -> None:
    with suppress(SaverError):
        saver.release(lease)
