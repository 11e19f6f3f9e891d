"""A blocking call beside an event loop: on a thread, while the loop goes on.

It is `asyncio.to_thread` at a third of its price where it ends at once, as a look at a table does, and no other run is
under way on the loop, which stands still for that moment (`loop.MOMENT`); else at two thirds. As many calls run at once
as a run has workers; who is cancelled waits no longer, and what runs ends on its thread.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from threading import Lock
from typing import Any, TypeVar

from flowfn.hosts.loop import shared
from flowfn.hosts.threads import MAX_WORKERS
from flowfn.hosts.workers import run_soon

T = TypeVar("T")

_places: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = weakref.WeakKeyDictionary()


async def on_thread(function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    """What a blocking function returns, called on a thread in a copy of the context of whoever awaits it."""
    loop = asyncio.get_running_loop()
    places = _places.get(loop) or _places.setdefault(loop, asyncio.Semaphore(MAX_WORKERS))
    async with places:
        call = _Call(loop, lambda: function(*args, **kwargs))
        run_soon(call.run)
        if not call.has_ended(within=shared(loop).moment):
            await call.ended()
    error, call.error = call.error, None
    if error is not None:
        try:
            raise error
        finally:
            del error  # its traceback names this frame
    return call.value  # type: ignore[no-any-return]


class _Call:
    """One call, between its thread and the loop: either finds that the other is done, or is told."""

    def __init__(self, loop: asyncio.AbstractEventLoop, function: Callable[[], Any]) -> None:
        self.value: Any = None
        self.error: BaseException | None = None
        self._loop = loop
        self._function = function
        self._context = copy_context()
        self._waiter: asyncio.Future[None] | None = None
        self._under_way = Lock()
        self._under_way.acquire()

    def run(self) -> None:
        try:
            self.value = self._context.run(self._function)
        except BaseException as error:
            self.error = error
        self._under_way.release()
        waiter = (
            self._waiter
        )  # looked at after the lock is let go, as `ended` looks at the lock after it is set
        if waiter is not None:
            with suppress(RuntimeError):  # a loop that has ended: nobody waits
                self._loop.call_soon_threadsafe(_tell, waiter)

    def has_ended(self, *, within: float = 0) -> bool:
        """Whether it has, or does within so many seconds, for which the loop stands still."""
        return self._under_way.acquire(timeout=within)

    async def ended(self) -> None:
        """Wait for it while the loop goes on."""
        self._waiter = self._loop.create_future()
        if not self.has_ended():
            await self._waiter


def _tell(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
