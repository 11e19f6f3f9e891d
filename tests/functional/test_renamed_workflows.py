"""A workflow that was renamed while a run of it waits (G2)."""

from typing import Any

import pytest

from flowfn import Interrupted, NonDeterminismError, interrupt

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


def test_a_call_on_a_thread_whose_run_is_of_another_workflow_says_so(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """What that left unfinished is given up: a warning has both names, and how to go on with it."""

    def made(function: str) -> Any:
        async def body(x: int) -> str:
            answer: str = interrupt("send?")
            return answer

        body.__name__ = body.__qualname__ = function
        return world.entrypoint(body)

    for name in ("pay", "settle"):
        with pytest.raises(Interrupted):
            world.call(made(name).thread("t"), 1)
    (said,) = (record for record in caplog.records if record.levelname == "WARNING")
    begun = f"a new run of {__name__}.settle begins on thread t, whose unfinished one is of {__name__}.pay"
    assert said.getMessage().startswith(begun)
    assert f"@entrypoint(name='{__name__}.pay')" in said.getMessage()
