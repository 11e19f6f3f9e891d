"""Runs that are called together on one event loop begin a few at a time, and so do the calls of one; who waits for
anything but the database keeps nobody from beginning."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from checkpointers import MemorySaver, SqliteSaver
from flowfn import entrypoint, task
from flowfn.hosts.admission import ELSEWHERE, INLINE
from flowfn.hosts.loop import FEW
from flowfn.ports import Saver

from ..worlds import World


@task
async def one() -> int:
    """The least that is committed."""
    return 1


def most(saver: Saver) -> int:
    """How many runs of a saver may wait for it before no other begins."""
    return INLINE if saver.inline else ELSEWHERE


def test_of_many_that_are_gathered_few_are_under_way(async_world: World) -> None:
    """Those that were called first end before the last begin, and begin in the order of their calls."""
    begun: list[int] = []
    alive = peak = 0

    @entrypoint(checkpointer=async_world.saver)
    async def three(number: int) -> int:
        nonlocal alive, peak
        begun.append(number)
        alive += 1
        peak = max(peak, alive)
        found = [await one() for _ in range(3)]
        alive -= 1
        return number + sum(found)

    limit = most(async_world.saver)

    async def together() -> list[int]:
        return await asyncio.gather(*(three.ainvoke(number) for number in range(5 * limit)))

    assert asyncio.run(together()) == [number + 3 for number in range(5 * limit)]
    assert peak < 2 * limit
    assert begun[0] == 0
    assert sorted(begun[: limit // 2]) == list(range(limit // 2))


def test_runs_that_wait_for_each_other_all_begin(async_world: World) -> None:
    """However many: the last one lets all others go on."""
    count, all_here, here = 5 * most(async_world.saver), asyncio.Event(), 0

    @entrypoint(checkpointer=async_world.saver)
    async def meeting(number: int) -> int:
        nonlocal here
        await one()
        here += 1
        if here == count:
            all_here.set()
        await all_here.wait()
        return number

    async def together() -> list[int]:
        return await asyncio.gather(*(meeting.ainvoke(number) for number in range(count)))

    assert asyncio.run(together()) == list(range(count))


def test_a_run_begins_beside_those_that_do_nothing_but_commit(async_world: World) -> None:
    """Were they to keep it out, they would go on for ever."""
    limit, came = most(async_world.saver) + 8, False

    @entrypoint(checkpointer=async_world.saver)
    async def busy(number: int) -> int:
        while not came:
            await one()
        return number

    @entrypoint(checkpointer=async_world.saver)
    async def newcomer(number: int) -> int:
        nonlocal came
        came = True
        return number

    async def together() -> list[int]:
        crowd = [asyncio.create_task(busy.ainvoke(number)) for number in range(limit)]
        await asyncio.sleep(0)
        return [await newcomer.ainvoke(limit), *await asyncio.gather(*crowd)]

    assert asyncio.run(together()) == [limit, *range(limit)]


def test_who_gives_up_before_its_turn_leaves_nothing(async_world: World) -> None:
    """It took no lease and left no thread, and the others have their turn."""
    limit = most(async_world.saver)

    @entrypoint(checkpointer=async_world.saver)
    async def wf(number: int) -> int:
        return number + await one()

    async def together() -> list[Any]:
        runs = [asyncio.create_task(wf.ainvoke(number, thread_id=str(number))) for number in range(3 * limit)]
        await asyncio.sleep(0)
        for run in runs[2 * limit : -1]:
            run.cancel()
        return await asyncio.gather(*runs, return_exceptions=True)

    ends = asyncio.run(together())
    assert ends[: 2 * limit] == [number + 1 for number in range(2 * limit)]
    assert {type(end) for end in ends[2 * limit : -1]} == {asyncio.CancelledError}
    assert ends[-1] == 3 * limit
    assert len(list(async_world.saver.threads())) == 2 * limit + 1


def test_streams_and_direct_calls_wait_for_their_turn_too(async_world: World) -> None:
    """They are runs like others."""
    limit, alive, peak = most(async_world.saver), 0, 0

    @entrypoint(checkpointer=async_world.saver)
    async def wf(number: int) -> int:
        nonlocal alive, peak
        alive += 1
        peak = max(peak, alive)
        found = await one()
        alive -= 1
        return number + found

    async def stream(number: int) -> int:
        chunks = [chunk async for chunk in wf.astream(number, stream_mode="values")]
        assert isinstance(chunks[-1], int)
        return chunks[-1]

    async def together() -> list[int]:
        calls = [wf(number) if number % 2 else stream(number) for number in range(5 * limit)]
        return await asyncio.gather(*calls)

    assert asyncio.run(together()) == [number + 1 for number in range(5 * limit)]
    assert peak < 5 * limit  # not all at once; how few depends on how fast the database is


@pytest.mark.parametrize("inside", ["task", "body"])
def test_a_run_inside_another_begins_at_once(async_world: World, inside: str) -> None:
    """Whoever calls it waits for it, however many others wait for the database."""
    limit = most(async_world.saver)

    @entrypoint
    async def inner(number: int) -> int:
        return number + await one()

    @task
    async def calls(number: int) -> int:
        return await inner(number)

    @entrypoint(checkpointer=async_world.saver)
    async def outer(number: int) -> int:
        return await (calls(number) if inside == "task" else inner(number))

    async def together() -> list[int]:
        return await asyncio.gather(*(outer.ainvoke(number) for number in range(3 * limit)))

    assert asyncio.run(together()) == [number + 1 for number in range(3 * limit)]


def test_an_event_loop_that_has_ended_is_forgotten(sqlite_saver: SqliteSaver) -> None:
    """Also where runs of it were waiting for their turn."""
    limit = most(sqlite_saver)

    @entrypoint(checkpointer=sqlite_saver)
    async def wf(number: int) -> int:
        return number + await one()

    async def together() -> weakref.ref[asyncio.AbstractEventLoop]:
        runs = [asyncio.create_task(wf.ainvoke(number)) for number in range(2 * limit)]
        await runs[0]
        return weakref.ref(asyncio.get_running_loop())

    loop = asyncio.run(together())
    gc.collect()
    assert loop() is None


def test_runs_of_one_saver_do_not_wait_for_another_savers(async_world: World) -> None:
    """A database that gives no answers keeps out those alone that need it."""

    class Stuck(MemorySaver):
        inline = False

        def claim(self, thread: str, *, force: bool = False) -> Any:
            assert answers.wait(60)
            return super().claim(thread, force=force)

    answers = threading.Event()

    @entrypoint(checkpointer=Stuck())
    async def stuck(number: int) -> int:
        return number

    @entrypoint(checkpointer=async_world.saver)
    async def wf(number: int) -> int:
        return number + await one()

    async def together() -> tuple[int, list[int]]:
        stuck_ones = asyncio.gather(*(stuck.ainvoke(number) for number in range(ELSEWHERE + 2)))
        for _ in range(10):
            await asyncio.sleep(0)
        found = await wf.ainvoke(1)
        answers.set()
        return found, await stuck_ones

    assert asyncio.run(together()) == (2, list(range(ELSEWHERE + 2)))


def test_a_saver_need_not_be_hashable() -> None:
    """Somebody's own may be a dataclass with slots: nothing but the methods of a saver is asked of it."""

    class Unhashable(MemorySaver):
        __hash__ = None  # type: ignore[assignment]

    @entrypoint(checkpointer=Unhashable())
    async def wf(number: int) -> int:
        return number + await one()

    async def together() -> list[int]:
        return await asyncio.gather(*(wf.ainvoke(number) for number in range(2 * INLINE)))

    assert asyncio.run(together()) == [number + 1 for number in range(2 * INLINE)]


