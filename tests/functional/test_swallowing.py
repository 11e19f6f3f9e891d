"""Control signals can't be swallowed (G8)."""

from typing import Any

import flowfn
from flowfn import interrupt
from flowfn.errors import Cancelled, FlowError, Suspended

from ..worlds import World, asked


def test_except_exception_cannot_swallow_a_question(world: World) -> None:
    """G8: `except Exception` around a question doesn't catch it."""

    @world.task
    async def ask() -> Any:
        try:
            return interrupt("sure?")
        except Exception:
            return "swallowed"

    @world.entrypoint
    async def wf() -> list[Any]:
        try:
            inner = await world.value(ask())
            return [inner, interrupt("really?")]
        except Exception:
            return ["swallowed"]

    assert asked(world.invoke(wf, thread_id="t")) == ["sure?"]
    assert asked(world.resume(wf, "yes", "t")) == ["really?"]
    assert world.resume(wf, "oh yes", "t") == ["yes", "oh yes"]


def test_a_bare_except_cannot_swallow_a_question(world: World) -> None:
    """G8: even a bare `except` around a question leaves it open, whatever the code returns after it."""

    @world.entrypoint
    async def wf() -> Any:
        try:
            return interrupt("sure?")
        except:  # noqa: E722
            return "swallowed"

    assert asked(world.invoke(wf, thread_id="t")) == ["sure?"]
    assert world.resume(wf, "yes", "t") == "yes"


def test_code_that_swallowed_a_question_can_call_nothing(sync_world: World) -> None:
    """G8: after a swallowed question no task runs, since the next attempt would run it again."""
    world = sync_world

    @world.task
    def note(x: int) -> None:
        world.ran.append(x)

    @world.task
    def ask() -> Any:
        return interrupt("sure?")

    @world.entrypoint
    def wf() -> Any:
        answer = None
        try:
            answer = ask().result()
        except BaseException:
            note(1).result()
        note(2).result()
        return answer

    assert asked(world.invoke(wf, thread_id="t")) == ["sure?"]
    assert world.ran == []
    assert world.resume(wf, "yes", "t") == "yes"
    assert world.ran == [2]


def test_a_finally_clause_runs(world: World) -> None:
    """A question unwinds the code that asked as an exception does."""

    @world.entrypoint
    async def wf() -> Any:
        try:
            return interrupt("sure?")
        finally:
            world.ran.append("closed")

    world.invoke(wf, thread_id="t")
    assert world.ran == ["closed"]


def test_signals_are_no_errors() -> None:
    """G8: control signals derive from BaseException alone, and every error of ours from FlowError."""
    assert not issubclass(Suspended, Exception)
    assert not issubclass(Cancelled, Exception)
    errors = [
        value
        for value in vars(flowfn).values()
        if isinstance(value, type) and issubclass(value, BaseException)
    ]
    assert [error.__name__ for error in errors if not issubclass(error, FlowError)] == []
