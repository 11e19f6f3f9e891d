"""Branches of a resumed run hear of outcomes when they did, so that what they share goes to whom it went (G1, G2)."""

import asyncio
import math
import queue
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from itertools import count
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import entrypoint, task
from flowfn.context import current_frame
from flowfn.hosts import in_turn, patience, shared

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


def test_a_branch_that_is_yet_to_begin_takes_its_item_first(async_world: World) -> None:
    """G2: an outcome never came within the step that asked for it, so that the others had begun. Nothing is edited: the
    first worker took both items, and one was charged under the other's number."""
    numbers, charged, lost = count(1), list[str](), True

    @async_world.task
    async def number() -> int:
        return next(numbers)

    @async_world.task
    async def charge(item: str, number: int) -> str:
        charged.append(f"{item}{number}")
        return charged[-1]

    @async_world.entrypoint
    async def wf() -> list[str]:
        items, ready, found = iter("abcd"), asyncio.Event(), list[str]()

        async def worker() -> None:
            for item in items:
                if item == "b":
                    await ready.wait()
                found.append(await charge(item, await number()))
                ready.set()
                if lost and item == "c":
                    raise ConnectionError("lost")

        await asyncio.gather(worker(), worker())
        return sorted(found)

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    lost = False
    assert async_world.invoke(wf, None, thread_id="t") == sorted(charged)
    assert sorted(each[0] for each in charged) == [*"abcd"]


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


class Threads:
    """Workers on threads, each with an item of its own first, and then with those of a queue. The first one makes the
    first call, and ends last."""

    def __init__(self) -> None:
        self.ran, self.numbers = list[str](), count(1)
        self.begin, self.rest = threading.Event(), threading.Event()

        @task
        def number() -> int:
            return next(self.numbers)

        @task
        def account(name: str, number: int) -> str:
            self.ran.append(name)
            if name == "a":
                self.rest.wait(10)
            return f"{name}{number}"

        self.number, self.account = number, account

    def work(self, item: str, items: "queue.SimpleQueue[str]") -> list[str]:
        found = list[str]()
        if item == "b":
            self.begin.wait(10)
        with suppress(queue.Empty):
            while True:
                number = self.number()
                self.begin.set()
                found.append(self.account(item, number.result()).result())
                item = items.get_nowait()
        self.rest.set()
        return found


async def on_threads(work: Callable[[str], list[str]]) -> list[list[str]]:
    return await asyncio.gather(*(asyncio.to_thread(work, item) for item in "ab"))


async def blocking_the_loop(work: Callable[[str], list[str]]) -> list[list[str]]:
    with ThreadPoolExecutor() as pool:
        begun = [pool.submit(copy_context().run, work, item) for item in "ab"]
    return [each.result() for each in begun]


def test_what_threads_share_goes_to_whom_it_went(async_world: World) -> None:
    """G2: a thread of a branch's hears of its outcomes when it did, and takes nothing that another one had taken."""
    threads, lost = Threads(), True

    @async_world.entrypoint
    async def wf() -> list[list[str]]:
        items: queue.SimpleQueue[str] = queue.SimpleQueue()
        items.put("c")
        found = await on_threads(lambda item: threads.work(item, items))
        if lost:
            raise ConnectionError(*map(len, found))
        return found

    with pytest.raises(ConnectionError) as raised:
        async_world.invoke(wf, {}, thread_id="t")
    assert raised.value.args == (1, 2)
    lost = False
    threads.ran.clear()
    threads.begin.clear()
    found = async_world.invoke(wf, None, thread_id="t")
    assert ([[each[0] for each in one] for one in found], threads.ran) == ([["a"], ["b", "c"]], [])


def test_a_thread_waits_for_one_that_is_about_to_ask(async_world: World) -> None:
    """G2: an outcome isn't heard of before an earlier one that another thread was handed, and has yet to look at."""
    heard, lost, go = list[str](), True, queue.SimpleQueue[None]()

    @task
    def step(name: str) -> None:
        if name == "second":
            go.get(timeout=10)

    def first() -> None:
        frame = current_frame.get()
        assert frame is not None
        future = step("first")
        if not lost:
            go.put(None)
            while not (in_turn.some_wait_for_turns(frame) or heard):
                pass
        future.result()
        heard.append("first")
        go.put(None)

    def second() -> None:
        if not lost:
            go.get(timeout=10)
        step("second").result()
        heard.append("second")

    @async_world.entrypoint
    async def wf() -> None:
        await asyncio.gather(*map(asyncio.to_thread, (first, second)))
        await step("third")
        if lost:
            raise ConnectionError("lost")

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    lost = False
    heard.clear()
    async_world.invoke(wf, None, thread_id="t")
    assert heard == ["first", "second"]


