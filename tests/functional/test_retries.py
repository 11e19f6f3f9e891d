"""Retry policies and timeouts of tasks and entrypoints (section 3)."""

import asyncio
import inspect
import logging
import sys
import threading
from collections.abc import Generator
from datetime import timedelta
from typing import Any

import pytest
from tenacity import retry_if_exception_message

from flowfn import InvalidInput, RetryPolicy, TaskTimeout, TimeoutPolicy, current, task
from flowfn.hosts.watch import Watch
from flowfn.testing import VirtualClock

from ..worlds import World

THRICE = RetryPolicy(max_attempts=3, initial_interval=0, jitter=False)


def flaky(world: World, failures: int, error: type[Exception] = ConnectionError, **options: Any) -> Any:
    """A task that fails so many times before it succeeds, noting each attempt's number."""

    @world.task(**options)
    async def work(x: int) -> int:
        world.ran.append(current().attempt)
        if len(world.ran) <= failures:
            raise error("lost")
        return x

    return work


def calling(world: World, work: Any, **options: Any) -> Any:
    """A workflow of one call."""

    @world.entrypoint(**options)
    async def wf(x: int) -> int:
        return await world.value(work(x))

    return wf


def test_a_task_is_tried_again(world: World) -> None:
    """A failed attempt is followed by another, up to `max_attempts`; attempts are counted from 1."""
    assert world.invoke(calling(world, flaky(world, 2, retry_policy=THRICE)), 7) == 7
    assert world.ran == [1, 2, 3]


def test_the_last_error_is_raised(world: World) -> None:
    """When the attempts are used up, the last one's error is the task's."""
    with pytest.raises(ConnectionError, match="lost"):
        world.invoke(calling(world, flaky(world, 9, retry_policy=THRICE)), 7)
    assert world.ran == [1, 2, 3]


def test_without_a_policy_nothing_is_retried(world: World) -> None:
    """Retrying is asked for, never done by default."""
    with pytest.raises(ConnectionError):
        world.invoke(calling(world, flaky(world, 1)), 7)
    assert world.ran == [1]


@pytest.mark.parametrize(
    ("retry_on", "attempts"),
    [(KeyError, 3), ((KeyError, OSError), 3), (lambda e: isinstance(e, KeyError), 3), (OSError, 1)],
    ids=["class", "classes", "predicate", "another class"],
)
def test_retry_on_says_which_errors(world: World, retry_on: Any, attempts: int) -> None:
    """`retry_on` is a class, several, or a predicate; other errors end the task at once."""
    policy = RetryPolicy(max_attempts=3, initial_interval=0, jitter=False, retry_on=retry_on)
    with pytest.raises(KeyError):
        world.invoke(calling(world, flaky(world, 9, KeyError, retry_policy=policy)), 7)
    assert world.ran == list(range(1, attempts + 1))


@pytest.mark.parametrize(
    ("policy", "written"),
    [
        (RetryPolicy(), "RetryPolicy(retry_on=default_retry_on) doesn't take"),
        (RetryPolicy(retry_on=(OSError, KeyError)), "RetryPolicy(retry_on=(OSError, KeyError)) doesn't take"),
        (
            [RetryPolicy(retry_on=OSError), RetryPolicy(retry_on=retry_if_exception_message(match="no"))],
            "RetryPolicy(retry_on=OSError) or RetryPolicy(retry_on=retry_if_exception_message) doesn't take",
        ),
    ],
    ids=["default", "classes", "several"],
)
def test_an_error_that_no_policy_takes_is_told(
    world: World, caplog: pytest.LogCaptureFixture, policy: Any, written: str
) -> None:
    """A line at INFO says which call isn't tried again, after which attempt and error, and which policies there are."""
    with caplog.at_level(logging.INFO, "flowfn"), pytest.raises(ValueError, match="lost"):
        world.invoke(calling(world, flaky(world, 9, ValueError, retry_policy=policy)), 7)
    said = [record.getMessage() for record in caplog.records if "tried again" in record.getMessage()]
    assert said == [f"work isn't tried again after attempt 1: {written} ValueError('lost')"]


