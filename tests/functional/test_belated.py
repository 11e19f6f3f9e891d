"""Calls whose arguments are changed before they begin."""

import re
from typing import Any

import pytest

from flowfn.hosts.threads import ThreadHost

from ..worlds import World


@pytest.fixture(autouse=True)
def no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call begins when it is waited for, and no sooner."""
    monkeypatch.setattr(ThreadHost, "add_worker", lambda host: None)


def batches(world: World, refill: Any) -> Any:
    """A workflow that hands lists on, each of which it fills by `refill`."""

    @world.task
    async def total(batch: list[int]) -> int:
        return sum(batch)

    @world.entrypoint
    async def wf() -> list[int]:
        batch: list[int] = []
        futures = []
        for number in range(4):
            batch = refill(batch, number)
            futures.append(total(batch))
        return [await world.value(future) for future in futures]

    return wf


def test_a_call_that_begins_with_changed_arguments_is_told_of(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """G2: a list is emptied and filled anew under three calls, and one line says where, and what has changed."""

    def reused(batch: list[int], number: int) -> list[int]:
        batch[:] = [number]
        return batch

    assert world.invoke(batches(world, reused), thread_id="t") == [3, 3, 3, 3]
    (message,) = caplog.messages
    told = r":\d+: an argument of total was changed before the call began \(batch\[0\]: [012] → 3\)"
    assert re.match(re.escape(__file__) + told, message)


def test_a_call_that_gets_a_list_of_its_own_is_not(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing has changed, though all begin late."""
    assert world.invoke(batches(world, lambda batch, number: [number]), thread_id="t") == [0, 1, 2, 3]
    assert caplog.messages == []
