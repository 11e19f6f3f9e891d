"""`durability=`: when outcomes are committed changes what a crash costs, and nothing else."""

from typing import Any

import pytest

from flowfn import (
    Command,
    RetryPolicy,
    current,
    interrupt,
)

from ..worlds import World


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_durability_does_not_change_results(world: World, durability: Any) -> None:
    """When outcomes are committed changes what a crash costs, never what a run gives or a later one sees."""
    failures = [True]

    @world.task
    async def note(x: int) -> int:
        world.ran.append(x)
        return x

    @world.entrypoint
    async def wf(x: int, *, previous: Any = None) -> Any:
        first = await world.value(note(x))
        answer = interrupt("ok?")
        second = await world.value(note(x + 1))
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return [first, answer, second, previous]

    options = {"thread_id": "t", "durability": durability}
    world.invoke(wf, 1, **options)
    with pytest.raises(ConnectionError):
        world.invoke(wf, Command(resume="yes"), **options)
    assert world.invoke(wf, None, **options) == [1, "yes", 2, None]
    assert world.ran == [1, 2]
    assert world.state(wf, "t").values == [1, "yes", 2, None]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_retry_finds_what_is_not_committed_yet(world: World, durability: Any) -> None:
    """A retried parent doesn't re-run its finished children, committed or not."""

    @world.task
    async def child(x: int) -> int:
        world.ran.append(x)
        return x

    @world.task(retry_policy=RetryPolicy(initial_interval=0, jitter=False))
    async def parent() -> int:
        value = await world.value(child(1))
        if current().attempt < 3:
            raise ConnectionError("lost")
        return value

    @world.entrypoint
    async def wf() -> int:
        return await world.value(parent())

    assert world.invoke(wf, thread_id="t", durability=durability) == 1
    assert world.ran == [1]


def test_an_unknown_durability_is_refused(world: World) -> None:
    """A typo in `durability=` or `on_busy=` is an error that lists what may be written, before anything runs."""

    @world.entrypoint
    async def wf(x: int) -> int:
        world.ran.append(x)
        return x

    with pytest.raises((TypeError, ValueError), match="exit"):
        world.invoke(wf, 1, thread_id="t", durability="never")
    with pytest.raises((TypeError, ValueError), match="reject"):
        world.invoke(wf, 1, thread_id="t", on_busy="shrug")
    assert world.ran == []
