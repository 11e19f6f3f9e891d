"""The rest between two attempts holds up nobody: where a run fails or is cancelled it is over, and none follows."""

import asyncio
import threading
from contextlib import suppress
from typing import Any, TypedDict

import pytest

from checkpointers import MemorySaver
from flowfn import RetryPolicy, entrypoint, task
from graph_compat.graph import START, StateGraph

LONG = RetryPolicy(initial_interval=100, max_interval=100, jitter=False)


class State(TypedDict, total=False):
    x: int


class Flaky:
    """What fails at each attempt, on a thread, and says so."""

    def __init__(self) -> None:
        self.attempts = 0
        self.failed = threading.Event()

    def __call__(self, state: Any) -> Any:
        self.attempts += 1
        self.failed.set()
        raise ConnectionError("lost")

    async def has_failed(self, state: Any) -> Any:
        """What ends a run once that has happened."""
        await asyncio.to_thread(self.failed.wait, 60)
        raise ValueError("boom")


def graph(flaky: Flaky, *beside: Any) -> Any:
    """A node that is tried again, and others beside it."""
    builder: Any = StateGraph(State)
    builder.add_node("flaky", lambda state: flaky(state), retry_policy=LONG).add_edge(START, "flaky")
    for node in beside:
        builder.add_node("other", node).add_edge(START, "other")
    return builder


def nested(flaky: Flaky) -> Any:
    """A node that calls a graph in which one is tried again."""
    inner = graph(flaky).compile()
    return StateGraph(State).add_node("inner", lambda state: inner.invoke({})).add_edge(START, "inner")


def workflow(flaky: Flaky, saver: Any) -> Any:
    """A workflow of a task that is tried again, and of nothing else."""
    work = task(flaky, name="flaky", retry_policy=LONG)

    @entrypoint(checkpointer=saver)
    async def wf(state: Any) -> Any:
        return await work(state)

    return wf


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("is_nested", [True, False])
def test_a_failure_beside_it_ends_a_rest(is_nested: bool, kept: bool) -> None:
    """Of a node on a thread, which can't be cancelled, and of what it has nested in itself."""
    flaky = Flaky()
    builder = nested(flaky) if is_nested else graph(flaky)
    builder.add_node("fatal", flaky.has_failed).add_edge(START, "fatal")
    compiled = builder.compile(checkpointer=MemorySaver() if kept else None)
    with pytest.raises(ValueError, match="boom"):
        asyncio.run(compiled.ainvoke({}, {"configurable": {"thread_id": "t"}}))
    assert flaky.attempts == 1


@pytest.mark.parametrize("kept", [True, False])
def test_a_failure_of_its_caller_ends_a_tasks_rest(kept: bool) -> None:
    """After an error those that failed aren't tried again."""
    flaky = Flaky()
    work = task(flaky, name="flaky", retry_policy=LONG)

    @entrypoint(checkpointer=MemorySaver() if kept else None)
    async def wf(state: Any) -> Any:
        work(state)
        await flaky.has_failed(state)

    with pytest.raises(ValueError, match="boom"):
        asyncio.run(wf.ainvoke(1, thread_id="t"))
    assert flaky.attempts == 1


@pytest.mark.parametrize("kept", [True, False])
def test_a_failure_of_its_caller_ends_the_rest_of_an_async_task(kept: bool) -> None:
    """That isn't cancelled, and has a hundred seconds to go."""
    flaky = Flaky()

    @task(retry_policy=LONG)
    async def work(state: Any) -> Any:
        return flaky(state)

    @entrypoint(checkpointer=MemorySaver() if kept else None)
    async def wf(state: Any) -> Any:
        work(state)
        await flaky.has_failed(state)

    async def within_a_minute() -> None:
        async with asyncio.timeout(60):
            await wf.ainvoke(1, thread_id="t")

    with pytest.raises(ValueError, match="boom"):
        asyncio.run(within_a_minute())
    assert flaky.attempts == 1


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("kind", ["lone", "beside", "nested", "task"])
def test_a_cancellation_ends_a_rest(kind: str, kept: bool) -> None:
    """Neither the run nor the end of the event loop waits for another attempt."""
    flaky, saver = Flaky(), MemorySaver() if kept else None

    async def other(state: Any) -> None:
        await asyncio.Event().wait()

    kinds: dict[str, Any] = {
        "lone": lambda: graph(flaky).compile(checkpointer=saver),
        "beside": lambda: graph(flaky, other).compile(checkpointer=saver),
        "nested": lambda: nested(flaky).compile(checkpointer=saver),
        "task": lambda: workflow(flaky, saver),
    }

    async def cancelled() -> None:
        running = asyncio.create_task(kinds[kind]().ainvoke({}, {"configurable": {"thread_id": "t"}}))
        await asyncio.to_thread(flaky.failed.wait, 60)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    assert flaky.attempts == 1


def test_a_rest_that_was_ended_leaves_the_task_under_way() -> None:
    """It has tries left, and no record: with its run it begins anew."""
    saver, flaky = MemorySaver(), Flaky()
    fatal = graph(flaky, flaky.has_failed).compile(checkpointer=saver)
    thread = {"configurable": {"thread_id": "t"}}
    with pytest.raises(ValueError, match="boom"):
        asyncio.run(fatal.ainvoke({}, thread))
    state = fatal.get_state(thread)
    assert {each.name: each.error for each in state.tasks} == {"flaky": None, "other": "ValueError('boom')"}


def test_who_leaves_a_stream_waits_for_no_rest() -> None:
    """Blocking, too: the run ends on its thread, and the consumer waits for that."""
    flaky = Flaky()

    def ends(state: Any) -> Any:
        assert flaky.failed.wait(60)
        return {}

    stream = graph(flaky, ends).compile().stream({}, stream_mode="updates")
    next(stream)
    stream.close()
    assert flaky.attempts == 1