class Watched:
    """Counts how many are between their beginning and their end, and notes in which order they begin."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.alive = self.peak = 0

    def begins(self, number: int) -> None:
        self.begun.append(number)
        self.alive += 1
        self.peak = max(self.peak, self.alive)

    def ends(self) -> None:
        self.alive -= 1


async def gathered(calls: list[Awaitable[int]]) -> list[int]:
    """Each awaited in an asyncio task that `gather` makes."""
    return await asyncio.gather(*calls)


async def one_by_one(calls: list[Awaitable[int]]) -> list[int]:
    """Each awaited when those before it have ended, as it runs in a task of ours."""
    return [await call for call in calls]


@pytest.mark.parametrize("await_all", [gathered, one_by_one])
def test_of_many_calls_few_are_under_way(
    async_world: World, await_all: Callable[[list[Awaitable[int]]], Awaitable[list[int]]]
) -> None:
    """Those that were made first end before the last begin, and begin in the order in which they were made."""
    limit, watched = most(async_world.saver), Watched()

    @task
    async def step(number: int) -> int:
        watched.begins(number)
        await one()
        watched.ends()
        return number

    @entrypoint(checkpointer=async_world.saver)
    async def wf(count: int) -> list[int]:
        return await await_all([step(number) for number in range(count)])

    count = 5 * limit + FEW
    assert asyncio.run(wf.ainvoke(count)) == list(range(count))
    assert watched.peak < 3 * limit + FEW
    assert [number for number in watched.begun if number] == list(
        range(1, count)
    )  # the first has its source kept


def test_calls_that_wait_for_each_other_all_begin(async_world: World) -> None:
    """However many: the last one lets all others go on."""
    count, here, all_here = 5 * most(async_world.saver) + FEW, 0, asyncio.Event()

    @task
    async def meets(number: int) -> int:
        nonlocal here
        here += 1
        if here == count:
            all_here.set()
        await all_here.wait()
        return number

    @entrypoint(checkpointer=async_world.saver)
    async def wf(count: int) -> list[int]:
        return await asyncio.gather(*(meets(number) for number in range(count)))

    assert asyncio.run(wf.ainvoke(count)) == list(range(count))


def test_what_is_called_deeper_goes_first(async_world: World) -> None:
    """So that many calls that each make several of their own aren't all half done at once."""
    limit, watched = most(async_world.saver), Watched()

    @task
    async def outer(number: int) -> int:
        watched.begins(number)
        found = [await one() for _ in range(5)]
        watched.ends()
        return number + sum(found)

    @entrypoint(checkpointer=async_world.saver)
    async def wf(count: int) -> list[int]:
        return await asyncio.gather(*(outer(number) for number in range(count)))

    count = 6 * limit + FEW
    assert asyncio.run(wf.ainvoke(count)) == [number + 5 for number in range(count)]
    assert watched.peak < 3 * limit + FEW


