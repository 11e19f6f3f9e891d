"""`previous` and `entrypoint.final`: what one call of a thread leaves for the next (section 3)."""

from typing import Any

import pytest

from flowfn import entrypoint

from ..worlds import World


def test_previous_is_what_the_last_call_returned(world: World) -> None:
    """A call sees the result of the last finished call of its thread; None on the first."""

    @world.entrypoint
    async def wf(x: int, *, previous: Any) -> list[Any]:
        return [x, previous]

    assert world.invoke(wf, 1, thread_id="t") == [1, None]
    assert world.invoke(wf, 2, thread_id="t") == [2, [1, None]]
    assert world.invoke(wf, 3, thread_id="other") == [3, None]


def test_final_returns_one_value_and_saves_another(world: World) -> None:
    """`entrypoint.final(value=, save=)`: `value` goes to the caller and the state, `save` to the next call."""

    @world.entrypoint
    async def wf(x: int, *, previous: int | None = None) -> Any:
        return entrypoint.final(value=previous, save=x)

    assert [world.invoke(wf, x, thread_id="t") for x in (1, 2, 3)] == [None, 1, 2]
    assert world.state(wf, "t").values == 2


def test_none_is_saved_as_well(world: World) -> None:
    """`final(save=None)` and a result of None replace what was saved before."""

    @world.entrypoint
    async def wf(x: Any, *, previous: Any = None) -> Any:
        return entrypoint.final(value=previous, save=x)

    assert [world.invoke(wf, x, thread_id="t") for x in (1, {"none": None}, 3)] == [None, 1, {"none": None}]

    @world.entrypoint
    async def forget(x: int, *, previous: Any = None) -> Any:
        return entrypoint.final(value=previous, save=None if x == 2 else x)

    assert [world.invoke(forget, x, thread_id="f") for x in (1, 2, 3)] == [None, 1, None]


def test_a_failed_call_saves_nothing(world: World) -> None:
    """A call that raised leaves `previous` as the last finished one saved it."""

    @world.entrypoint
    async def wf(x: int, *, previous: int = 0) -> int:
        if x < 0:
            raise ConnectionError("lost")
        return previous + x

    world.invoke(wf, 1, thread_id="t")
    with pytest.raises(ConnectionError):
        world.invoke(wf, -1, thread_id="t")
    assert world.invoke(wf, 2, thread_id="t") == 3


def test_previous_is_a_copy_of_what_was_saved(world: World) -> None:
    """Changing `previous` in place changes nothing that was recorded."""

    @world.entrypoint
    async def wf(x: int, *, previous: list[int] | None = None) -> Any:
        kept = list(previous or [])
        if previous is not None:
            previous.append(99)
        if x < 0:
            raise ConnectionError("lost")
        return entrypoint.final(value=kept, save=[*kept, x])

    world.invoke(wf, 1, thread_id="t")
    with pytest.raises(ConnectionError):
        world.invoke(wf, -1, thread_id="t")
    assert world.invoke(wf, 2, thread_id="t") == [1]
    assert world.invoke(wf, 3, thread_id="t") == [1, 2]


def test_without_a_checkpointer_previous_is_none(world: World) -> None:
    """Where nothing is kept, `previous` is None at each call."""

    @world.entrypoint(checkpointer=None)
    async def wf(x: int, *, previous: Any) -> Any:
        return previous

    assert [world.invoke(wf, x) for x in (1, 2)] == [None, None]


def test_tasks_see_previous_too(world: World) -> None:
    """A task that names `previous` gets that of its run."""

    @world.task
    async def look(previous: Any) -> Any:
        return previous

    @world.entrypoint
    async def wf(x: int) -> Any:
        return entrypoint.final(value=await world.value(look()), save=x)

    assert [world.invoke(wf, x, thread_id="t") for x in (1, 2)] == [None, 1]


def test_final_of_a_direct_call(world: World) -> None:
    """A direct call unwraps `final` as `invoke` does."""

    @world.entrypoint
    async def wf(x: int) -> Any:
        return entrypoint.final(value=x, save=2 * x)

    assert world.call(wf, 1) == 1
