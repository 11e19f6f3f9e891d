"""Branches of a resumed run hear of outcomes when they did, so that what they share goes to whom it went (G1, G2)."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from itertools import count

import pytest

from flowfn.hosts import in_turn

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


async def at_once() -> None:
    """Nothing is done with an item before its calls."""


async def on_a_thread() -> None:
    """Something is, that isn't a part of the record."""
    await asyncio.to_thread(sum, [])


@pytest.mark.parametrize("read", [at_once, on_a_thread])
@pytest.mark.parametrize("source", [by_a_queue, by_an_iterator, by_a_lock])
def test_what_workers_share_goes_to_whom_it_went(
    async_world: World, source: Callable[[Iterable[str]], Source], read: Callable[[], Awaitable[None]]
) -> None:
    """G2: a worker whose calls are recorded takes nothing that another one had taken."""
    bank = Bank(async_world)

    @async_world.entrypoint
    async def wf() -> list[str]:
        found, items = list[str](), source("abc")

        async def worker() -> None:
            async for item in items():
                await read()
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


def test_branches_go_on_where_a_call_was_taken_away(
    async_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G9: what was recorded after that is heard of without it, though another branch does something else."""
    monkeypatch.setattr(in_turn, "PATIENCE", 0.01)
    ran, edited = list[str](), False

    @async_world.task
    async def step(name: str) -> str:
        ran.append(name)
        return name

    async def branch(name: str) -> list[str]:
        return [await step(f"{name}{number}") for number in range(1 if edited and name == "b" else 3)]

    async def beat() -> None:
        while True:
            await asyncio.sleep(0.001)

    @async_world.entrypoint
    async def wf() -> list[list[str]]:
        beating = asyncio.create_task(beat())
        found = await asyncio.gather(*map(branch, "ab"))
        beating.cancel()
        if not edited:
            raise ConnectionError("lost")
        return found

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    edited = True
    ran.clear()
    assert (async_world.invoke(wf, None, thread_id="t"), ran) == ([["a0", "a1", "a2"], ["b0"]], [])
