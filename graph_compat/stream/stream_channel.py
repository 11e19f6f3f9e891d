"""`StreamChannel`: a projection of a run; who reads it drives the run until there is something to read.

Rule: a channel has one reader, and keeps for it what comes after it began to read, so that what nobody reads costs
nothing; `tee` makes several of it. That of a nested graph keeps what comes until who was told of the graph could begin.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Generic, TypeVar

__all__ = ["StreamChannel"]

T = TypeVar("T")


class StreamChannel(Generic[T]):
    """What a transformer shows: it pushes, and a caller iterates.

    Args:
        name: each item is also an event of the run, of method "custom:NAME".
        maxlen: taken for LangGraph's sake; no item is dropped.

    Raises:
        ValueError: `maxlen` is no positive number.
    """

    def __init__(self, name: str | None = None, *, maxlen: int | None = None) -> None:
        if maxlen is not None and maxlen <= 0:
            raise ValueError("StreamChannel maxlen must be a positive int or None")
        self.name = name
        self._closed = False
        self._error: BaseException | None = None
        self._is_async: bool | None = None
        self._subscribed = False
        self._held: list[T] | None = None
        self._sinks: list[Callable[[T], Any]] = []
        self._forward: Callable[[T], None] | None = None
        self._request_more: Callable[[], bool] | None = None
        self._arequest_more: Callable[[], Awaitable[bool]] | None = None

    # -- for the run --------------------------------------------------------------------------------

    def _bind(self, *, is_async: bool) -> None:
        """Belong to a blocking or an asyncio run."""
        self._is_async = is_async

    def _wire(self, fn: Callable[[T], None]) -> None:
        """Hand on each item."""
        self._forward = fn

    def _subscribe(self, reader: str, *sinks: Callable[[T], Any], name: str = "") -> None:
        if self._subscribed:
            raise RuntimeError(f"StreamChannel {name}already has a subscriber; use .{reader}(n) for fan-out.")
        self._subscribed = True
        self._sinks.extend(sinks)
        for item in self._held or ():
            for sink in sinks:
                sink(item)
        self._held = None

    def _hold(self) -> None:
        """Keep what is shown for a reader who can't have begun yet."""
        self._held = []

    def _release(self) -> None:
        """Keep it no longer: who wants to read has begun."""
        self._held = None

    def _pulls(self) -> bool:
        """Drive the run one step; False at its end."""
        return self._request_more is not None and self._request_more()

    async def _apulls(self) -> bool:
        return self._arequest_more is not None and await self._arequest_more()

    # -- for the transformer --------------------------------------------------------------------------

    def push(self, item: T) -> None:
        """Show an item.

        Raises:
            RuntimeError: the channel is closed, and somebody reads it.
        """
        if self._closed:
            if self._subscribed:
                raise RuntimeError("Cannot push to a closed StreamChannel")
            return
        if self._held is not None:
            self._held.append(item)
        for sink in self._sinks:
            sink(item)
        if self._forward is not None:
            self._forward(item)

    def close(self) -> None:
        """Show nothing more; done by the run when it ends."""
        self._closed = True

    def fail(self, err: BaseException) -> None:
        """End with an error, which readers get after what they haven't read yet."""
        if not self._closed:
            self._closed, self._error = True, err

    # -- for the reader -------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[T]:
        """What is shown from now on.

        Raises:
            RuntimeError: somebody reads it already.
            TypeError: the run is an asyncio one, or there is no run.
        """
        return self.tee(1)[0]

    def __aiter__(self) -> AsyncIterator[T]:
        """`__iter__` for asyncio."""
        return self.atee(1)[0]

    def tee(self, n: int = 2) -> tuple[Iterator[T], ...]:
        """`n` iterators, each of all items.

        Raises:
            ValueError: `n` is less than 1.
            RuntimeError, TypeError: as for iterating.
        """
        self._check(False, "tee", n)
        waiting: list[deque[T]] = [deque() for _ in range(n)]
        self._subscribe("tee", *(each.append for each in waiting))
        return tuple(map(self._read, waiting))

    def atee(self, n: int = 2) -> tuple[AsyncIterator[T], ...]:
        """`tee` for asyncio."""
        self._check(True, "atee", n)
        waiting: list[deque[T]] = [deque() for _ in range(n)]
        self._subscribe("atee", *(each.append for each in waiting))
        return tuple(map(self._aread, waiting))

    def _check(self, is_async: bool, name: str, n: int) -> None:
        if n < 1:
            raise ValueError(f"{name}() requires n >= 1")
        if self._is_async is None:
            raise TypeError(
                "StreamChannel has not been bound yet. Register the transformer with a StreamMux first."
            )
        if self._is_async and not is_async:
            raise TypeError("This StreamChannel is bound to async mode — use 'async for' instead.")
        if is_async and not self._is_async:
            raise TypeError("This StreamChannel is bound to sync mode — use 'for' instead.")

    def _read(self, waiting: deque[T]) -> Iterator[T]:
        try:
            while waiting or (not self._closed and self._pulls()) or waiting:
                if waiting:
                    yield waiting.popleft()
            self._raise()
        finally:
            self._leave(waiting)

    async def _aread(self, waiting: deque[T]) -> AsyncIterator[T]:
        try:
            while waiting or (not self._closed and await self._apulls()) or waiting:
                if waiting:
                    yield waiting.popleft()
            self._raise()
        finally:
            self._leave(waiting)

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _leave(self, waiting: deque[T]) -> None:
        """Keep nothing more for a reader that has gone."""
        self._sinks = [sink for sink in self._sinks if getattr(sink, "__self__", None) is not waiting]
