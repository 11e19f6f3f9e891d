"""Answers that fit no question, and commands that say nothing, are typed errors that say what to write."""

from typing import Any

import pytest

from flowfn import (
    AmbiguousAnswer,
    Command,
    EmptyCommand,
    NoCheckpointer,
    NoPendingInterrupt,
    UnknownThread,
    gather,
    interrupt,
)

from ..worlds import World, asked, questions


def asking(world: World) -> Any:
    """A workflow that asks one question."""

    @world.entrypoint
    async def wf() -> Any:
        return interrupt("sure?")

    return wf


def asking_twice(world: World) -> Any:
    """A workflow that asks two questions in parallel."""

    @world.task
    async def ask(x: int) -> Any:
        return interrupt(f"sure, {x}?")

    @world.entrypoint
    async def wf() -> list[Any]:
        return await world.value(gather(ask(1), ask(2)))

    return wf


def test_an_answer_to_no_question(world: World) -> None:
    """Answering a finished run is NoPendingInterrupt, and changes nothing."""
    wf = asking(world)
    world.invoke(wf, thread_id="t")
    world.resume(wf, "yes", "t")
    before = world.state(wf, "t")
    with pytest.raises(NoPendingInterrupt, match="nothing waits for the answer 'again'"):
        world.resume(wf, "again", "t")
    assert world.state(wf, "t") == before
    assert world.do(wf, "get_state", thread_id="t").values == "yes"


def test_an_answer_to_an_unknown_id(world: World) -> None:
    """An answer under an id that nobody asked lists those that wait."""
    wf = asking(world)
    (question,) = questions(world.invoke(wf, thread_id="t"))
    with pytest.raises(NoPendingInterrupt, match=question.id):
        world.resume(wf, {"0" * 32: "yes"}, "t")
    assert world.resume(wf, "yes", "t") == "yes"


def test_one_answer_to_several_questions(world: World) -> None:
    """A plain answer while two questions wait is ambiguous; the message lists their ids."""
    wf = asking_twice(world)
    found = questions(world.invoke(wf, thread_id="t"))
    with pytest.raises(
        AmbiguousAnswer, match=r"2 questions wait.*Command\(resume=\{id: answer\}\)"
    ) as raised:
        world.resume(wf, "yes", "t")
    assert all(question.id in str(raised.value) for question in found)
    assert world.resume(wf, {q.id: q.value for q in found}, "t") == ["sure, 1?", "sure, 2?"]


def test_a_command_with_nothing_in_it(world: World) -> None:
    """`Command()` is an EmptyCommand that says to write Command(resume=answer)."""
    wf = asking(world)
    world.invoke(wf, thread_id="t")
    with pytest.raises(EmptyCommand, match=r"write Command\(resume=answer\)"):
        world.invoke(wf, Command(), thread_id="t")
    assert asked(world.invoke(wf, None, thread_id="t")) == ["sure?"]


def test_a_command_that_an_entrypoint_cannot_obey(world: World) -> None:
    """An entrypoint has no state keys and one node: `update=` and `goto=` are refused, never dropped."""
    wf = asking(world)
    world.invoke(wf, thread_id="t")
    for command in (
        Command(update={"x": 1}),
        Command(goto="elsewhere"),
        Command(resume="yes", update={"x": 1}),
    ):
        with pytest.raises((EmptyCommand, TypeError, ValueError)):
            world.invoke(wf, command, thread_id="t")
    assert world.resume(wf, "yes", "t") == "yes"


@pytest.mark.parametrize("given", [None, Command(resume="yes")], ids=["None", "Command"])
def test_resuming_an_unknown_thread(world: World, given: Any) -> None:
    """There is nothing to resume on a thread that nobody used; asking doesn't make it known."""
    with pytest.raises(UnknownThread, match="thread 't' has nothing to resume: pass an input to start it"):
        world.invoke(asking(world), given, thread_id="t")
    assert world.saver.thread("t") is None


@pytest.mark.parametrize("given", [None, Command(resume="yes")], ids=["None", "Command"])
def test_resuming_without_naming_a_thread(world: World, given: Any) -> None:
    """Resuming needs a thread id; the message says to pass one."""
    with pytest.raises((UnknownThread, TypeError), match="thread_id"):
        world.invoke(asking(world), given)
    assert list(world.saver.threads()) == []


@pytest.mark.parametrize("given", [None, Command(resume="yes")], ids=["None", "Command"])
def test_resuming_without_a_checkpointer(world: World, given: Any) -> None:
    """A workflow that keeps nothing can't be resumed; the message says how to give it a checkpointer."""

    @world.entrypoint(checkpointer=None)
    async def wf() -> Any:
        return interrupt("sure?")

    with pytest.raises(NoCheckpointer, match=r"@entrypoint\(checkpointer='runs.db'\)"):
        world.invoke(wf, given, thread_id="t")


def test_going_on_with_a_finished_thread_returns_its_result(world: World) -> None:
    """`invoke(None)` on a finished thread runs nothing and returns what it came to."""

    @world.entrypoint
    async def wf(x: int) -> int:
        world.ran.append(x)
        return 2 * x

    world.invoke(wf, 2, thread_id="t")
    assert world.invoke(wf, None, thread_id="t") == 4
    assert world.ran == [2]


def test_a_new_input_gives_up_the_question(world: World) -> None:
    """A new input on a waiting thread starts anew; the old question can't be answered any more."""
    wf = asking(world)
    (old,) = questions(world.invoke(wf, thread_id="t"))

    @world.entrypoint(name="other")
    async def other(x: int) -> int:
        return x

    assert world.invoke(other, 3, thread_id="t") == 3
    with pytest.raises(NoPendingInterrupt):
        world.resume(other, {old.id: "yes"}, "t")


def test_an_answer_survives_a_failure_after_it(world: World) -> None:
    """An answer is recorded before the run goes on: where that fails, `invoke(None)` doesn't ask again (G8)."""
    failures = [True]

    @world.entrypoint
    async def wf() -> Any:
        answer = interrupt("sure?")
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return answer

    world.invoke(wf, thread_id="t")
    with pytest.raises(ConnectionError):
        world.resume(wf, "yes", "t")
    assert world.invoke(wf, None, thread_id="t") == "yes"


def test_an_answer_that_cannot_be_stored(world: World) -> None:
    """An answer that can't be stored is refused, and the question stays open."""
    from flowfn import SerializationError

    wf = asking(world)
    world.invoke(wf, thread_id="t")
    with pytest.raises(SerializationError, match="the answer to 'sure\\?'"):
        world.resume(wf, object(), "t")
    assert world.resume(wf, "yes", "t") == "yes"


def test_a_question_that_waits_is_named_by_its_key(world: World) -> None:
    """Who names another one is told what its author calls it, where that is told."""

    @world.entrypoint
    async def wf() -> Any:
        return interrupt("pay?", key="paid")

    world.invoke(wf, thread_id="t")
    with pytest.raises(NoPendingInterrupt, match=r"those that do: 'paid': 'pay\?'"):
        world.resume(wf, {"0" * 32: "yes"}, "t")
