"""Where an asyncio run's chunks come from, one at a time; whoever leaves a run leaves nothing running behind it.

Rule: the chunks are those of generators within generators, and a loop that ends closes all that it knows of at once,
which fails for such. So a task waits beside a run that isn't over, and closes them in order when the loop ends, or when
nobody has the run any more.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

__all__ = ["Source"]


class Source:
    """The chunks of a run that is driven by whoever reads it."""

    def __init__(self, parts: AsyncIterator[Any]) -> None:
        self._parts = parts
        self._pulling: asyncio.Task[bool] | None = None
        self._keeper: asyncio.Task[None] | None = None

    async def pull(self, owner: Any, taken: Callable[[AsyncIterator[Any]], Awaitable[bool]]) -> bool:
        """Have a chunk taken, by a task of its own; who asks meanwhile gets what comes of that one.

        Whoever else waits for the chunk has to get it, though the reader that asked for it is cancelled.
        """
        if self._pulling is None:
            if self._keeper is None:
                self._keep(owner)
            self._pulling = asyncio.ensure_future(self._pull(taken))
        pulling = self._pulling
        await asyncio.wait({pulling})
        return not pulling.cancelled() and pulling.result()

    async def _pull(self, taken: Callable[[AsyncIterator[Any]], Awaitable[bool]]) -> bool:
        try:
            return await taken(self._parts)
        finally:
            self._pulling = None

    def _keep(self, owner: Any) -> None:
        loop = asyncio.get_running_loop()
        self._keeper = loop.create_task(self._kept())
        weakref.finalize(owner, _cancel, loop, self._keeper).atexit = False

    async def _kept(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await self._stop()

    async def close(self) -> None:
        """Stop the run; a chunk that is being taken isn't waited for."""
        await self._stop()
        self.ended()

    def ended(self) -> None:
        """The run is over."""
        if self._keeper is not None:
            self._keeper.cancel()

    async def _stop(self) -> None:
        if (pulling := self._pulling) is not None and pulling is not asyncio.current_task():
            pulling.cancel()
            await asyncio.wait({pulling})
        if (close := getattr(self._parts, "aclose", None)) is not None:
            await close()


def _cancel(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(task.cancel)
