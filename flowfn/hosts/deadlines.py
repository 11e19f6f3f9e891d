"""How long a coroutine may take: in all, and between two signs of life.

A sign of life is a `heartbeat()`; with `refresh_on="auto"` also what the code writes and the tasks that it calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from flowfn.context import current_frame
from flowfn.errors import TaskTimeout
from flowfn.policies import TimeoutPolicy


async def within(limit: float | TimeoutPolicy, coroutine: Coroutine[Any, Any, Any], name: str) -> Any:
    """Await a coroutine, and cancel it when its time is up, or whenever whoever awaits it is cancelled.

    It is awaited to its end, with what it does to clean up; a cancelled one has its time for that.

    Raises:
        TaskTimeout: it was.
    """
    policy = limit if isinstance(limit, TimeoutPolicy) else TimeoutPolicy(run_timeout=limit)
    watch = Watch(policy)
    frame = current_frame.get()
    if frame is not None and policy.idle_timeout is not None:
        frame.watch = watch.saw
    task = asyncio.ensure_future(coroutine)
    if frame is not None:
        frame.home = task
    error: TaskTimeout | None = None
    cancelled = late = False
    while not task.done():
        left, kind = watch.left()
        if left <= 0 and not late:
            late = True
            error = None if cancelled else watch.error(name, kind)
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


class Watch:
    """A coroutine's time."""

    def __init__(self, policy: TimeoutPolicy) -> None:
        self._now = asyncio.get_running_loop().time
        self._policy = policy
        self._began = self._alive = self._now()

    def saw(self, explicit: bool) -> None:
        """A sign of life; `explicit` is a heartbeat."""
        if explicit or self._policy.refresh_on == "auto":
            self._alive = self._now()

    def left(self) -> tuple[float, str]:
        """Seconds until the nearer of the two limits, and which it is."""
        now, policy = self._now(), self._policy
        limits = [(self._began, policy.run_timeout, "run"), (self._alive, policy.idle_timeout, "idle")]
        ends = [(since + limit - now, kind) for since, limit, kind in limits if isinstance(limit, float)]
        return min(ends)

    def error(self, name: str, kind: str) -> TaskTimeout:
        """The error of a coroutine whose time was up."""
        limit = self._policy.run_timeout if kind == "run" else self._policy.idle_timeout
        assert isinstance(limit, float)
        what = "its timeout" if kind == "run" else "its idle timeout"
        return TaskTimeout(
            f"{name!r} took longer than {what} of {limit:g} s, and was cancelled",
            name=name,
            elapsed=self._now() - self._began,
            kind=kind,
            timeout=limit,
        )
