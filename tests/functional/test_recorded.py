"""`now`, `uuid4`, `random` and `sleep` are recorded once, and the same when the run goes on (section 3)."""

import time
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

import flowfn
from flowfn import interrupt

from ..worlds import World

MAKERS = {"now": flowfn.now, "uuid4": flowfn.uuid4, "random": flowfn.random}


@pytest.mark.parametrize("name", MAKERS)
def test_a_value_is_made_once(world: World, name: str) -> None:
    """The attempt that goes on sees what the first one saw, in the entrypoint and in tasks."""
    make, seen = MAKERS[name], []

    @world.task
    async def inside() -> Any:
        return make()

    @world.entrypoint
    async def wf() -> Any:
        values = [make(), await world.value(inside()), make()]
        seen.append(values)
        return [*values, interrupt("ok?")]

    world.invoke(wf, thread_id="t")
    assert world.resume(wf, "yes", "t") == [*seen[0], "yes"]
    assert seen[0] == seen[1]
    assert len(set(seen[0])) == 3


@pytest.mark.parametrize("name", MAKERS)
def test_another_run_sees_another_value(world: World, name: str) -> None:
    """What is recorded belongs to one run."""
    make = MAKERS[name]

    @world.entrypoint
    async def wf() -> Any:
        return make()

    assert world.invoke(wf, thread_id="a") != world.invoke(wf, thread_id="b")
    assert world.invoke(wf, thread_id="a") != world.invoke(wf, thread_id="a")


def test_outside_a_run_they_are_ordinary() -> None:
    """Outside a run they are what their names say, and `now` is in UTC."""
    assert isinstance(flowfn.uuid4(), UUID)
    assert 0 <= flowfn.random() < 1
    assert abs(flowfn.now() - datetime.now(UTC)).total_seconds() < 60
    assert flowfn.now().tzinfo is UTC


def test_a_recorded_value_matches_calls_made_from_it(world: World) -> None:
    """Section 4, rule 3: an argument from `flowfn.uuid4()` is the same on the next attempt, so the call is too."""

    @world.task
    async def charge(key: Any) -> str:
        world.ran.append(key)
        return f"charged {key}"

    @world.entrypoint
    async def wf() -> list[Any]:
        return [await world.value(charge(flowfn.uuid4())), interrupt("ok?")]

    world.invoke(wf, thread_id="t")
    world.resume(wf, "yes", "t")
    assert len(world.ran) == 1


def sleeping(world: World, seconds: float) -> Any:
    """A workflow that sleeps in the world's colour, and then asks."""

    @world.entrypoint
    async def wf() -> Any:
        slept = flowfn.sleep(seconds)
        if world.is_async:
            await slept
        return interrupt("ok?")

    return wf


def test_sleep_is_not_slept_again(world: World) -> None:
    """An attempt that goes on after the time of waking doesn't sleep."""
    wf = sleeping(world, 0.05)
    started = time.monotonic()
    world.invoke(wf, thread_id="t")
    assert time.monotonic() - started >= 0.05
    assert world.resume(wf, "yes", "t") == "yes"


def test_a_short_sleep_outside_a_run(world: World) -> None:
    """Outside a run `sleep` is an ordinary one, awaitable on an event loop."""

    async def main() -> None:
        await flowfn.sleep(0)

    if world.asyncio:
        world.call(main)
    else:
        assert flowfn.sleep(0) is None
