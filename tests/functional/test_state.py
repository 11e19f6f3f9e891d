"""`get_state`, `get_state_history`, `update_state`, in LangGraph's shapes (behaviour page 2.27, 3.2)."""

from typing import Any

import pytest
from fastapi.encoders import jsonable_encoder
from pydantic_core import to_jsonable_python

from flowfn import InvalidInput, NoCheckpointer, StateSnapshot, UnknownCheckpoint

from ..worlds import World
from .flows import adding, increasing


def at(state: StateSnapshot) -> dict[str, Any]:
    """A config that names a state's checkpoint."""
    return {"configurable": dict(state.config["configurable"])}


def test_an_unused_thread(world: World) -> None:
    """A thread that nobody has used has no values and nothing next; looking doesn't make it known."""
    state = world.state(adding(world), "t")
    assert (state.values, state.next, state.tasks, state.interrupts) == (None, (), (), ())
    assert (state.metadata, state.created_at, state.parent_config) == (None, None, None)
    assert world.saver.thread("t") is None


def test_a_waiting_run(world: World) -> None:
    """C8: the head is the input's checkpoint; the entrypoint is next, and its task shows the question."""
    wf = increasing(world)
    world.invoke(wf, 1, thread_id="t")
    state = world.state(wf, "t")
    (task,) = state.tasks
    assert (state.values, state.next) == (None, ("wf",))
    assert [question.value for question in state.interrupts] == ["ok?"]
    assert (task.name, task.path, task.interrupts, task.error, task.result) == (
        "wf", ("__pregel_pull", "wf"), state.interrupts, None, None,
    )  # fmt: skip


def test_a_waiting_run_shows_its_calls(world: World) -> None:
    """Section 3: also for entrypoints, the state shows each recorded task call."""
    wf = increasing(world)
    world.invoke(wf, 1, thread_id="t")
    (task,) = world.state(wf, "t").tasks
    shown = [(call.name, call.status, call.result) for call in task.calls if call.name == "inc"]
    assert shown == [("inc", "done", 2), ("inc", "done", 3)]
    assert [call.arguments for call in task.calls if call.name == "inc"] == ["x=1", "x=2"]
    assert [call.status for call in task.calls if call.name == "interrupt"] == ["asked"]


def test_a_waiting_run_as_json(world: World) -> None:
    """A web application can answer with a state: its calls are plain, but for their results."""
    wf = increasing(world)
    world.invoke(wf, 1, thread_id="t")
    state = world.state(wf, "t")
    by_pydantic = to_jsonable_python(state.tasks[0].calls)
    assert jsonable_encoder(state.tasks[0].calls) == by_pydantic
    assert [(call["name"], call["status"], call["arguments"]) for call in by_pydantic] == [
        ("inc", "done", "x=1"), ("inc", "done", "x=2"), ("interrupt", "asked", "value='ok?'"),
    ]  # fmt: skip
    assert "result" not in by_pydantic[0]


def test_a_finished_run(world: World) -> None:
    """C8: the result, nothing next, source "loop" and step 0."""
    wf = increasing(world)
    world.invoke(wf, 1, thread_id="t")
    world.resume(wf, "yes", "t")
    state = world.state(wf, "t")
    assert (state.values, state.next, state.tasks) == ({"r": [2, 3], "a": "yes", "prev": None}, (), ())
    assert state.metadata is not None
    assert (state.metadata["source"], state.metadata["step"]) == ("loop", 0)


def test_a_failed_run_shows_its_error(world: World) -> None:
    """After an error the entrypoint is next again, and its task shows the error."""

    @world.entrypoint
    async def wf(x: int) -> int:
        raise KeyError("gone")

    with pytest.raises(KeyError):
        world.invoke(wf, 1, thread_id="t")
    state = world.state(wf, "t")
    assert state.next == ("wf",)
    assert "gone" in str(state.tasks[0].error)


def test_the_history_of_two_calls(world: World) -> None:
    """C8: two checkpoints per call, input and loop; steps go on; newest first."""
    wf = increasing(world)
    for x, answer in ((1, "yes"), (5, "y2")):
        world.invoke(wf, x, thread_id="t")
        world.resume(wf, answer, "t")
    first = {"r": [2, 3], "a": "yes", "prev": None}
    shown = [(s.metadata["source"], s.metadata["step"], s.next, s.values) for s in world.history(wf, "t")]  # type: ignore[index]
    assert shown == [
        ("loop", 2, (), {"r": [6, 7], "a": "y2", "prev": 5}),
        ("input", 1, ("wf",), first),
        ("loop", 0, (), first),
        ("input", -1, ("wf",), None),
    ]