def test_a_call_that_is_cancelled_before_its_turn_never_begins(async_world: World) -> None:
    """It is cancelled as one that runs is, nothing is recorded of it, and the others have their turn."""
    limit, watched = most(async_world.saver), Watched()
    count = 4 * limit + FEW

    @task
    async def step(number: int) -> int:
        watched.begins(number)
        return number

    @entrypoint(checkpointer=async_world.saver)
    async def wf(count: int) -> list[Any]:
        calls = [step(number) for number in range(count)]
        together = asyncio.gather(*calls, return_exceptions=True)
        await asyncio.sleep(0)
        for call in calls[count // 2 : -1]:
            assert call.cancel()
        return [each if isinstance(each, int) else type(each).__name__ for each in await together]

    ended = [*range(count // 2), *["CancelledError"] * (count - count // 2 - 1), count - 1]
    assert asyncio.run(wf.ainvoke(count)) == ended
    assert sorted(watched.begun) == [*range(count // 2), count - 1]


def test_one_that_fails_under_a_task_group_keeps_the_rest_from_beginning(async_world: World) -> None:
    """The group cancels those that wait for their turn, and the run ends with the error."""
    begun: list[int] = []

    @task
    async def step(number: int) -> int:
        begun.append(number)
        if number == 1:
            raise ValueError("no such item")
        return number

    async def each(number: int) -> int:
        return await step(number)

    @entrypoint(checkpointer=async_world.saver)
    async def wf(count: int) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(count):
                group.create_task(each(number))

    count = 6 * most(async_world.saver) + FEW
    with pytest.raises(ExceptionGroup):
        asyncio.run(wf.ainvoke(count))
    assert len(begun) < count
