"""Branches of a resumed run hear of outcomes when they did, so that what they share goes to whom it went (G1, G2)."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from itertools import count

import pytest

from ..worlds import World

Source = Callable[[], AsyncIterator[str]]
"""What a worker takes its items from, as long as there are any."""


def by_a_queue(items: Iterable[str]) -> Source:
    queue: asyncio.Queue[str] = asyncio.Queue()
    for item in items:
        queue.put_nowait(item)

    async def source() -> AsyncIterator[str]:
        while not queue.empty():
            yield await queue.get()

    return source


def by_an_iterator(items: Iterable[str]) -> Source:
    shared = iter(items)

    async def source() -> AsyncIterator[str]:
        for item in shared:
            yield item

    return source


def by_a_lock(items: Iterable[str]) -> Source:
    lock, left = asyncio.Lock(), deque(items)

    async def source() -> AsyncIterator[str]:
        while left:
            async with lock:
                item = left.popleft()
            yield item

    return source


class Bank:
    """Opens an account for each item under a number of its own, of which nothing in the call says whose it is."""

    def __init__(self, world: World) -> None:
        self.ran, self.numbers, self.lost = list[str](), count(1), True
        self.busy, self.rest = asyncio.Barrier(2), asyncio.Event()

        @world.task
        async def number() -> int:
            found = next(self.numbers)
            if found <= 2:  # both workers have taken an item before either goes on
                await self.busy.wait()
            return found

        @world.task
        async def account(name: str, number: int) -> str:
            self.ran.append(f"{name}{number}")
            if name == "b" and self.lost:
                await self.rest.wait()
                raise ConnectionError("lost")
            if name == "c":
                self.rest.set()
            return f"{name}{number}"

        self.number, self.account = number, account


@pytest.mark.parametrize("source", [by_a_queue, by_an_iterator, by_a_lock])
def test_what_workers_share_goes_to_whom_it_went(
    async_world: World, source: Callable[[Iterable[str]], Source]
) -> None:
    """A worker whose calls are recorded takes nothing that another one had taken."""
    bank = Bank(async_world)

    @async_world.entrypoint
    async def wf() -> list[str]:
        found, items = list[str](), source("abc")

        async def worker() -> None:
            async for item in items():
                found.append(await bank.account(item, await bank.number()))

        await asyncio.gather(worker(), worker())
        return sorted(found)

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    before = sorted(bank.ran)
    bank.lost = False
    bank.ran.clear()
    assert async_world.invoke(wf, None, thread_id="t") == before
    assert bank.ran == [each for each in before if each.startswith("b")]
