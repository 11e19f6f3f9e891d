"""`max_concurrency`: an attempt holds one place or none, however many branches its code has."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from flowfn.engine.calls.frame import Frame
from flowfn.engine.runs.places import STILL, Places, Seat


class Waiting:
    """A host that only waits."""

    async def wait(self, future: Any) -> None:
        await asyncio.wrap_future(future)

    def look_after(self, stalling: Any) -> None:
        """The test looks."""


HOST = cast("Any", Waiting())


def attempt(places: Places) -> Seat:
    frame = Frame.__new__(Frame)
    frame.has_called = False
    return Seat(places, frame)


async def begun(coroutine: Any) -> asyncio.Task[None]:
    """A task that has gone as far as it can."""
    task = asyncio.ensure_future(coroutine)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


async def one_waits() -> tuple[Places, Seat, Seat]:
    """The only place, whose attempt waits for a call of its own, and the attempt that has it meanwhile."""
    places = Places(1)
    one, other = attempt(places), attempt(places)
    await one.enter(HOST)
    one.step_aside()
    await other.enter(HOST)
    return places, one, other


async def test_a_branch_that_begins_to_wait_as_another_queues_gives_nothing_back() -> None:
    """Code that queues for a place holds none: one that it gave back would let in one more than the limit."""
    places, one, other = await one_waits()
    back = await begun(one.step_back(HOST))
    one.step_aside()
    third = await begun(attempt(places).enter(HOST))
    assert (back.done(), third.done()) == (False, False)
    other.leave()
    await back
    await third


async def test_code_whose_wait_is_over_goes_before_what_has_yet_to_begin() -> None:
    """It may have an error to raise, after which that isn't to begin."""
    places, one, other = await one_waits()
    third = await begun(attempt(places).enter(HOST))
    back = await begun(one.step_back(HOST))
    other.leave()
    await back
    assert not third.done()
    one.leave()
    await third


async def test_a_place_is_for_all_branches_that_queue() -> None:
    """The second would wait for the end of the first, which can be done without giving anything back."""
    places, one, other = await one_waits()
    first = await begun(one.step_back(HOST))
    one.step_aside()
    second = await begun(one.step_back(HOST))
    assert (first.done(), second.done()) == (False, False)
    other.leave()
    await first
    await second
    one.leave()
    await attempt(places).enter(HOST)


async def test_a_branch_that_stops_queueing_leaves_it_to_the_next() -> None:
    """One queues for all branches, until it is cancelled."""
    _, one, other = await one_waits()
    first = await begun(one.step_back(HOST))
    one.step_aside()
    second = await begun(one.step_back(HOST))
    first.cancel()
    await asyncio.wait({first})
    other.leave()
    await second


async def test_a_place_that_comes_after_the_code_has_ended_goes_to_others() -> None:
    """A branch that the code left behind queued for it."""
    places, one, other = await one_waits()
    back = await begun(one.step_back(HOST))
    one.leave()
    other.leave()
    await back
    await attempt(places).enter(HOST)


async def test_who_runs_keeps_its_place_however_long_others_queue() -> None:
    """Only where all who hold one have called something that is waited for are they taken to wait."""
    places = Places(1)
    one = attempt(places)
    await one.enter(HOST)
    other = await begun(attempt(places).enter(HOST))
    for _ in range(3 * STILL):
        assert places.wake(0)
    assert not other.done()
    one.leave()
    await other
    assert not places.wake(0)
