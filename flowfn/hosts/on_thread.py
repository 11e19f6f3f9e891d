"""A blocking call beside an event loop: on a thread, while the loop goes on.

It is `asyncio.to_thread` at two thirds of its price. As many run at once as a run has workers; who is cancelled waits
no longer, and what runs ends on its thread.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar

from flowfn.hosts.threads import MAX_WORKERS
from flowfn.hosts.workers import run_soon

T = TypeVar("T")

_places: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = weakref.WeakKeyDictionary()


async def on_thread(function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    """What a blocking function returns, called on a thread in a copy of the context of whoever awaits it."""
    loop = asyncio.get_running_loop()
    places = _places.get(loop) or _places.setdefault(loop, asyncio.Semaphore(MAX_WORKERS))
    async with places:
        ended, context = loop.create_future(), copy_context()

        def call() -> None:
            value: T | None = None
            error: BaseException | None = None
            try:
                value = context.run(function, *args, **kwargs)
            except BaseException as raised:
                error = raised
            with suppress(RuntimeError):  # a loop that has ended: nobody waits
                loop.call_soon_threadsafe(_tell, ended, value, error)

        run_soon(call)
        value, error = await ended
    if error is not None:
        try:
            raise error
        finally:
            del error  # its traceback names this frame
    return value  # type: ignore[no-any-return]


def _tell(ended: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if not ended.done():
        ended.set_result((value, error))
