"""Fault plans and the virtual clock: what goes wrong is said before, and no test waits."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import flowfn
from flowfn import DatabaseFull, InvalidInput, LeaseLost, RetryPolicy, TaskTimeout, entrypoint, now, task
from flowfn.testing import VirtualClock, disk_full, fail, inject, latency, lost_lease

from ..worlds import World

START = datetime(2030, 1, 1, tzinfo=UTC)

PATIENT = RetryPolicy(max_attempts=3, initial_interval=60, backoff_factor=2, jitter=False)


def shop(world: World) -> Any:
    """A workflow of two tasks, the first of which is tried three times, at most."""

    @world.task(retry_policy=PATIENT, name="charge")
    async def charge(customer: str) -> str:
        world.ran.append(customer)
        return f"receipt of {customer}"

    @world.task(name="thank")
    async def thank(customer: str) -> str:
        return f"thanks, {customer}"

    @world.entrypoint(name="order")
    async def order(customer: str) -> list[str]:
        return [await world.value(charge(customer)), await world.value(thank(customer))]

    return order


def test_a_task_that_fails_twice(world: World) -> None:
    """`fail` stands in for the function; the retries wait on the plan's clock, and so not at all."""
    order = shop(world)
    with inject(fail("charge", times=2)) as plan:
        assert world.invoke(order, "ada", thread_id="one") == ["receipt of ada", "thanks, ada"]
    assert (world.ran, plan.clock.slept) == (["ada"], 60 + 120)
    assert plan.calls == ["charge", "thank"]


def test_a_task_that_fails_too_often(world: World) -> None:
    """Of an error of one's own; once it is over, the run goes on."""
    order = shop(world)
    with (
        inject(fail("charge", times=3, error=ConnectionError("bank"))),
        pytest.raises(ConnectionError, match="bank"),
    ):
        world.invoke(order, "ada", thread_id="one")
    assert world.ran == []
    assert world.invoke(order, None, thread_id="one") == ["receipt of ada", "thanks, ada"]


def test_a_disk_that_is_full_in_the_middle(world: World) -> None:
    """The run ends in `DatabaseFull`; what was committed stays, and the rest runs when there is room."""
    order = shop(world)
    with inject(disk_full(at=3)), pytest.raises(DatabaseFull):
        world.invoke(order, "ada", thread_id="one")
    assert world.invoke(order, None, thread_id="one") == ["receipt of ada", "thanks, ada"]
    assert world.ran == ["ada"]


def test_a_lease_that_is_lost_in_the_middle(world: World) -> None:
    """G4: from that commit on the run can write nothing, and whoever took over goes on."""
    order = shop(world)
    with inject(lost_lease(at=3)), pytest.raises(LeaseLost):
        world.invoke(order, "ada", thread_id="one")
    assert world.invoke(order, None, thread_id="one") == ["receipt of ada", "thanks, ada"]
    assert world.ran == ["ada"]


def test_latency_passes_on_the_clock(world: World) -> None:
    """A slow task takes its time on the virtual clock alone."""
    order = shop(world)
    with inject(latency("thank", 3600)) as plan:
        world.invoke(order, "ada", thread_id="one")
    assert plan.clock.slept == 3600


def test_latency_beyond_the_timeout(world: World) -> None:
    """The attempt times out, after as much time as it had."""

    @world.task(timeout=5, name="slow")
    async def slow() -> int:
        return 1

    @world.entrypoint(name="flow")
    async def flow(n: int) -> Any:
        return await world.value(slow())

    with inject(latency("slow", 5)) as plan, pytest.raises(TaskTimeout):
        world.invoke(flow, 1, thread_id="one")
    assert plan.clock.slept == 5


def test_a_fault_that_never_comes_about() -> None:
    """A plan that has shown nothing fails the test, and says which tasks there were."""

    @task(name="charge")
    def charge() -> int:
        return 1

    @entrypoint(checkpointer="memory://")
    def flow(n: int) -> int:
        return charge().result()

    idle = r"never came about: \[fail\('chrage'\)\].*\['charge'\]"
    with pytest.raises(AssertionError, match=idle), inject(fail("chrage")):
        flow(1)
    with pytest.raises(AssertionError, match=r"disk_full\(at=99\)"), inject(disk_full(at=99)):
        flow(2)
    with inject(fail(charge)), pytest.raises(ConnectionError):
        flow(3)


def test_plans_that_mean_nothing() -> None:
    """They are refused when they are made."""
    with pytest.raises(InvalidInput, match="times=0"):
        fail("charge", times=0)
    with pytest.raises(InvalidInput, match="counted from 1"):
        disk_full(at=0)
    with pytest.raises(InvalidInput, match="is no task"):
        fail(print)
    with pytest.raises(InvalidInput, match="is no fault"):
        inject("charge")  # type: ignore[arg-type]


# -- the clock --------------------------------------------------------------------------------------


def test_sleeping_moves_the_clock(world: World) -> None:
    """`flowfn.sleep` returns at once, and `flowfn.now` is as much later."""

    @world.entrypoint(name="flow")
    async def flow(n: int) -> list[datetime]:
        before = now()
        slept = flowfn.sleep(86_400)
        if world.is_async:
            await slept
        return [before, now()]

    with VirtualClock(START) as clock:
        assert world.invoke(flow, 1, thread_id="one") == [START, START + timedelta(days=1)]
        clock.advance(timedelta(hours=1))
    assert clock.time == START + timedelta(days=1, hours=1)


def test_a_resumed_sleep_waits_for_the_rest() -> None:
    """Section 3: the time of waking is recorded; what has passed meanwhile isn't slept again."""

    @entrypoint(checkpointer="memory://")
    def flow(n: int) -> int:
        flowfn.sleep(100)
        return n

    with VirtualClock(START) as clock:
        with inject(disk_full(at=3), clock=clock), pytest.raises(DatabaseFull):
            flow.invoke(1, thread_id="one")
        assert clock.slept == 100
        flow.invoke(None, thread_id="one")
    assert clock.slept == 100


def test_the_time_outside_is_the_real_one() -> None:
    """Runs that begin outside the block, or after it, have the machine's clock."""

    @entrypoint(checkpointer="memory://")
    def flow(n: int) -> datetime:
        return now()

    with VirtualClock(START):
        pass
    before = time.time()
    assert flow(1).timestamp() >= before - 1


def test_a_task_called_outside_any_run(world: World) -> None:
    """A plan, and a clock, are about the task alone as well."""

    @world.task(retry_policy=PATIENT, name="charge")
    async def charge(customer: str) -> str:
        return f"receipt of {customer}"

    with inject(fail("charge", times=2)) as plan:
        found = world.call(lambda: charge("ada"))
        assert (found if world.asyncio and world.is_async else found.result()) == "receipt of ada"
    assert plan.clock.slept == 60 + 120
    assert plan.calls == ["charge"]