def test_each_checkpoint_names_its_parent(world: World) -> None:
    """`parent_config` leads from each checkpoint to the one before it."""
    wf = adding(world)
    for x in (1, 2):
        world.invoke(wf, x, thread_id="t")
    history = world.history(wf, "t")
    assert [s.parent_config for s in history] == [*[s.config for s in history[1:]], None]
    assert [s.config["configurable"]["thread_id"] for s in history] == ["t"] * 4


def test_history_can_be_limited(world: World) -> None:
    """`limit` counts, `before` is exclusive, `filter` compares metadata, a checkpoint id picks one."""
    wf = adding(world)
    for x in (1, 2, 3):
        world.invoke(wf, x, thread_id="t")

    def found(**options: Any) -> list[Any]:
        return [state.config for state in world.history(wf, "t", **options)]

    history = found()
    assert found(limit=2) == history[:2]
    assert found(before=history[2]) == history[3:]
    assert found(before=history[1], limit=1) == history[2:3]
    assert found(filter={"source": "input"}) == history[1::2]
    assert found(filter={"source": "loop", "step": 0}) == history[4:5]
    assert [state.config for state in world.do(wf, "get_state_history", history[3])] == history[3:4]


def test_metadata_of_a_call_is_kept(world: World) -> None:
    """What a config's `metadata` says can be seen and filtered by."""
    wf = adding(world)
    world.invoke(wf, 1, {"metadata": {"who": "ann"}}, thread_id="t")
    world.invoke(wf, 2, {"metadata": {"who": "bob"}}, thread_id="t")
    (found,) = list(world.history(wf, "t", filter={"who": "ann", "source": "input"}))
    assert found.metadata is not None
    assert found.metadata["who"] == "ann"


def test_an_older_state(world: World) -> None:
    """`configurable.checkpoint_id` shows the state as it was then."""
    wf = adding(world)
    for x in (1, 2):
        world.invoke(wf, x, thread_id="t")
    for state in world.history(wf, "t"):
        again = world.do(wf, "get_state", at(state))
        assert (again.values, again.next, again.config) == (state.values, state.next, state.config)


def test_a_config_whose_places_are_empty(world: World) -> None:
    """It points at the thread's last checkpoint, as without them."""
    wf = adding(world)
    world.do(wf, "invoke", 1, thread_id="t")
    for empty in ("", None):
        config = {"configurable": {"thread_id": "t", "checkpoint_ns": empty, "checkpoint_id": empty}}
        assert world.do(wf, "get_state", config) == world.state(wf, "t")


def test_two_looks_at_one_state_are_equal(world: World) -> None:
    """A snapshot is a plain value: looking twice gives equal ones, recorded calls included."""
    wf = increasing(world)
    world.invoke(wf, 1, thread_id="t")
    assert world.state(wf, "t") == world.state(wf, "t")


def test_what_cannot_be_looked_at(world: World) -> None:
    """An unknown checkpoint, no thread id and no checkpointer are typed errors."""
    wf = adding(world)
    world.invoke(wf, 1, thread_id="t")
    nowhere = {"configurable": {"thread_id": "t", "checkpoint_id": "nowhere"}}
    for look in (
        lambda: world.do(wf, "get_state", nowhere),
        lambda: world.do(wf, "update_state", nowhere, 1),
        lambda: world.invoke(wf, None, nowhere),
        lambda: world.invoke(wf, 1, nowhere),
    ):
        with pytest.raises(UnknownCheckpoint, match="no checkpoint 'nowhere'"):
            look()
    with pytest.raises(InvalidInput, match="no thread is named"):
        world.do(wf, "get_state", {})

    @world.entrypoint(checkpointer=None)
    async def forgetful(x: int) -> int:
        return x

    with pytest.raises(NoCheckpointer):
        world.state(forgetful, "t")
    with pytest.raises(NoCheckpointer):  # naming a thread would be of no use
        world.do(forgetful, "get_state", {})
    assert world.state(wf, "t").values == 1
