"""G2: what callbacks of calls' futures call keeps its records: they run as calls end, and of recorded calls at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import wait
from itertools import count
from threading import Event
from typing import Any

import pytest

import flowfn
from checkpointers import MemorySaver
from flowfn import entrypoint, task
from tests.worlds import World, asked


class Countdown:
    """A workflow whose calls end the last first. As one ends, its callback does `then`, for the item of the call.

    `found` is what the last attempt came to, which is lost as long as `lost` says so.
    """

    def __init__(self, world: World, then: Callable[[Countdown], Any]) -> None:
        self.world, self.items, self.lost = world, ["a", "b", "c"], True
        numbers, turns = count(1), dict[str, Any]()

        @world.task
        async def work(item: str) -> str:
            world.ran.append(item)
            if item in turns:
                await self._set(turns[item])
            return item

        @world.task
        async def number() -> int:
            return next(numbers)

        @world.entrypoint
        async def wf() -> dict[str, Any]:
            told = {item: asyncio.Event() if world.is_async else Event() for item in self.items}
            turns.update(zip(self.items, [*told.values()][1:], strict=False))
            found: dict[str, Any] = {}

            def tell(call: Any, item: str) -> None:
                def note(_: Any) -> None:
                    found[item] = then(self)
                    told[item].set()

                call.add_done_callback(note)

            for item, call in [(item, work(item)) for item in self.items]:
                tell(call, item)
            for event in told.values():
                await self._set(event)
            self.found = {item: await self._value(each) for item, each in found.items()}
            if self.lost:
                raise ConnectionError("lost")
            return self.found

        self.wf, self.number = wf, number

    def lose(self) -> dict[str, Any]:
        """Have an attempt come to something that is lost, and the next one not; what it came to."""
        with pytest.raises(ConnectionError):
            self.world.invoke(self.wf, {}, thread_id="t")
        self.lost = False
        assert [*self.found] == ["c", "b", "a"]
        return self.found

    def again(self) -> dict[str, Any]:
        """What the next attempt comes to."""
        found: dict[str, Any] = self.world.invoke(self.wf, None, thread_id="t")
        return found

    async def _set(self, event: Any) -> None:
        if self.world.is_async:
            await event.wait()
        else:
            assert event.wait(timeout=10)

    async def _value(self, found: Any) -> Any:
        return await self.world.value(found) if isinstance(found, flowfn.Future) else found


def test_equal_calls_of_callbacks_keep_their_records(world: World) -> None:
    """The callback of each call gets what it got, though the calls end in another order."""
    job = Countdown(world, lambda job: job.number())
    first = job.lose()
    assert job.again() == first
    assert sorted(first.values()) == [1, 2, 3]


def test_values_of_callbacks_are_the_same_again(world: World) -> None:
    """So it does of values that are recorded once, which nothing but their line and that call tells apart."""
    job = Countdown(world, lambda job: flowfn.uuid4())
    first = job.lose()
    assert job.again() == first


def test_the_callback_of_another_call_is_another_one(world: World) -> None:
    """What the callback of a new call calls runs, and is in no doubt; the others keep their records."""
    job = Countdown(world, lambda job: job.number())
    first, job.items = job.lose(), ["a", "x", "c"]
    assert job.again() == {"a": first["a"], "x": 4, "c": first["c"]}
    assert sorted(world.ran) == ["a", "b", "c", "x"]


def test_a_callback_that_asks_keeps_nobody_from_hearing_of_the_call(world: World) -> None:
    """The question stops the run and not the worker that tells of the call, nor who waits for that; a callback after
    it is called."""
    told: list[Any] = []
    begun, go_on = Event(), Event()

    @task
    def work() -> int:
        begun.set()
        assert go_on.wait(10)
        return 1

    @world.entrypoint
    async def wf() -> int:
        call = work()
        call.add_done_callback(lambda _: told.append(flowfn.interrupt("sure?")))
        call.add_done_callback(lambda _: told.append("called"))
        if world.is_async:
            asyncio.get_running_loop().call_soon(go_on.set)
            return int(await call)
        assert begun.wait(10)
        go_on.set()
        wait([call])
        return call.result()

    assert asked(world.invoke(wf, {}, thread_id="t")) == ["sure?"]
    assert told == ["called"]
    assert world.resume(wf, "yes", "t") == 1
    assert told == ["called", "yes", "called"]


def test_a_report_names_the_call_whose_callback_it_is(memory_saver: MemorySaver) -> None:
    """What it says of a callback's call is the same in each process: it has the other call's id, and no address."""
    items = [1]

    @task
    def work(item: int) -> int:
        return item

    @task
    def note(text: str) -> str:
        return text

    @entrypoint(checkpointer=memory_saver)
    def wf() -> int:
        for item in items:
            call = work(item)
            call.result()
            call.add_done_callback(lambda _: note("done").result())
        raise ConnectionError("lost")

    thread = wf.thread("t")
    with pytest.raises(ConnectionError):
        thread.invoke()
    items[:] = [2]
    with pytest.raises(ConnectionError):
        thread.resume()
    told = {row.recorded.arguments for row in thread.report if row.recorded and row.recorded.name == "note"}
    assert [text.rpartition(" ")[0] for text in told] == ["text='done', (callback of)=<Future finished, call"]
