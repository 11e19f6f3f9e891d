"""Code on threads that nobody waits for any more, as whoever called it was cancelled.

Rule: it can't be stopped, so it runs to its end, and the end of the event loop waits for it, as for what
`asyncio.to_thread` runs: no second `asyncio.run` finds the same function still under way. All of it takes one thread of
the loop's executor to wait on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from threading import Lock
from typing import Any

from flowfn.futures import Future
from flowfn.hosts.settling import wait_until_done


class LeftBehind:
    """What runs of one event loop have left on threads."""

    def __init__(self) -> None:
        self._futures: deque[Future[Any]] = deque()
        self._adding = Lock()
        self._watched = False

    def add(self, loop: asyncio.AbstractEventLoop, future: Future[Any]) -> None:
        """Have the end of the loop wait for a future that somebody settles."""
        with self._adding:
            self._futures.append(future)
            if self._watched:
                return
            self._watched = True
        try:
            loop.run_in_executor(None, self._see_out)
        except RuntimeError:  # the loop is at its end already
            self._watched = False

    def _see_out(self) -> None:
        while (future := self._next()) is not None:
            wait_until_done(future)

    def _next(self) -> Future[Any] | None:
        with self._adding:
            if self._futures:
                return self._futures.popleft()
            self._watched = False
            return None


async def ended(future: Future[Any]) -> None:
    """Suspend until a future is done that some thread settles."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def tell(_: object) -> None:
        with suppress(RuntimeError):  # the loop has ended, and whoever waited with it
            loop.call_soon_threadsafe(done.set)

    future.add_done_callback(tell)
    await done.wait()
