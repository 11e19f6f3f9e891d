"""A coroutine is cancelled when its time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from flowfn.context import current_frame
from flowfn.errors import TaskTimeout
from flowfn.hosts.watch import Watch
from flowfn.policies import TimeoutPolicy


async def within(limit: float | TimeoutPolicy, coroutine: Coroutine[Any, Any, Any], name: str) -> Any:
    """Await a coroutine, and cancel it when its time is up, or whenever whoever awaits it is cancelled.

    It is awaited to its end, with what it does to clean up; a cancelled one has its time for that.

    Raises:
        TaskTimeout: it was.
    """
    watch = Watch(limit, asyncio.get_running_loop().time)
    frame = current_frame.get()
    task = asyncio.ensure_future(coroutine)
    if frame is not None:
        frame.home = task
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
    if error is not None:
        raise error
    return task.result()
