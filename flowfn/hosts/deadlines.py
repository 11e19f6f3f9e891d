"""A coroutine is cancelled when its time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from contextvars import Context
from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame
from flowfn.errors import TaskTimeout
from flowfn.hosts.watch import Watch
from flowfn.policies import TimeoutPolicy

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame


async def within(
    limit: float | TimeoutPolicy,
    coroutine: Awaitable[Any],
    name: str,
    context: Context | None = None,
) -> Any:
    """Await a coroutine, and cancel it when its time is up, or whenever whoever awaits it is cancelled.

    It may be what else an async function returns, such as a task. It runs in `context`, or in a copy of that of whoever
    awaits it, and is awaited to its end, with what it does to clean up; a cancelled one has its time for that.

    Raises:
        TaskTimeout: it was.
    """
    watch = Watch(limit, asyncio.get_running_loop().time)
    running = _at_home(current_frame.get(), coroutine)
    task = asyncio.get_running_loop().create_task(running, context=context)
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


async def _at_home(frame: Frame | None, coroutine: Awaitable[Any]) -> Any:
    """Await the code of a frame, whose home this task is: it says so itself, as an eager one begins as it is made."""
    if frame is not None:
        frame.home = asyncio.current_task()
    return await coroutine
