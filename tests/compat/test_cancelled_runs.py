"""A run that is cancelled, or left, has ended when its caller goes on: no node's clean-up outlives it."""

import asyncio
from contextlib import suppress
from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from graph_compat.checkpoint.memory import InMemorySaver
from graph_compat.func import task
from graph_compat.graph import START, StateGraph
from graph_compat.types import Command, Send, interrupt

ONE = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    x: Annotated[list[Any], add]


class Nodes:
    """Two nodes that run side by side: one waits in vain, and takes turns of the loop to clean up."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.begun = asyncio.Event()

    async def waits(self, state: State) -> State:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.log.append("begins to clean up")
            for _ in range(50):
                await asyncio.sleep(0)
            self.log.append("has cleaned up")
        return {"x": ["waits"]}

    async def ends(self, state: State) -> State:
        return {"x": ["ends"]}

    def builder(self) -> Any:
        builder = StateGraph(State).add_node("waits", self.waits).add_node("ends", self.ends)
        return builder.add_edge(START, "waits").add_edge(START, "ends")


def nested(builder: Any) -> Any:
    return StateGraph(State).add_node("nested", builder.compile()).add_edge(START, "nested")


async def read(graph: Any) -> None:
    async for _ in graph.astream({"x": []}, ONE):
        pass


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("is_nested", [False, True])
async def test_a_cancelled_run_waits_for_its_nodes(is_nested: bool, streams: bool) -> None:
    """Whoever cancelled it finds nothing of it under way: what it starts next doesn't run beside what it stopped."""
    nodes = Nodes()
    builder = nested(nodes.builder()) if is_nested else nodes.builder()
    graph = builder.compile(checkpointer=InMemorySaver())
    run = asyncio.create_task(read(graph) if streams else graph.ainvoke({"x": []}, ONE))
    await nodes.begun.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert nodes.log == ["begins to clean up", "has cleaned up"]


async def test_a_stream_that_is_left_waits_for_its_nodes() -> None:
    """So does who closes a stream that hasn't ended."""
    nodes = Nodes()
    stream = nodes.builder().compile(checkpointer=InMemorySaver()).astream({"x": []}, ONE)
    async for _ in stream:  # the other node's update
        break
    await nodes.begun.wait()
    await stream.aclose()
    assert nodes.log == ["begins to clean up", "has cleaned up"]


class Cleaning:
    """A node that is sent to thrice; each takes longer to clean up than the one before it."""

    def __init__(self) -> None:
        self.begun = self.cleaned = 0
        self.fails = asyncio.Event()

    async def waits(self, state: State) -> State:
        self.begun += 1
        turns = 50 * self.begun
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(turns):
                await asyncio.sleep(0)
            self.cleaned += 1
        return {"x": ["waits"]}

    async def broken(self, state: State) -> State:
        await self.fails.wait()
        raise ValueError

    def graph(self) -> Any:
        builder = StateGraph(State).add_node(self.waits).add_node(self.broken).add_edge(START, "broken")
        return builder.add_conditional_edges(START, lambda _: [Send("waits", {"x": []})] * 3).compile()

    async def begin(self, **options: Any) -> asyncio.Task[Any]:
        run = asyncio.create_task(self.graph().ainvoke({"x": []}, options))
        while not self.begun:
            await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)
        return run


@pytest.mark.parametrize("limit", [None, 2])
async def test_no_clean_up_cuts_off_another(limit: int | None) -> None:
    """A node that has cleaned up, or never began, doesn't cancel those beside it once more."""
    nodes = Cleaning()
    run = await nodes.begin(max_concurrency=limit)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert nodes.cleaned == nodes.begun == (limit or 3)


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_failure_stops_each_node_once(cancelled: bool) -> None:
    """What a failure stops cleans up to its end, also where somebody cancels the run meanwhile."""
    nodes = Cleaning()
    run = await nodes.begin()
    nodes.fails.set()
    for _ in range(10):
        await asyncio.sleep(0)
    if cancelled:
        run.cancel()
    with pytest.raises(asyncio.CancelledError if cancelled else ValueError):
        await run
    assert nodes.cleaned == 3


async def test_a_second_cancellation_reaches_the_nodes() -> None:
    """Who has no patience with what cleans up cancels once more, as a lone node is cancelled twice."""
    nodes = Nodes()
    run = asyncio.create_task(nodes.builder().compile().ainvoke({"x": []}))
    await nodes.begun.wait()
    run.cancel()
    while not nodes.log:
        await asyncio.sleep(0)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert nodes.log == ["begins to clean up"]


