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

_Due = tuple[str, "asyncio.Future[Lease | None]", dict[str, Lease | None]]
"""A thread, who waits for it, and under `_END` what came of that first: the lease was taken, or he left (None)."""

_END = "end"

_Leases = Sequence[Lease | None] | BaseException


class _Claims(Saver, ClaimsTogether, Protocol):
    """A saver that takes many leases at once."""


def claims_together(saver: Saver) -> TypeGuard[_Claims]:
    """Whether it is one, by the name of the method: each run asks, and `isinstance` of a protocol takes 5 µs."""
    return hasattr(saver, "claim_free")


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
        end: dict[str, Lease | None] = {}
        due[1].append((thread, taken, end))
        try:
            with admission:
                return await taken
        except asyncio.CancelledError:
            _give_back(saver, end.setdefault(_END, None))
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
                for _, _, end in due:
                    _give_back(saver, end.pop(_END, None))

        try:
            run_soon(claim_and_tell)
        except RuntimeError as error:  # no thread can be started
            _tell(due, error)


def _claimed(saver: ClaimsTogether, due: list[_Due]) -> _Leases:
    """The leases, or why there are none; those of who has left meanwhile are given back."""
    try:
        leases = saver.claim_free([thread for thread, _, _ in due])
    except BaseException as error:
        return error
    for (_, _, end), lease in zip(due, leases, strict=True):
        if end.setdefault(_END, lease) is not lease:
            _give_back(saver, lease)
    return leases


def _tell(due: list[_Due], leases: _Leases) -> None:
    if isinstance(leases, BaseException):
        for _, taken, _ in due:
            if not taken.done():
                taken.set_exception(leases)
        return
    for (_, taken, _), lease in zip(due, leases, strict=True):
        if not taken.done():
            taken.set_result(lease)


def _give_back(saver: ClaimsTogether, lease: Lease | None) -> None:
    if lease is not None:
        run_soon(partial(_release, saver, lease))


def _release(saver: ClaimsTogether, lease: Lease) -> None:
    with suppress(SaverError):
        saver.release(lease)
