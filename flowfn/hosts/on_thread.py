"""A blocking call beside an event loop: on a thread, while the loop goes on.

It is `asyncio.to_thread` at a third of its price where it ends at once, as a look at a table does, and no other run is
under way on the loop, which stands still for that moment (`hosts/moment.py`); else at two thirds. As many calls run at
once as a run has workers; who is cancelled waits no longer, and what runs ends on its thread.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from flowfn.futures import Future
from flowfn.hosts.moment import ending, stand_still
from flowfn.hosts.plain_code import no_end
from flowfn.hosts.shared import shared
from flowfn.hosts.threads import MAX_WORKERS
from flowfn.hosts.workers import run_soon
from flowfn.python.event_loop import running_loop

T = TypeVar("T")


def off_loop(function: Callable[..., T], /, *args: Any) -> T:
    """Call what may begin an event loop: on a thread of its own where one runs on this, which waits."""
    if running_loop() is None:
        return function(*args)
    future, context = Future[T](), copy_context()

    def call() -> None:
        try:
            future.set_result(context.run(function, *args))
        except BaseException as error:
            future.set_exception(error)

    run_soon(call)
    return future.result()


_places: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, list[asyncio.Semaphore]] = (
    weakref.WeakKeyDictionary()
)
"""The places of each loop, by how many calls are around one."""

_around: ContextVar[int] = ContextVar("flowfn.on_thread", default=0)
"""How many calls the running code is in."""


async def on_thread(function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    """What a blocking function returns, called on a thread in a copy of the context of whoever awaits it.

    Raises:
        RuntimeError: it raised `StopIteration`, which no coroutine can.
    """
    loop = asyncio.get_running_loop()
    async with _places_in(loop, around := _around.get()):
        call = _Call(loop, lambda: function(*args, **kwargs), around + 1)
        run_soon(call.run)
        if not stand_still(call.over, shared(loop).moment):
            await call.ended()
    error, call.error = call.error, None
    if error is not None:
        try:
            if isinstance(error, StopIteration):
                raise no_end(function, error) from error
            raise error
        finally:
            del error  # its traceback names this frame
    return call.value  # type: ignore[no-any-return]


def _places_in(loop: asyncio.AbstractEventLoop, around: int) -> asyncio.Semaphore:
    """The places for calls with so many around them."""
    places = _places.get(loop) or _places.setdefault(loop, [])
    while len(places) <= around:
        places.append(asyncio.Semaphore(MAX_WORKERS))
    return places[around]


class _Call:
    """One call, between its thread and the loop: either finds that the other is done, or is told."""

    def __init__(self, loop: asyncio.AbstractEventLoop, function: Callable[[], Any], depth: int) -> None:
        self.value: Any = None
        self.error: BaseException | None = None
        self._loop = loop
        self._function = function
        self._context = copy_context()
        self._context.run(_around.set, depth)
        self._waiter: asyncio.Future[None] | None = None
        self.over = ending()

    def run(self) -> None:
        try:
            self.value = self._context.run(self._function)
        except BaseException as error:
            self.error = error
        self.over.release()
        # Looked at after `over` is released, as `ended` looks at `over` after it is set.
        waiter = self._waiter
        if waiter is not None:
            with suppress(RuntimeError):  # a loop that has ended: nobody waits
                self._loop.call_soon_threadsafe(_tell, waiter)

    async def ended(self) -> None:
        """Wait for it while the loop goes on."""
        self._waiter = self._loop.create_future()
        if self.over.locked():
            await self._waiter


def _tell(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
