"""A clock on the wall that is set, by hours, while a run is on: no time is up for that, and none is left over."""

from __future__ import annotations

import time
from typing import Any, TypedDict

import pytest
import tenacity

import flowfn
from flowfn import RetryPolicy
from graph_compat.graph import START, StateGraph

from ..worlds import World


class State(TypedDict):
    x: int


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the clock shows."""
    shown = [5e9]
    monkeypatch.setattr(time, "time", lambda: shown[0])
    return shown


def test_a_superstep_is_not_late_because_the_clock_was_put_forward(world: World, wall: list[float]) -> None:
    """`step_timeout` counts what went by."""

    def node(state: Any) -> Any:
        wall[0] += 5 * 3600
        return {"x": 1}

    builder: Any = StateGraph(State)
    builder.add_node("a", world.colour(node))
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=world.saver)
    graph.step_timeout = 3600
    assert world.invoke(graph, {"x": 0}, thread_id="t") == {"x": 1}


def test_retries_count_what_went_by(world: World, wall: list[float]) -> None:
    """A policy that gives up after an hour doesn't, where the clock was put forward by five."""
    policy = RetryPolicy(initial_interval=0.001, jitter=False, stop=tenacity.stop_after_delay(3600))

    @world.task(retry_policy=policy)
    async def flaky(x: int) -> int:
        world.ran.append(x)
        wall[0] += 5 * 3600
        if len(world.ran) < 3:
            raise ConnectionError
        return x

    @world.entrypoint
    async def wf(x: int) -> Any:
        return await world.value(flaky(x))

    assert world.invoke(wf, 1, thread_id="t") == 1
    assert world.ran == [1, 1, 1]


def test_no_sleep_gets_longer(world: World, wall: list[float]) -> None:
    """A run that goes on under a clock set back by hours sleeps no longer than it was to."""

    @world.entrypoint
    async def wf(x: int) -> Any:
        sleeping = flowfn.sleep(0.01)
        if world.is_async:
            await sleeping
        return flowfn.interrupt("?")

    world.invoke(wf, 1, thread_id="t")
    wall[0] -= 5 * 3600
    assert world.resume(wf, "yes", "t") == "yes"  # in the time that a test has


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_time_that_a_run_read_is_the_clocks_whatever_that_was_set_to(
    world: World, wall: list[float], hours: int
) -> None:
    """Section 4, rule 2: what was read before it was set, or after, was the time of the call: nothing runs twice."""

    wall[0] = 2e9

    @world.task
    async def stamp(at: float) -> str:
        world.ran.append(at)
        return "stamped"

    @world.entrypoint
    async def wf(x: int) -> Any:
        began = time.time()
        before = await world.value(stamp(time.time()))
        wall[0] += hours * 3600
        after = await world.value(stamp(time.time())), await world.value(stamp(began + 0.5))
        return [flowfn.interrupt("?"), before, *after]

    world.invoke(wf, 0, thread_id="t")
    assert len(world.ran) == 3
    wall[0] += 600
    assert world.resume(wf, "yes", "t") == ["yes", "stamped", "stamped", "stamped"]
    assert len(world.ran) == 3
