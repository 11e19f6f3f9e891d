"""Calling a task inside a run gives a future (section 3)."""

import threading
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from itertools import chain
from typing import Any

import pytest

from flowfn import Future, RunClosed, task

from ..worlds import World


def test_a_call_gives_a_future_of_the_result(world: World) -> None:
    """Inside a run a task call returns a Future, whose result is what the function returned."""
    kinds = []

    @world.task
    async def double(x: int) -> int:
        return 2 * x

    @world.entrypoint
    async def wf(x: int) -> int:
        future = double(x)
        kinds.append(isinstance(future, Future))
        return await world.value(future)

    assert world.invoke(wf, 4) == 8
    assert kinds == [True]


def test_an_entrypoint_needs_no_checkpointer(world: World) -> None:
    """Without a checkpointer tasks run all the same; nothing is kept."""

    @world.task
    async def double(x: int) -> int:
        return 2 * x

    @world.entrypoint(checkpointer=None)
    async def wf(x: int) -> int:
        return await world.value(double(x)) + 1

    assert world.invoke(wf, 4) == 9


def test_an_error_is_raised_where_the_result_is_asked_for(world: World) -> None:
    """A task's error is the future's: it can be caught, and the run goes on."""

    @world.task
    async def fail() -> None:
        raise KeyError("gone")

    @world.entrypoint
    async def wf() -> str:
        try:
            await world.value(fail())
        except KeyError as error:
            return f"caught {error}"
        return "no error"

    assert world.invoke(wf) == "caught 'gone'"


def test_equal_calls_are_calls_of_their_own(world: World) -> None:
    """Section 4, occurrence: three equal `poll()` calls are three calls, never one."""
    answers = iter(("busy", "busy", "ready"))

    @world.task
    async def poll() -> str:
        return next(answers)

    @world.entrypoint
    async def wf() -> list[str]:
        return [await world.value(poll()) for _ in range(3)]

    assert world.invoke(wf) == ["busy", "busy", "ready"]


def test_an_unawaited_call_completes(world: World) -> None:
    """A task that was called and not waited for ends before the run does."""

    @world.task
    async def note(x: int) -> None:
        world.ran.append(x)

    @world.entrypoint
    async def wf() -> str:
        note(1)
        note(2)
        return "done"

    assert world.invoke(wf) == "done"
    assert sorted(world.ran) == [1, 2]


def test_an_unawaited_failure_is_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A task that fails while nobody looks doesn't fail the run, and is named in one warning."""

    @world.task
    async def explode() -> None:
        raise KeyError("gone")

    @world.entrypoint
    async def wf() -> str:
        explode()
        return "done"

    assert world.invoke(wf) == "done"
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1
    assert "KeyError('gone')" in warnings[0]
    assert "explode" in warnings[0]


def test_a_looked_at_failure_is_not_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A failure that the caller caught is no surprise, and not logged."""

    @world.task
    async def fail() -> None:
        raise KeyError("gone")

    @world.entrypoint
    async def wf() -> str:
        await world.error(fail())
        return "done"

    assert world.invoke(wf) == "done"
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == []


def test_tasks_call_tasks(world: World) -> None:
    """A task may call tasks, to any depth."""

    @world.task
    async def depth(n: int) -> int:
        return 0 if n == 0 else 1 + await world.value(depth(n - 1))

    @world.entrypoint
    async def wf(n: int) -> int:
        return await world.value(depth(n))

    assert world.invoke(wf, 12) == 12


def test_a_call_that_outlives_its_run_is_refused(sync_world: World) -> None:
    """Code that a run left behind can't call tasks any more: RunClosed says to wait for threads."""
    world, over, seen = sync_world, threading.Event(), []

    @task
    def late() -> None:
        world.ran.append("late")

    def straggle(context: object) -> None:
        over.wait()
        try:
            context.run(late)  # type: ignore[attr-defined]
        except RunClosed as error:
            seen.append(str(error))

    threads = []

    @world.entrypoint
    def wf() -> str:
        threads.append(threading.Thread(target=straggle, args=(copy_context(),)))
        threads[0].start()
        return "done"

    assert world.invoke(wf) == "done"
    over.set()
    threads[0].join()
    assert world.ran == []
    assert [("wf" in text, "wait for threads" in text) for text in seen] == [(True, True)]


def test_a_task_may_call_itself_often(world: World) -> None:
    """Calls inside each other take stacks of their own in time: Python's limit is for a function's own calls."""

    @world.task
    async def depth(n: int) -> int:
        return 1 + await world.value(depth(n - 1)) if n else 0

    @world.entrypoint
    async def wf(n: int) -> int:
        return await world.value(depth(n))

    assert world.invoke(wf, 200) == 200


def from_c(function: Callable[[Any], Any], argument: Any) -> Any:
    """Call a function on a thread without any code of Python's below, and wait for what it returns."""
    found: deque[Any] = deque()
    ended = threading.Lock()
    ended.acquire()
    start_new_thread(found.extend, (chain(map(function, [argument]), iter(ended.release, None)),))
    assert ended.acquire(timeout=30)
    return found.pop()


def test_whoever_calls_need_not_be_python(sync_world: World) -> None:
    """Greenlets, handlers of `atexit` and threads that C starts call with nothing of Python's below."""
    world = sync_world

    @world.task
    def double(x: int) -> int:
        return 2 * x

    @world.entrypoint
    def wf(x: int) -> int:
        made = from_c(partial(copy_context().run, double), x)
        return int(made.result()) + int(double(x).result())

    assert from_c(wf, 3) == 12
    assert from_c(double, 3).result() == 6
