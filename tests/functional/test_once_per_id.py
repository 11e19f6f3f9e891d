"""`thread(id).once(…)`: one id, one run, one result, however often and from wherever it is asked for (G1, G4)."""

from __future__ import annotations

import asyncio
import inspect
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.background import BackgroundTask

from flowfn import Interrupted, InvalidInput, NoCheckpointer, entrypoint, interrupt, task

from ..worlds import World


def doubling(world: World) -> Any:
    """A workflow of one task, that notes each time it runs; it fails beyond the task while `world.ran` has one 5."""

    @world.task
    async def double(x: int) -> int:
        world.ran.append(x)
        return 2 * x

    @world.entrypoint
    async def wf(x: int) -> int:
        found: int = await world.value(double(x))
        if world.ran == [5]:
            world.ran.append("failed")
            raise ConnectionError("lost")
        return found

    return wf


def test_what_has_run_gives_its_result(world: World) -> None:
    """G1: a request that comes again, after it was served, is not served again."""
    thread = doubling(world).thread("order-1")
    assert [world.call(thread.once, 2) for _ in range(3)] == [4, 4, 4]
    assert world.ran == [2]


@pytest.mark.parametrize("cancelled", [False, True])
def test_what_has_stopped_goes_on(world: World, cancelled: bool) -> None:
    """G1: a run that failed, also one that was cancelled then, goes on without running its finished task again."""
    thread = doubling(world).thread("order-1")
    with pytest.raises(ConnectionError):
        world.call(thread.once, 5)
    if cancelled:
        thread.cancel()
    assert world.call(thread.once, 5) == 10
    assert world.ran == [5, "failed"]


def test_a_question_is_met_again_until_it_is_answered(world: World) -> None:
    """It raises `Interrupted` while its run waits, and gives the result once the answer is there."""

    @world.entrypoint
    async def wf(x: int) -> Any:
        return interrupt(x)

    thread = wf.thread("order-1")
    for _ in range(2):
        with pytest.raises(Interrupted):
            world.call(thread.once, 1)
    world.do(thread, "resume", "yes")
    assert world.call(thread.once, 1) == "yes"


def test_what_a_final_gives_is_the_result(world: World) -> None:
    """Of what it returns and what it saves, the caller gets the first, each time."""

    @world.entrypoint
    async def wf(x: int, *, previous: Any = None) -> Any:
        return entrypoint.final(value=(x, previous), save="saved")

    thread = wf.thread("order-1")
    assert [world.call(thread.once, 1) for _ in range(2)] == [(1, None), (1, None)]


def test_another_call_is_refused(world: World) -> None:
    """One id has one call's result: other arguments are a mistake of whoever made the id, and nothing runs."""
    thread = doubling(world).thread("order-1")
    world.call(thread.once, 2)
    with pytest.raises(
        InvalidInput, match=r"thread 'order-1' has a run of another call of .*wf, of other arguments"
    ):
        world.call(thread.once, 3)
    assert world.call(thread, 3) == 6
    assert world.ran == [2, 3]


def test_who_comes_meanwhile_gets_the_first_ones_result(sync_world: World) -> None:
    """G4: of eight threads one runs it, and the others wait for it."""
    thread = doubling(sync_world).thread("order-1")
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(thread.once, [2] * 8)) == [4] * 8
    assert sync_world.ran == [2]


async def test_who_comes_meanwhile_on_the_loop_gets_it_too(tmp_path: Any) -> None:
    """G4: of five requests of one event loop one runs it."""
    ran = []

    @task
    async def double(x: int) -> int:
        ran.append(x)
        await asyncio.sleep(0)
        return 2 * x

    @entrypoint(checkpointer=str(tmp_path / "runs.db"))
    async def wf(x: int) -> int:
        return await double(x)

    assert await asyncio.gather(*(wf.thread("order-1").once(2) for _ in range(5))) == [4] * 5
    assert ran == [2]


def test_what_keeps_no_past_cannot_run_once() -> None:
    """Without a checkpointer it would run each time, and nobody would notice: it is refused before anything runs."""
    ran = []

    @entrypoint
    def wf(x: int) -> int:
        ran.append(x)
        return x

    with pytest.raises(NoCheckpointer, match=r"runs anew whenever it is called.*checkpointer='runs.db'"):
        wf.thread("order-1").once(1)
    assert ran == []


@pytest.mark.parametrize("call", [lambda thread: thread, lambda thread: thread.once], ids=["thread", "once"])
def test_frameworks_see_that_it_is_to_be_awaited(world: World, call: Any) -> None:
    """Such as a web framework's background tasks: those of an async workflow are coroutine functions, as it is."""
    wf = doubling(world)
    called = call(wf.thread("order-1"))
    assert world.is_async == any(inspect.iscoroutinefunction(each) for each in (called, called.__call__))


async def test_a_background_task_of_a_web_framework_is_awaited(tmp_path: Any) -> None:
    """G1: what was begun beside a request runs."""
    ran = []

    @entrypoint(checkpointer=str(tmp_path / "runs.db"))
    async def wf(x: int) -> None:
        ran.append(x)

    await BackgroundTask(wf.thread("order-1").once, 1)()
    await BackgroundTask(wf.thread("order-2"), 2)()
    assert ran == [1, 2]


async def test_nor_can_an_async_one_that_keeps_none() -> None:
    """The same, of one that is awaited."""

    @entrypoint
    async def wf(x: int) -> int:
        return x

    with pytest.raises(NoCheckpointer):
        await wf.thread("order-1").once(1)
