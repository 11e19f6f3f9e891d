"""Waiting for several tasks: `gather` and `as_completed`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, wait
from typing import Any, Generic, TypeVar, overload

from flowfn.futures import Future, aside

R = TypeVar("R")


class Gathered(Generic[R]):
    """The results of several futures, in their order: `.result()`, or `await`."""

    def __init__(self, futures: list[Future[R]]) -> None:
        self.futures = futures

    def result(self, timeout: float | None = None) -> list[R]:
        """All results; the first error in the order of the futures is raised, when all have ended.

        Raises:
            TimeoutError: one took longer than `timeout` seconds; the tasks go on.
        """
        for future in self.futures:
            future.exception(timeout)
        return [future.result() for future in self.futures]

    def __await__(self) -> Generator[Any, None, list[R]]:
        return self._all().__await__()

    async def _all(self) -> list[R]:
        import asyncio

        await asyncio.gather(*self.futures, return_exceptions=True)
        return [await future for future in self.futures]


@overload
def gather(*futures: Future[R]) -> Gathered[R]: ...
@overload
def gather(futures: Iterable[Future[R]], /) -> Gathered[R]: ...
def gather(*futures: Any) -> Gathered[Any]:
    """Wait for several tasks: `gather(a, b).result()`, or `await gather(a, b)`; also takes one iterable of futures.

    All of them end before an error is raised, so that what they did is recorded.
    """
    if len(futures) == 1 and not isinstance(futures[0], Future):
        return Gathered(list(futures[0]))
    return Gathered(list(futures))


class _AsCompleted(Generic[R]):
    def __init__(self, futures: Iterable[Future[R]]) -> None:
        self._left = list(dict.fromkeys(futures))

    def __iter__(self) -> Iterator[Future[R]]:
        while self._left:
            if len(self._left) == 1:
                self._left[0].exception()
            else:
                _place(self._left)
                with aside():
                    wait(self._left, return_when=FIRST_COMPLETED)
            yield self._next()

    async def __aiter__(self) -> AsyncIterator[Future[R]]:
        import asyncio

        waits = {future: asyncio.ensure_future(_ended(future)) for future in self._left}
        try:
            while self._left:
                await asyncio.wait(
                    [waits[future] for future in self._left], return_when=asyncio.FIRST_COMPLETED
                )
                yield self._next()
        finally:
            for waiting in waits.values():
                waiting.cancel()

    def _next(self) -> Future[R]:
        """The future whose outcome was recorded first, though another's thread may have been quicker to say so."""
        recorded = [future for future in self._left if future.done() or future.order is not None]
        first = min(recorded, key=lambda future: float("inf") if future.order is None else future.order)
        self._left.remove(first)
        return first


async def _ended(future: Future[Any]) -> None:
    try:
        await future
    except BaseException:
        if not future.done():
            raise


def _place(futures: list[Future[Any]]) -> None:
    """Waiting for any is waiting for all: place the calls that were held for it."""
    for future in futures:
        future.place()


def as_completed(futures: Iterable[Future[R]]) -> _AsCompleted[R]:
    """The futures in the order in which their outcomes were recorded, for `for` and for `async for`.

    A resumed run gets what is recorded in the recorded order, and then the rest as it ends.
    """
    return _AsCompleted(futures)