@pytest.mark.parametrize("stopped", ["cancelled", "out of time", "out of anyio's time", "by a failure"])
@pytest.mark.parametrize("kind", ["node", "task"])
async def test_what_ended_counts_though_that_is_still_told(kind: str, stopped: str) -> None:
    """G1: it doesn't run again because a callback's handler took its time when the run was stopped."""
    pytest.importorskip("langchain_core")
    anyio: Any = pytest.importorskip("anyio")
    from langchain_core.callbacks import AsyncCallbackHandler

    ran: list[str] = []
    told = asyncio.Event()

    class Slow(AsyncCallbackHandler):
        async def on_chain_end(self, *args: Any, **kwargs: Any) -> None:
            told.set()
            await asyncio.Event().wait()

    @task
    async def charge() -> str:
        ran.append("charged")
        return "charged"

    async def ends(state: State) -> State:
        if kind == "task":
            return {"x": [await charge()]}
        ran.append("charged")
        return {"x": ["charged"]}

    async def beside(state: State) -> State:
        await told.wait()
        if stopped == "by a failure" and len(ran) == 1 and not again:
            raise ConnectionError("lost")
        return {"x": []}

    again: list[None] = []
    builder = StateGraph(State).add_node(ends).add_node(beside)
    graph = builder.add_edge(START, "ends").add_edge(START, "beside").compile(checkpointer=InMemorySaver())

    async def run() -> None:
        async with asyncio.timeout(None) as limit:
            with anyio.fail_after(None) as scope:
                running = asyncio.create_task(told.wait())
                if stopped == "out of time":
                    running.add_done_callback(lambda _: limit.reschedule(0))
                elif stopped == "out of anyio's time":
                    running.add_done_callback(lambda _: setattr(scope, "deadline", 0))
                await graph.ainvoke({"x": []}, {**ONE, "callbacks": [Slow()]})

    running = asyncio.create_task(run())
    await told.wait()
    if stopped == "cancelled":
        running.cancel()
    errors = {
        "cancelled": asyncio.CancelledError,
        "out of time": TimeoutError,
        "out of anyio's time": TimeoutError,
        "by a failure": ConnectionError,
    }
    with pytest.raises(errors[stopped]):
        await running
    again.append(None)
    assert (await graph.ainvoke(None, ONE))["x"] == ["charged"]
    assert ran == ["charged"]


async def asks(state: State) -> State:
    return {"x": [interrupt("which?")]}


@pytest.mark.parametrize("is_nested", [False, True])
async def test_a_question_that_was_shown_can_be_answered_by_who_left_the_stream(is_nested: bool) -> None:
    """G1: though a node beside it was still under way, and the run hadn't stopped for it yet."""
    goes_on = asyncio.Event()

    async def beside(state: State) -> State:
        await goes_on.wait()
        return {"x": ["beside"]}

    builder: Any = StateGraph(State).add_node(asks).add_edge(START, "asks")
    if is_nested:
        builder = nested(builder)
    graph = builder.add_node(beside).add_edge(START, "beside").compile(checkpointer=InMemorySaver())
    stream = graph.astream({"x": []}, ONE, stream_mode="updates", subgraphs=True)
    async for _, update in stream:
        if "__interrupt__" in update:
            break
    await stream.aclose()
    assert [question.value for question in (await graph.aget_state(ONE)).interrupts] == ["which?"]
    goes_on.set()
    answered = await graph.ainvoke(Command(resume="this"), ONE)
    assert sorted(answered["x"]) == ["beside", "this"]


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_a_group_that_failed_leaves_no_cancellation(is_cancelled: bool) -> None:
    """Code that has handled the errors of a `TaskGroup` has asked, though it stops a task of its own as it unwinds,
    unless its run is cancelled before that."""
    runs: list[asyncio.Task[Any]] = []

    async def fails() -> None:
        raise ValueError

    async def asks(state: State) -> State:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.Event().wait())
                group.create_task(fails())
        except* ValueError:
            pass
        beat = asyncio.create_task(asyncio.Event().wait())
        if is_cancelled:
            runs[0].cancel()
        try:
            return {"x": [interrupt("which?")]}
        finally:
            beat.cancel()
            await beat

    builder = StateGraph(State).add_node(asks).add_edge(START, "asks")
    runs.append(asyncio.create_task(builder.compile(checkpointer=InMemorySaver()).ainvoke({"x": []}, ONE)))
    if is_cancelled:
        with pytest.raises(asyncio.CancelledError):
            await runs[0]
    else:
        assert [question.value for question in (await runs[0])["__interrupt__"]] == ["which?"]


@pytest.mark.parametrize("drains", [False, True])
async def test_code_that_stops_a_task_of_its_own_as_it_unwinds_has_asked(drains: bool) -> None:
    """A cancellation that the run's own code meant for another task is none of the run, nor is one that who calls it
    has made light of before, to end with a last run."""

    async def cleans_up(state: State) -> State:
        beat = asyncio.create_task(asyncio.Event().wait())
        await asyncio.sleep(0)
        try:
            return {"x": [interrupt("which?")]}
        finally:
            beat.cancel()
            if not answered:
                await beat

    answered: list[None] = []
    builder = StateGraph(State).add_node(cleans_up).add_edge(START, "cleans_up")
    graph = builder.compile(checkpointer=InMemorySaver())

    async def work() -> Any:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait() if drains else None
        return await graph.ainvoke({"x": []}, ONE)

    worker = asyncio.create_task(work())
    await asyncio.sleep(0)
    if drains:
        worker.cancel()
    asked = await worker
    assert [question.value for question in asked["__interrupt__"]] == ["which?"]
    answered.append(None)
    assert await graph.ainvoke(Command(resume="this"), ONE) == {"x": ["this"]}


async def test_who_cancels_a_run_that_unwinds_for_a_question_is_told() -> None:
    """Its caller stops, as a timeout has it; the question is asked again where the run goes on."""
    unwinds = asyncio.Event()

    async def cleans_up(state: State) -> State:
        try:
            return {"x": [interrupt("which?")]}
        finally:
            if not unwinds.is_set():
                unwinds.set()
                await asyncio.Event().wait()

    builder = StateGraph(State).add_node(cleans_up).add_edge(START, "cleans_up")
    graph = builder.compile(checkpointer=InMemorySaver())
    run = asyncio.create_task(graph.ainvoke({"x": []}, ONE))
    await unwinds.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert [question.value for question in (await graph.ainvoke(None, ONE))["__interrupt__"]] == ["which?"]
    assert await graph.ainvoke(Command(resume="this"), ONE) == {"x": ["this"]}