def test_threads_go_on_where_the_loop_waits_for_them(
    async_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Section 4.1: code that blocks its loop until its threads have ended is resumed; these can't wait for the loop."""
    monkeypatch.setattr(in_turn, "PATIENCE", 0.01)
    threads, lost = Threads(), True

    @async_world.entrypoint
    async def wf() -> int:
        await asyncio.create_task(asyncio.sleep(0))  # there are branches
        items: queue.SimpleQueue[str] = queue.SimpleQueue()
        found = await blocking_the_loop(lambda item: threads.work(item, items))
        if lost:
            raise ConnectionError("lost")
        return len(found)

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    lost = False
    assert async_world.invoke(wf, None, thread_id="t") == 2


def test_a_thread_goes_on_whose_loop_has_ended(
    memory_saver: MemorySaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G1: a thread that waits for its turn as its run fails, and the loop with it, waits no longer."""
    monkeypatch.setattr(in_turn, "PATIENCE", 0.5)
    lost, pool, ended = True, ThreadPoolExecutor(), list[str]()

    @task
    def step(name: str) -> str:
        return name

    def work() -> None:
        step("first").result()
        step("second").result()
        ended.append("second")

    @entrypoint(checkpointer=memory_saver)
    async def wf() -> None:
        frame = current_frame.get()
        assert frame is not None
        await asyncio.create_task(asyncio.sleep(0))  # there are branches
        if lost:
            await step("missing")
        working = asyncio.get_running_loop().run_in_executor(pool, copy_context().run, work)
        while not (lost or in_turn.some_wait_for_turns(frame)):
            await asyncio.sleep(0)
        if lost:
            await working
        raise ConnectionError("lost")

    for again in (False, True):
        own = asyncio.new_event_loop()
        lost = not again
        with pytest.raises(ConnectionError):
            own.run_until_complete(wf.ainvoke(None if again else {}, thread_id="t"))
        own.close()
    pool.shutdown()
    assert ended == ["second"]


def test_a_call_is_placed_before_what_waits_for_another_one(
    async_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G2: a call that came upon the record of a branch is placed, where that branch waits to hear of an outcome, and
    this for a call that is made once the first has an outcome."""
    monkeypatch.setattr(in_turn, "PATIENCE", math.inf)
    monkeypatch.setattr(patience, "PATIENCE", math.inf)
    numbers, lost = count(1), True

    @async_world.task
    async def number() -> int:
        return next(numbers)

    @async_world.task
    async def step(name: str) -> str:
        return name

    @async_world.entrypoint
    async def wf() -> list[Any]:
        turn, never = asyncio.Event(), asyncio.Event()

        async def first() -> int:
            await step("first")
            return int(await number())

        async def second() -> int:
            if lost:
                await never.wait()
            found = int(await number())
            turn.set()
            return found

        async def third() -> None:
            if not lost:
                await turn.wait()
            await step("third")

        waiting = asyncio.create_task(second())
        found = await asyncio.gather(third(), first())
        if lost:
            waiting.cancel()
            raise ConnectionError("lost")
        return [found[1], await waiting]

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    lost = False
    assert async_world.invoke(wf, None, thread_id="t") == [1, 2]


def test_a_branch_hears_after_those_whose_outcomes_came_first(
    async_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G2: the loop doesn't stand still for one branch's thread while another branch has yet to hear: they would go on
    in an order that isn't recorded."""
    heard, begin, ended = list[str](), threading.Event(), threading.Event()

    @task
    def slow() -> None:
        begin.wait(10)

    @task
    def quick() -> None:
        pass

    @async_world.entrypoint
    async def wf() -> list[str]:
        running = slow()

        async def first() -> None:
            await running
            heard.append("slow")

        async def second() -> None:
            running.add_done_callback(lambda _: ended.set())  # called after who waits was told
            begin.set()
            ended.wait(10)
            monkeypatch.setattr(shared, "MOMENT", 10.0)
            await quick()
            heard.append("quick")

        await asyncio.gather(first(), second())
        return heard

    assert async_world.invoke(wf, {}, thread_id="t") == ["slow", "quick"]
