"""A future is a real `concurrent.futures.Future`, an awaitable, and can be cancelled (section 3)."""

import concurrent.futures
import subprocess
import sys
import threading
from typing import Any
from unittest.mock import ANY

import pytest

from ..worlds import World


def test_our_futures_serve_concurrent_futures(sync_world: World) -> None:
    """A Future is a real `concurrent.futures.Future`: `wait`, `as_completed` and callbacks take it."""
    world = sync_world

    @world.task
    def double(x: int) -> int:
        return 2 * x

    @world.entrypoint
    def wf() -> list[list[int]]:
        told: list[int] = []
        done, left = concurrent.futures.wait([double(1), double(2)])
        lone, _ = concurrent.futures.wait([double(5)])
        yielded = [future.result() for future in concurrent.futures.as_completed([double(3), double(4)])]
        watched = double(6)
        watched.add_done_callback(lambda future: told.append(future.result()))
        watched.result()
        return [
            sorted(f.result() for f in done),
            sorted(f.result() for f in lone),
            sorted(yielded),
            told,
            list(left),
        ]

    assert world.invoke(wf) == [[2, 4], [10], [6, 8], [12], []]


def test_a_future_that_is_taken_for_its_value_is_told_of(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """A test, or a text, of a future whose result nobody looks at is a forgotten `.result()`: the log says where."""

    @world.task
    async def is_allowed(x: int) -> bool:
        return x > 1

    @world.entrypoint
    async def forgetful() -> str:
        return f"granted {len(f'{is_allowed(1)}') > 1}" if is_allowed(0) else "denied"

    @world.entrypoint
    async def careful(wanted: bool) -> bool | None:
        future = is_allowed(2) if wanted else None
        if future:
            print(future, f"{future!r}", {future: 1}[future])
            return await world.value(future)
        return None

    assert world.invoke(careful, True) is True
    assert caplog.messages == []
    assert world.invoke(forgetful) == "granted True"
    (message,) = caplog.messages
    assert message.startswith(f"{__file__}:")
    assert message.endswith("Write .result() or await")


FORGETFUL = """
from flowfn import entrypoint, task

@task
def is_allowed(x):
    return x > 1

@entrypoint
def wf(x):
    return "granted" if is_allowed(x) else "denied"

print(wf(0))
"""


def test_a_program_without_logging_is_told_on_stderr() -> None:
    """Else whoever forgets `.result()` in a condition, and has set up no logging, hears nothing of it."""
    done = subprocess.run(
        [sys.executable, "-c", FORGETFUL], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "granted\n"
    assert done.stderr.startswith("<string>:")
    assert done.stderr.endswith("Write .result() or await\n")


def test_so_is_one_that_is_compared_with_a_value(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """It equals nothing but itself, so that `status(job) != "ready"` would hold for ever: the log says where."""

    @world.task
    async def status(x: int) -> str:
        return "ready"

    @world.entrypoint
    async def forgetful() -> bool:
        return status(1) != "ready"

    @world.entrypoint
    async def careful() -> list[Any]:
        one, other = status(1), status(2)
        found = [one == one, one == other, other in [one, other], one == ANY, {one: 1, other: 2}[other]]
        return [*found, await world.value(one) == "ready"]

    assert world.invoke(careful) == [True, False, True, True, 2, True]
    assert caplog.messages == []
    assert world.invoke(forgetful) is True
    (message,) = caplog.messages
    assert message.startswith(f"{__file__}:")
    assert message.endswith("Write .result() or await")


def test_our_futures_serve_asyncio(async_world: World) -> None:
    """Futures go into `asyncio.gather`, `asyncio.wait_for` and task groups as any awaitable does."""
    import asyncio

    world = async_world

    @world.task
    async def double(x: int) -> int:
        return 2 * x

    async def branch(x: int) -> int:
        return await double(x) + await double(x + 1)

    @world.entrypoint
    async def wf() -> list[int]:
        async with asyncio.TaskGroup() as group:
            grouped = group.create_task(branch(1))
        return [
            *await asyncio.gather(double(1), double(2)),
            await asyncio.wait_for(double(3), 10),
            grouped.result(),
        ]

    assert world.invoke(wf) == [2, 4, 6, 6]


def test_a_call_that_nobody_started_can_be_cancelled(sync_world: World) -> None:
    """`cancel()` of a call that has not started keeps it from running; its result raises CancelledError."""
    world, go = sync_world, threading.Event()

    @world.task
    def hold() -> None:
        go.wait(10)

    @world.task
    def note() -> None:
        world.ran.append("note")

    @world.entrypoint
    def wf() -> list[bool]:
        held, noted = hold(), note()
        cancelled = noted.cancel()
        go.set()
        held.result()
        with pytest.raises(concurrent.futures.CancelledError):
            noted.result()
        return [cancelled, noted.cancelled(), noted.done()]

    assert world.invoke(wf, config={"max_concurrency": 1}) == [True, True, True]
    assert world.ran == []


def test_an_async_task_can_be_cancelled_while_it_runs(async_world: World) -> None:
    """Cancelling a running async task unwinds it; awaiting it raises CancelledError, and the run goes on."""
    import asyncio

    world = async_world

    @world.task
    async def hang() -> None:
        world.ran.append("started")
        try:
            await asyncio.Event().wait()
        finally:
            world.ran.append("unwound")

    @world.entrypoint
    async def wf() -> str:
        future = hang()
        while not world.ran:
            await asyncio.sleep(0)
        future.cancel()
        try:
            await future
        except asyncio.CancelledError:
            return "cancelled"
        return "not cancelled"

    assert world.invoke(wf) == "cancelled"
    assert world.ran == ["started", "unwound"]


def test_awaiting_what_was_cancelled_before_it_began_is_awaiting_what_was_cancelled(
    async_world: World,
) -> None:
    """It raises asyncio's CancelledError, as awaiting an asyncio task does; `TaskGroup` takes it for no failure."""
    import asyncio

    world = async_world

    @world.task
    async def note(x: int) -> int:
        world.ran.append(x)
        return x

    async def of(future: Any) -> Any:
        return await future

    @world.entrypoint
    async def wf() -> list[Any]:
        given_up = note(1)
        given_up.cancel()
        async with asyncio.TaskGroup() as group:
            group.create_task(of(given_up))
            other = group.create_task(of(note(2)))
        try:
            await given_up
        except asyncio.CancelledError:
            return [other.result(), given_up.cancelled(), await note(3)]
        return []

    assert world.invoke(wf) == [2, True, 3]
    assert world.ran == [2, 3]


@pytest.mark.parametrize("awaited", ["by a gather", "by itself"])
def test_what_runs_where_it_is_awaited_can_be_cancelled_alone(async_world: World, awaited: str) -> None:
    """Another branch cancels the future: its job is unwound, and the code that awaits it isn't cancelled."""
    import asyncio

    world = async_world

    @world.task
    async def hang(x: int) -> int:
        if x:
            world.ran.append("started")
            await asyncio.Event().wait()
        return x

    @world.entrypoint
    async def wf() -> tuple[str, int]:
        future = hang(1)

        async def cancel() -> bool:
            while not world.ran:
                await asyncio.sleep(0)
            return future.cancel()

        beside = asyncio.create_task(cancel())
        try:
            await (asyncio.gather(hang(0), future) if awaited == "by a gather" else future)
        except asyncio.CancelledError:
            assert await beside
        me = asyncio.current_task()
        assert me is not None
        return "cancelled" if future.cancelled() else "not cancelled", me.cancelling()

    assert world.invoke(wf) == ("cancelled", 0)


def test_gathered_calls_need_no_task_of_their_own(async_world: World) -> None:
    """`asyncio.gather` makes an asyncio task of each future, and the call runs in it."""
    import asyncio

    world, alive = async_world, []

    @world.task
    async def count() -> None:
        await asyncio.sleep(0)
        alive.append(len(asyncio.all_tasks()))

    @world.entrypoint
    async def wf() -> int:
        before = len(asyncio.all_tasks())
        await asyncio.gather(*[count() for _ in range(10)])
        return before

    before = world.invoke(wf)
    assert max(alive) == before + 10


def test_a_future_tells_that_it_is_done(world: World) -> None:
    """`done()` is true and `exception()` is None once the result has been seen."""

    @world.task
    async def double(x: int) -> int:
        return 2 * x

    @world.entrypoint
    async def wf(x: int) -> tuple[bool, bool]:
        future = double(x)
        await world.value(future)
        return future.done(), future.exception() is None

    assert world.invoke(wf, 4) == (True, True)


def test_a_result_can_be_looked_at_again(world: World) -> None:
    """A future hands out the same result however often it is asked; the task ran once."""

    @world.task
    async def double(x: int) -> int:
        world.ran.append(x)
        return 2 * x

    @world.entrypoint
    async def wf(x: int) -> list[int]:
        future = double(x)
        return [await world.value(future), await world.value(future), future.result()]

    assert world.invoke(wf, 4) == [8, 8, 8]
    assert world.ran == [4]


def test_an_error_can_be_asked_for(world: World) -> None:
    """`exception()` returns the task's error instead of raising it."""

    @world.task
    async def fail() -> None:
        raise KeyError("gone")

    @world.entrypoint
    async def wf() -> str:
        return repr(await world.error(fail()))

    assert world.invoke(wf) == "KeyError('gone')"


def test_result_gives_up_after_a_timeout(sync_world: World) -> None:
    """`result(timeout)` raises TimeoutError; the task goes on and can be waited for again."""
    world, go = sync_world, threading.Event()

    @world.task
    def wait() -> str:
        go.wait()
        return "waited"

    @world.entrypoint
    def wf() -> str:
        future = wait()
        with pytest.raises(TimeoutError):
            future.result(timeout=0.001)
        go.set()
        return future.result()

    assert world.invoke(wf) == "waited"
