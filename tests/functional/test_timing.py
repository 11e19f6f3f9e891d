"""How long recorded calls took, and how often they were tried."""

from types import SimpleNamespace
from typing import Any

import pytest

from flowfn import RetryPolicy
from flowfn.engine.records.keeping import timing_rows
from flowfn.engine.records.record import Timing
from flowfn.history.reading import view
from flowfn.serde import DEFAULT

from ..worlds import World


def test_attempts_are_recorded(world: World) -> None:
    """A call that was retried says how often, whatever came of it; its time is that of all attempts."""
    tries: list[int] = []

    @world.task(retry_policy=RetryPolicy(max_attempts=3, initial_interval=0.0, jitter=False))
    async def flaky(good_at: int) -> int:
        tries.append(1)
        if len(tries) < good_at:
            raise ConnectionError
        return good_at

    @world.entrypoint
    async def flow(good_at: int) -> Any:
        return await world.value(flaky(good_at))

    assert world.invoke(flow, 3, thread_id="good") == 3
    with pytest.raises(ConnectionError):
        world.invoke(flow, 9, thread_id="bad")
    found = []
    for thread in ("good", "bad"):
        row = world.saver.thread(thread)
        assert row is not None
        (call,) = view(world.saver, row).calls
        assert call.seconds is not None
        found.append((call.status, call.attempts, call.seconds >= 0))
    assert found == [("done", 3, True), ("failed", 3, True)]


@pytest.mark.parametrize(
    ("attempts", "seconds", "kept"), [(0, 5.0, False), (1, 0.0009, False), (1, 0.5, True), (2, 0.0, True)]
)
def test_what_took_no_time_has_no_row(attempts: int, seconds: float, kept: bool) -> None:
    """Section 7: a row would cost as much as the call; nor has what came from a cache."""
    call: Any = SimpleNamespace(task="t", path="", started=100.0, attempts=attempts)
    rows = timing_rows(DEFAULT, call, 100.0 + seconds)
    assert [Timing(*DEFAULT.loads(row.value)) for row in rows] == (
        [Timing(100.0, 100.0 + seconds, attempts)] if kept else []
    )


def test_a_question_takes_no_time(world: World) -> None:
    """Neither while it is open nor once it is answered: a human's time is nobody's work."""
    from flowfn import interrupt

    @world.entrypoint
    async def flow(x: int) -> Any:
        return interrupt("go?")

    world.invoke(flow, 1, thread_id="t")
    times = []
    for _ in range(2):
        row = world.saver.thread("t")
        assert row is not None
        (call,) = view(world.saver, row).calls
        times.append((call.status, call.seconds))
        world.resume(flow, "yes", "t") if row.status == "interrupted" else None
    assert times == [("asked", None), ("answered", None)]
