"""Replay from a checkpoint, fork, and change the state of a thread (behaviour page 2.26, 2.28)."""

from typing import Any

import pytest

from flowfn import Command, InvalidInput, NoPendingInterrupt, StateSnapshot, interrupt

from ..worlds import World, asked, questions
from .flows import adding, increasing


def at(state: StateSnapshot) -> dict[str, Any]:
    """A config that names a state's checkpoint."""
    return {"configurable": dict(state.config["configurable"])}


def test_update_state_writes_result_and_previous(world: World) -> None:
    """Behaviour page 2.28: for an entrypoint the value becomes both the result and what the next call sees."""
    wf = adding(world)
    world.invoke(wf, 1, thread_id="t")
    config = world.do(wf, "update_state", None, 10, thread_id="t")
    state = world.state(wf, "t")
    assert (state.values, state.next, state.config) == (10, (), config)
    assert state.metadata is not None
    assert (state.metadata["source"], state.metadata["step"]) == ("update", 1)
    assert world.invoke(wf, 1, thread_id="t") == 11


def test_update_state_of_an_unused_thread(world: World) -> None:
    """A thread may begin with an update."""
    wf = adding(world)
    world.do(wf, "update_state", None, 5, thread_id="t")
    assert world.invoke(wf, 1, thread_id="t") == 6


def test_update_state_of_another_node(world: World) -> None:
    """An entrypoint has one node; `as_node` may name it and nothing else."""
    wf = adding(world)
    world.do(wf, "update_state", None, 5, "wf", thread_id="t")
    with pytest.raises(InvalidInput, match="has one node, 'wf'"):
        world.do(wf, "update_state", None, 5, "other", thread_id="t")
    assert world.state(wf, "t").values == 5


def test_update_state_gives_up_a_waiting_run(world: World) -> None:
    """An update of a thread that waits is its new head: nothing is next, and the question is gone."""
    wf = increasing(world)
    world.invoke(wf, 1, thread_id="t")
    world.do(wf, "update_state", None, "set", thread_id="t")
    state = world.state(wf, "t")
    assert (state.values, state.next, state.interrupts) == ("set", (), ())


def test_update_state_forks_from_an_older_checkpoint(world: World) -> None:
    """With `checkpoint_id` the new checkpoint is that one's child, and becomes the head."""
    wf = adding(world)
    for x in (1, 2):
        world.invoke(wf, x, thread_id="t")
    old = world.history(wf, "t")[2]
    world.do(wf, "update_state", at(old), 100)
    state = world.state(wf, "t")
    assert (state.values, state.parent_config) == (100, old.config)
    assert world.invoke(wf, 1, thread_id="t") == 101


def test_replay_from_a_checkpoint(world: World) -> None:
    """`invoke(None)` at a call's input checkpoint runs that call anew, as a fork; the old branch stays."""
    wf = adding(world)
    for x in (1, 2, 3):
        world.invoke(wf, x, thread_id="t")
    second_input = world.history(wf, "t")[3]
    ran = len(world.ran)
    assert world.invoke(wf, None, at(second_input)) == 3
    assert world.ran[ran:] == [(1, 2)]
    assert world.invoke(wf, 10, thread_id="t") == 13
    assert sorted({s.values for s in world.history(wf, "t")} - {None}) == [1, 3, 6, 13]


def test_a_new_input_at_a_checkpoint(world: World) -> None:
    """An input at an older checkpoint starts from what that one knew."""
    wf = adding(world)
    for x in (1, 2, 3):
        world.invoke(wf, x, thread_id="t")
    after_first = world.history(wf, "t")[4]
    assert world.invoke(wf, 10, at(after_first)) == 11
    assert world.state(wf, "t").values == 11


def test_going_back_before_a_question(world: World) -> None:
    """Replaying a call that asked asks again, and takes another answer."""
    wf = increasing(world)
    world.invoke(wf, 1, thread_id="t")
    world.resume(wf, "yes", "t")
    (start,) = world.history(wf, "t", filter={"source": "input"})
    assert asked(world.invoke(wf, None, at(start))) == ["ok?"]
    assert world.resume(wf, "no", "t")["a"] == "no"


def test_going_back_with_answers_by_id(world: World) -> None:
    """Who goes back to where questions were asked answers each by the id that it had, though it is asked anew."""

    @world.task
    async def ask(word: str) -> str:
        return f"{word}={interrupt(word)}"

    @world.entrypoint
    async def wf(words: list[str]) -> list[str]:
        return [await world.value(future) for future in [ask(word) for word in words]]

    ids = {question.value: question.id for question in questions(world.invoke(wf, ["x", "y"], thread_id="t"))}
    (start,) = world.history(wf, "t", filter={"source": "input"})
    world.resume(wf, {ids["x"]: 1, ids["y"]: 2}, "t")

    answers = Command(resume={ids["y"]: 4, ids["x"]: 3})
    assert world.invoke(wf, answers, at(start)) == ["x=3", "y=4"]
    assert asked(world.invoke(wf, Command(resume={ids["y"]: 5}), at(start))) == ["x"]
    with pytest.raises(NoPendingInterrupt, match="'x'"):
        world.invoke(wf, Command(resume={ids["x"]: 1, "0" * 32: 2}), at(start))
