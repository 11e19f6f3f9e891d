"""Who waits on an event loop for what ends on other threads: those whose calls are settled together are woken together.

Rule: to wake somebody waits for nothing, so that whoever settles a call may do it. Other callbacks may wait, even for
calls that are settled after theirs: they are called apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any

from flowfn.futures import Future
from flowfn.hosts.workers import run_soon

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from asyncio import Future as Waiter


class Wake:
    """A callback that ends a wait on an event loop, on whichever thread it is called."""

    __slots__ = ("_thread", "loop", "waiter")

    def __init__(self, loop: AbstractEventLoop, thread: int, waiter: Waiter[None]) -> None:
        self.loop = loop
        self._thread = thread
        self.waiter = waiter

    def __call__(self, _: Any) -> None:
        if get_ident() == self._thread:
            _end([self.waiter])
        else:
            _soon(self.loop, [self.waiter])


class Told:
    """Those who are told of calls that are settled one after the other."""

    def __init__(self) -> None:
        self._wakes: list[Wake] = []

    def of(self, future: Future[Any]) -> None:
        """Tell of a call that was settled, in its context: who waits on a loop by `wake`, others apart, as part of the
        same run."""
        if wakes := future.told_by(Wake):
            self._wakes += wakes
        else:
            _apart(partial(copy_context().run, future.call_all))

    def wake(self) -> None:
        """Wake those who wait on loops, each loop once."""
        waiting: dict[AbstractEventLoop, list[Waiter[None]]] = {}
        for wake in self._wakes:
            waiting.setdefault(wake.loop, []).append(wake.waiter)
        for loop, waiters in waiting.items():
            _soon(loop, waiters)


def _soon(loop: AbstractEventLoop, waiters: list[Waiter[None]]) -> None:
    with suppress(RuntimeError):  # the loop has ended, and nobody waits
        loop.call_soon_threadsafe(_end, waiters)


def _end(waiters: Iterable[Waiter[None]]) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)


def _apart(callbacks: Callable[[], None]) -> None:
    try:
        run_soon(callbacks)
    except RuntimeError:  # no thread can be started
        callbacks()
