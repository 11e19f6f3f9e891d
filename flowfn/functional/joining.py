"""Waiting for several tasks: `gather` and `as_completed`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from flowfn.errors import InvalidInput
from flowfn.futures import Future, aside, wait_aside

R = TypeVar("R")


class Gathered(Generic[R]):
    """The results of several futures, in their order: `.result()`, or `await`."""

    __flowfn__ = "gathered"

    def __init__(self, futures: list[Future[R]]) -> None:
        self.futures = futures

    def result(self, timeout: float | None = None) -> list[R]:
        """All results; the first error in the order of the futures is raised, when all have ended.

        Raises:
            TimeoutError: one took longer than `timeout` seconds; the tasks go on.
        """
        for future in self.futures:
            future.wait(timeout)
        return [future.result() for future in self.futures]

    def __await__(self) -> Generator[Any, None, list[R]]:
        return self._all().__await__()

    async def _all(self) -> list[R]:
        import asyncio

        await asyncio.gather(*(future.settled() for future in self.futures), return_exceptions=True)
        return [await future for future in self.futures]

    if not TYPE_CHECKING:  # a type checker says so before it runs

        def __iter__(self) -> Iterator[Any]:
            """None: to wait or to await, that is to be said."""
            raise TypeError(
                "gather(…) gives its results by .result() or await: write `for x in gather(…).result()`"
            )


@overload
def gather(*futures: Future[R]) -> Gathered[R]: ...
@overload
def gather(futures: Iterable[Future[R]], /) -> Gathered[R]: ...
def gather(*futures: Any) -> Gathered[Any]:
    """Wait for several tasks: `gather(a, b).result()`, or `await gather(a, b)`; also takes one iterable of futures.

    All of them end before an error is raised, so that what they did is recorded.

    Raises:
        InvalidInput: one of them is no future.
    """
    if len(futures) == 1 and not isinstance(one := futures[0], Future) and not callable(one):
        futures = one
    return Gathered(_checked("gather", futures))


def _checked(function: str, futures: Iterable[Any]) -> list[Future[Any]]:
    """The futures that a function is to wait for, as a list.

    Raises:
        InvalidInput: one of them is no future.
    """
    found = list(futures)
    for future in found:
        if not isinstance(future, Future):
            raise InvalidInput(
                f"{function}() waits for the futures that calls of tasks return, and {future!r} is none: write "
                f"{function}([task(item), …]), without .result() or await"
            )
    return found


class _AsCompleted(Generic[R]):
    """The futures of `as_completed`: each tells a queue when it is recorded, so that n of them cost n steps."""

    def __init__(self, futures: Iterable[Future[R]]) -> None:
        self._left: dict[Future[R], None] = dict.fromkeys(_checked("as_completed", futures))

    def __iter__(self) -> Iterator[Future[R]]:
        told: SimpleQueue[Future[R]] = SimpleQueue()
        for future in self._left:
            future.place_for_this_thread()
        yield from self._settled(told.put)
        while self._left:
            waiting = next(iter(self._left))
            if waiting.runner is not None:
                waiting.runner.refuse_to_block()
            with aside(), _elsewhere(waiting):
                future = told.get()
            if self._take(future):
                yield future

    async def __aiter__(self) -> AsyncIterator[Future[R]]:
        import asyncio

        told: asyncio.Queue[Future[R]] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        for future in self._left:
            if future.held and future.runner is not None:
                await future.runner.until_placeable(future)
            future.place()

        def tell(future: Future[R]) -> None:
            with suppress(RuntimeError):  # the loop has been closed, and nobody waits any more
                loop.call_soon_threadsafe(told.put_nowait, future)

        for future in self._settled(tell):
            yield await _ended(future)
        while self._left:
            future = await wait_aside(told.get())
            if self._take(future):
                yield await _ended(future)

    def _settled(self, tell: Callable[[Future[R]], Any]) -> list[Future[R]]:
        """Those that have ended before anybody asked, in their order; from now on the others tell."""
        for future in self._left:
            future.tell_when_recorded(tell)
        ended = [future for future in self._left if future.done() or future.order is not None]
        ended.sort(key=lambda future: float("inf") if future.order is None else future.order)
        return [future for future in ended if self._take(future)]

    def _take(self, future: Future[R]) -> bool:
        """Whether a future that told is one that nobody has been given yet."""
        if future not in self._left:
            return False
        del self._left[future]
        return True


async def _ended(future: Future[R]) -> Future[R]:
    """The future once it is done: its outcome is durable, and what ran it is about to say so."""
    if not future.done() and future.runner is not None:
        await future.runner.join(future)
    if future.turn is not None:
        turns, order, place = future.turn
        await turns.come(order, place)
    return future


def _elsewhere(future: Future[Any]) -> AbstractContextManager[None]:
    """While this thread waits and doesn't help, its place among the workers is another's."""
    return nullcontext() if future.runner is None else future.runner.lend_place()


def as_completed(futures: Iterable[Future[R]]) -> _AsCompleted[R]:
    """The futures in the order in which their outcomes were recorded, for `for` and for `async for`.

    A resumed run gets what is recorded in the recorded order, and then the rest as it ends.

    Raises:
        InvalidInput: one of them is no future.
    """
    return _AsCompleted(futures)
