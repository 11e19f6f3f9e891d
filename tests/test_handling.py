"""Which error code handles that runs elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from threading import Event
from types import coroutine
from typing import Any

from flowfn.python.handling import Handler, handled_by, handler_here, part_from


def seen_of(handler: Handler) -> str:
    """What another thread sees of it."""
    with ThreadPoolExecutor(1) as pool:
        return repr(pool.submit(handled_by, handler).result())


def test_a_threads_is_seen_while_it_is_handled() -> None:
    """Of the innermost handler, and nothing after it, though the error is kept."""
    kept, seen = [], []
    try:
        raise KeyError(1)
    except KeyError as error:
        kept.append(error)
        seen.append(seen_of(handler_here()))
        with suppress(OSError):
            try:
                raise OSError(2)
            except OSError:
                seen.append(seen_of(handler_here()))
                raise
    seen.append(seen_of(handler_here()))
    assert seen == ["KeyError(1)", "OSError(2)", "None"]


async def _seen() -> str:
    return await asyncio.to_thread(handled_by_task, handler_here())


def handled_by_task(handler: Handler) -> str:
    """What a thread sees of a task that waits for it."""
    return repr(handled_by(handler))


@asynccontextmanager
async def _cleaned_up(seen: list[str]) -> AsyncIterator[None]:
    try:
        yield
    except KeyError:
        seen.append(await _seen())


async def _items() -> AsyncIterator[str]:
    try:
        raise KeyError("of a generator")
    except KeyError:
        yield await _seen()
    yield await _seen()


@coroutine
def _old_style() -> Iterator[Any]:
    try:
        raise KeyError("of old style")
    except KeyError:
        return (yield from _seen().__await__())


def test_a_tasks_is_seen_wherever_in_it_that_is() -> None:
    """In a coroutine that awaits another, in one that cleans up, and in generators of each kind; and nothing after."""
    seen: list[str] = []

    async def main() -> None:
        try:
            raise KeyError("of a coroutine")
        except KeyError as error:
            kept = error
            seen.append(await _seen())
        seen.append(await _seen())
        async with _cleaned_up(seen):
            raise KeyError("of a manager")
        seen.extend([each async for each in _items()])
        seen.append(await _old_style())  # type: ignore[misc]
        del kept

    asyncio.run(main())
    assert seen == [
        "KeyError('of a coroutine')",
        "None",
        "KeyError('of a manager')",
        "KeyError('of a generator')",
        "None",
        "KeyError('of old style')",
    ]


def test_a_tasks_is_seen_while_it_runs() -> None:
    """As where it blocks its loop for the thread that looks."""

    async def main() -> str:
        try:
            raise KeyError("blocks")
        except KeyError:
            return seen_of(handler_here())

    assert asyncio.run(main()) == "KeyError('blocks')"


def test_what_has_ended_handles_nothing() -> None:
    """And who asks doesn't keep it."""

    async def main() -> Handler:
        return handler_here()

    handler = asyncio.run(main())
    assert (seen_of(handler), seen_of(Handler(0))) == ("None", "None")


def test_a_thread_that_handles_nothing_is_told_from_one_that_does() -> None:
    """Each has its own."""
    begun, ends = Event(), Event()

    def waits() -> None:
        begun.set()
        ends.wait(60)

    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(handler_here).result()
        try:
            raise KeyError(1)
        except KeyError:
            pool.submit(waits)
            begun.wait(60)
            found = repr(handled_by(there)), seen_of(handler_here())
            ends.set()
    assert found == ("None", "KeyError(1)")


class Refuses(Exception):
    """Nobody may set an attribute of it."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise TypeError(name)


def test_an_error_is_parted_from_what_was_handled_around() -> None:
    """Wherever among its contexts that is; it keeps the others, and itself where it is that one."""
    around, own, error = KeyError("around"), OSError("own"), Refuses("outer")
    BaseException.__setattr__(error, "__context__", own)
    own.__context__ = around
    part_from(error, around)
    part_from(error, None)
    part_from(own, own)
    assert (error.__context__, own.__context__) == (own, None)
