"""A workflow that was renamed while a run of it waits (G2)."""

from typing import Any

import pytest

from flowfn import NonDeterminismError, interrupt

from ..worlds import World


def test_a_workflow_that_was_renamed_goes_on_under_its_old_name(world: World) -> None:
    """Under another name nothing of the record would be its own: that is refused. With the old one given it goes on."""

    @world.task
    async def charge(x: int) -> int:
        world.ran.append(x)
        return x

    def made(function: str, **options: Any) -> Any:
        async def body(x: int) -> list[Any]:
            return [await world.value(charge(x)), interrupt("send?")]

        body.__name__ = body.__qualname__ = function
        return world.entrypoint(**options)(body)

    world.invoke(made("pay"), 1, thread_id="t")
    old = f"{__name__}.pay"
    with pytest.raises(
        NonDeterminismError, match=f"workflow '{old}', of which 'settle' .* @entrypoint\\(name='{old}'"
    ):
        world.resume(made("settle"), "yes", "t")
    assert world.resume(made("settle", name=old), "yes", "t") == [1, "yes"]
    assert world.ran == [1]
