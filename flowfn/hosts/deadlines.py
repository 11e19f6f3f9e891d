"""A coroutine is cancelled when its time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame
from flowfn.errors import TaskTimeout
from flowfn.hosts.watch import Watch
from flowfn.policies import TimeoutPolicy

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame


async def within(limit: float | TimeoutPolicy, coroutine: Awaitable[Any], name: str) -> Any:
    """Await a coroutine, and cancel it when its time is up, or whenever whoever awaits it is cancelled.

    It may be what else an async function returns, such as a task. It is awaited to its end, with what it does to clean
    up; a cancelled one has its time for that.

    Raises:
        TaskTimeout: it was.
    """
    watch = Watch(limit, asyncio.get_running_loop().time)
    frame = current_frame.get()
    task = asyncio.ensure_future(coroutine if frame is None else _at_home(frame, coroutine))
    error: TaskTimeout | None = None
    cancelled = late = False
    while not task.done():
        left, kind = watch.left()
        if left <= 0 and not late:
            late = True
            error = None if cancelled else watch.error(name, kind, "was cancelled")
            task.cancel()
        try:
            await asyncio.wait({task}, timeout=None if late else left)
        except asyncio.CancelledError:
            cancelled, error = True, None
            if not task.cancel():
                raise
    if isinstance(coroutine, Coroutine):
        coroutine.close()  # cancelled before its first step, it would be told of as never awaited
    if error is not None:
        raise error
    return task.result()


async def _at_home(frame: Frame, coroutine: Awaitable[Any]) -> Any:
    """Await the code of a frame, whose home this task is: it says so itself, as an eager one begins as it is made."""
    frame.home = asyncio.current_task()
    return await coroutine