def test_a_long_error_that_no_policy_takes_is_told_in_short(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """A response's whole body may be in it, and a line of a log is read by people."""

    @task(retry_policy=RetryPolicy())
    def work(n: int) -> int:
        raise ValueError("lost " * 100_000)

    with caplog.at_level(logging.INFO, "flowfn"), pytest.raises(ValueError, match="lost"):
        world.invoke(calling(world, work), 7)
    (said,) = [record.getMessage() for record in caplog.records if "tried again" in record.getMessage()]
    assert "doesn't take ValueError('lost lost" in said
    assert len(said) < 200


def test_attempts_that_are_used_up_are_no_refusal(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is told of an error that a policy takes."""
    with caplog.at_level(logging.INFO, "flowfn"), pytest.raises(ConnectionError):
        world.invoke(calling(world, flaky(world, 9, retry_policy=THRICE)), 7)
    assert [record for record in caplog.records if "tried again" in record.getMessage()] == []


def test_the_first_policy_that_fits_decides(world: World) -> None:
    """Of several policies the first whose `retry_on` fits the error counts."""
    policies = [
        RetryPolicy(max_attempts=9, initial_interval=0, jitter=False, retry_on=OSError),
        RetryPolicy(max_attempts=2, initial_interval=0, jitter=False, retry_on=KeyError),
    ]
    with pytest.raises(KeyError):
        world.invoke(calling(world, flaky(world, 9, KeyError, retry_policy=policies)), 7)
    assert world.ran == [1, 2]


def test_an_entrypoints_policy_is_its_tasks_default(world: World) -> None:
    """`@entrypoint(retry_policy=)` applies to each task without a policy of its own, as in LangGraph."""
    assert world.invoke(calling(world, flaky(world, 2), retry_policy=THRICE), 7) == 7
    assert world.ran == [1, 2, 3]


def test_a_retried_parent_reuses_its_finished_children(world: World) -> None:
    """A task that is tried again doesn't run again what its failed attempt had finished."""

    @world.task
    async def child(x: int) -> int:
        world.ran.append(x)
        return 10 * x

    @world.task(retry_policy=THRICE)
    async def parent() -> int:
        total = await world.value(child(1)) + await world.value(child(2))
        if current().attempt < 3:
            raise ConnectionError("lost")
        return total + await world.value(child(3))

    @world.entrypoint
    async def wf() -> int:
        return await world.value(parent())

    assert world.invoke(wf) == 60
    assert world.ran == [1, 2, 3]


def test_a_retried_entrypoint_reuses_its_finished_tasks(world: World) -> None:
    """So does an entrypoint that is tried again."""

    @world.task
    async def child(x: int) -> int:
        world.ran.append(x)
        return 10 * x

    @world.entrypoint(retry_policy=THRICE)
    async def wf() -> int:
        value = await world.value(child(1))
        if current().attempt < 2:
            raise ConnectionError("lost")
        return value + await world.value(child(2))

    assert world.invoke(wf) == 30
    assert world.ran == [1, 2]


def test_a_retried_parent_tries_again_what_it_failed_of(world: World) -> None:
    """A child whose error an attempt failed of runs again in the next, also where a cleanup was called after it."""

    @world.task
    async def child() -> int:
        world.ran.append("child")
        if world.ran.count("child") < 3:
            raise ConnectionError("lost")
        return 7

    @world.task
    async def cleanup() -> None:
        world.ran.append("cleanup")

    @world.task(retry_policy=THRICE)
    async def parent() -> int:
        try:
            return await world.value(child())
        except ConnectionError:
            await world.value(cleanup())
            raise

    assert world.invoke(calling(world, lambda _: parent()), 1) == 7
    assert world.ran == ["child", "cleanup", "child", "child"]


def test_a_retried_parent_tries_again_what_it_had_not_looked_at(world: World) -> None:
    """A child that had failed without anybody looking, when an attempt failed of something else, runs again."""

    @world.task
    async def child() -> int:
        world.ran.append("child")
        if world.ran == ["child"]:
            raise ConnectionError("lost")
        return 7

    @world.task
    async def other() -> None:
        world.ran.append("other")

    @world.task(retry_policy=THRICE)
    async def parent() -> int:
        called = child()
        await world.ended(called)
        await world.value(other())
        if current().attempt == 1:
            raise ConnectionError("another trouble")
        return await world.value(called)

    assert world.invoke(calling(world, lambda _: parent()), 1) == 7
    assert world.ran == ["child", "other", "child"]


def test_a_retried_parent_does_not_run_again_what_it_handled(world: World) -> None:
    """A child's error that an attempt handled is handled by the next as well, without the child running again."""

    @world.task
    async def child() -> int:
        world.ran.append("child")
        raise ConnectionError("lost")

    @world.task
    async def instead() -> int:
        world.ran.append("instead")
        return 7

    @world.task(retry_policy=THRICE)
    async def parent() -> int:
        error = await world.error(child())
        value = await world.value(instead())
        if current().attempt < 3:
            raise ConnectionError("another trouble")
        assert isinstance(error, ConnectionError)
        return value

    assert world.invoke(calling(world, lambda _: parent()), 1) == 7
    assert world.ran == ["child", "instead"]


def test_a_key_is_the_same_for_each_attempt(world: World) -> None:
    """G3: every attempt at a call has the same idempotency key."""
    keys = []

    @world.task(retry_policy=THRICE)
    async def work() -> None:
        keys.append(current().idempotency_key)
        if len(keys) < 3:
            raise ConnectionError("lost")

    @world.entrypoint
    async def wf() -> None:
        await world.value(work())

    world.invoke(wf)
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_retries_apply_outside_a_run() -> None:
    """A task that is called outside a run is retried all the same."""
    attempts = []

    @task(retry_policy=THRICE)
    def work() -> str:
        attempts.append(1)
        if len(attempts) < 3:
            raise ConnectionError("lost")
        return "done"

    assert work().result() == "done"
    assert len(attempts) == 3


@pytest.mark.parametrize("timeout", [0.01, timedelta(milliseconds=10)], ids=str)
def test_a_sync_task_times_out(sync_world: World, timeout: Any) -> None:
    """A sync task that takes longer is left behind on its thread; the caller gets a TaskTimeout."""
    go = threading.Event()

    @task(timeout=timeout)
    def hang() -> None:
        go.wait(10)

    with pytest.raises(TaskTimeout, match=r"longer than its timeout of 0.01 s"):
        sync_world.invoke(calling(sync_world, lambda _: hang()), 1)
    go.set()


def test_an_async_task_times_out(async_world: World) -> None:
    """An async task that takes longer is cancelled; the caller gets a TaskTimeout."""
    world = async_world

    @task(timeout=0.01)
    async def hang(x: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            world.ran.append("unwound")

    with pytest.raises(TaskTimeout, match=r"longer than its timeout of 0.01 s"):
        world.invoke(calling(world, hang), 1)
    assert world.ran == ["unwound"]


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="what is async and no `async def` is marked so since 3.12"
)
def test_what_an_async_function_returns_need_be_no_coroutine(async_world: World) -> None:
    """G7: it is awaited in its time, and is no more than that."""

    class Answer:
        def __await__(self) -> Generator[Any, None, int]:
            yield from asyncio.sleep(0).__await__()
            return 5

    def answer() -> Any:
        return Answer()

    inspect.markcoroutinefunction(answer)  # type: ignore[attr-defined]
    answers = task(timeout=60)(answer)

    @async_world.entrypoint
    async def wf() -> Any:
        return await async_world.value(answers())

    assert async_world.invoke(wf, {}, thread_id="t") == 5


@pytest.mark.parametrize("timeout", [None, 60.0], ids=["no timeout", "a timeout"])
def test_a_cancelled_task_is_awaited_while_it_cleans_up(async_world: World, timeout: float | None) -> None:
    """A run that is cancelled ends after its tasks' cleaning up; cancelled again, it cancels that as well."""
    world = async_world
    stages = [asyncio.Event(), asyncio.Event(), asyncio.Event()]

    @world.task(timeout=timeout)
    async def work() -> None:
        try:
            stages[0].set()
            await asyncio.Event().wait()
        finally:
            try:
                stages[1].set()
                await asyncio.Event().wait()
            finally:
                stages[2].set()
                await asyncio.sleep(0)
                world.ran.append("cleaned up")

    @world.entrypoint
    async def wf() -> None:
        await work()

    async def main() -> None:
        running = asyncio.create_task(wf.ainvoke(thread_id="t"))
        for stage in stages[:2]:
            await stage.wait()
            running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        world.ran.append("ended")

    world.call(main)
    assert world.ran == ["cleaned up", "ended"]


def test_a_cancelled_task_cleans_up_in_its_time(async_world: World) -> None:
    """What a cancelled task does to clean up is cancelled when the task's time is up."""
    world = async_world
    began = asyncio.Event()

    @world.task(timeout=0.01)
    async def work() -> None:
        try:
            began.set()
            await asyncio.Event().wait()
        finally:
            world.ran.append("cleaning up")
            await asyncio.Event().wait()

    async def main() -> None:
        running = asyncio.create_task(calling(world, lambda _: work()).ainvoke(1))
        await began.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    world.call(main)
    assert world.ran == ["cleaning up"]


def test_a_timeout_names_the_task(sync_world: World) -> None:
    """The error says which task took too long."""
    go = threading.Event()

    @task(timeout=0.01)
    def hang(x: int) -> None:
        go.wait(10)

    with pytest.raises(TaskTimeout, match="hang"):
        sync_world.invoke(calling(sync_world, hang), 1)
    go.set()


def test_a_timeout_can_be_retried(world: World) -> None:
    """`timeout=` is per attempt, and a TaskTimeout is retried where the policy says so."""
    go = threading.Event()

    @world.task(timeout=0.4, retry_policy=RetryPolicy(initial_interval=0, jitter=False, retry_on=TaskTimeout))
    async def work() -> str:
        world.ran.append(current().attempt)
        if current().attempt == 1:
            await (asyncio.Event().wait() if world.is_async else _block(go))
        return "done"

    @world.entrypoint
    async def wf() -> str:
        return await world.value(work())

    assert world.invoke(wf) == "done"
    assert world.ran == [1, 2]
    go.set()


async def _block(go: threading.Event) -> None:
    go.wait(10)


def test_a_task_that_gives_no_sign_of_life_times_out(world: World) -> None:
    """`TimeoutPolicy(idle_timeout=)` bounds the time between two of them."""
    go = threading.Event()

    @world.task(timeout=TimeoutPolicy(idle_timeout=0.01))
    async def hang(x: int) -> None:
        await (asyncio.Event().wait() if world.is_async else _block(go))

    with pytest.raises(TaskTimeout, match=r"'.*hang' took longer than its idle timeout of 0.01 s") as raised:
        world.invoke(calling(world, hang), 1)
    assert raised.value.kind == "idle"
    go.set()


@pytest.mark.parametrize(
    ("signs", "options", "stopped"),
    [(True, {}, False), (False, {}, True), (True, {"run_timeout": 100}, True)],
    ids=["beats", "silent", "beats for too long"],
)
def test_a_heartbeat_is_a_sign_of_life(
    sync_world: World, signs: bool, options: dict[str, float], stopped: bool
) -> None:
    """Each starts the time anew, though not that of the whole attempt."""
    go = threading.Event()

    @task(timeout=TimeoutPolicy(idle_timeout=60, **options))
    def work(x: int) -> str:
        for _ in range(3):
            clock.advance(50)
            if signs:
                current().heartbeat()
        if stopped:
            go.wait(10)
        return "done"

    with VirtualClock() as clock:
        wf = calling(sync_world, work)
        if stopped:
            with pytest.raises(TaskTimeout):
                sync_world.invoke(wf, 1)
        else:
            assert sync_world.invoke(wf, 1) == "done"
    go.set()


def test_what_a_task_does_is_a_sign_of_life_unless_it_is_to_say_so() -> None:
    """`refresh_on="heartbeat"` takes a heartbeat only."""
    times = [0.0]
    for refresh_on, left in (("auto", 10.0), ("heartbeat", 5.0)):
        times[0] = 0.0
        watch = Watch(TimeoutPolicy(idle_timeout=10, refresh_on=refresh_on), lambda: times[0])
        times[0] = 5.0
        watch.saw(explicit=False)
        assert watch.left() == (left, "idle")
        watch.saw(explicit=True)
        assert watch.left() == (10.0, "idle")


def test_a_task_on_an_executor_gives_no_signs_of_life(sync_world: World) -> None:
    """It is refused, as it would be stopped while it is alive."""

    @task(timeout=TimeoutPolicy(idle_timeout=60), executor="processes")
    def work(x: int) -> int:
        return x

    with pytest.raises(InvalidInput, match=r"no worker of an executor gives signs of life: write timeout=60"):
        sync_world.invoke(calling(sync_world, work), 1)


def test_an_entrypoint_times_out(world: World) -> None:
    """`@entrypoint(timeout=)` bounds one attempt at the whole function."""
    go = threading.Event()

    @world.entrypoint(timeout=0.02)
    async def wf() -> None:
        await (asyncio.Event().wait() if world.is_async else _block(go))

    with pytest.raises(TaskTimeout):
        world.invoke(wf, thread_id="t")
    go.set()


@pytest.mark.parametrize("wrong", [0, -1, "3", True], ids=repr)
def test_a_timeout_that_makes_no_sense_is_refused(wrong: Any) -> None:
    """A timeout is a positive number of seconds or a timedelta."""
    with pytest.raises((TypeError, ValueError), match="timeout must be"):
        task(timeout=wrong)(len)


def test_a_policy_of_another_type_is_refused() -> None:
    """`retry_policy=3` is a TypeError that says what to write."""
    with pytest.raises(TypeError, match=r"write RetryPolicy\(max_attempts=3\)"):
        task(retry_policy=[3])(len)  # type: ignore[list-item]
