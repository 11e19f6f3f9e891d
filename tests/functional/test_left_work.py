"""Work under way when whoever watched or awaited its run left: it can't be stopped, and what it gives counts."""

import asyncio
import threading
from collections.abc import Sequence
from concurrent import futures
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import as_completed, entrypoint, task
from flowfn.errors import Cancelled
from flowfn.invocation.order import Started
from flowfn.ports import Commit, Lease
from flowfn.saver_around import SaverAround

from ..worlds import World


class Slow:
    """A task that ends when it is told to; `ran` counts how often it did."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.ran = 0

    def __call__(self, number: int) -> int:
        self.begun.set()
        assert self.may_end.wait(60)
        self.ran += 1
        return number


class SlowToEnd(SaverAround):
    """Makes the last commit of a run when it is told to; `order` is that of this and of giving the lease back."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.order: list[str] = []

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        if not any(map(self.is_last, commits)):
            return super().commit(commits, wait=wait)
        if not wait:
            raise BlockingIOError("busy")
        self.begun.set()
        assert self.may_end.wait(60)
        made = super().commit(commits)
        self.order.append("made")
        return made

    def is_last(self, commit: Commit) -> bool:
        return commit.status == "done"

    def release(self, lease: Lease) -> None:
        self.order.append("released")
        super().release(lease)


def test_a_task_that_ends_after_its_stream_was_left_does_not_run_again(
    sync_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who leaves a stream waits for the threads of its run, and what they give is recorded."""
    slow, leave = Slow(), Started.leave

    def leave_and_let_end(started: Started) -> None:
        leave(started)
        slow.may_end.set()

    monkeypatch.setattr(Started, "leave", leave_and_let_end)
    quick, slow_task = task(lambda number: number, name="quick"), task(slow, name="slow")

    @entrypoint(checkpointer=sync_world.saver)
    def wf(number: int) -> list[int]:
        futures = [slow_task(number)]
        assert slow.begun.wait(60)
        return [quick(number).result(), *(future.result() for future in futures)]

    stream = wf.stream(1, thread_id="t", stream_mode="updates")
    assert next(stream) == {"quick": 1}
    stream.close()
    assert (wf.invoke(None, thread_id="t"), slow.ran) == ([1, 1], 1)


def test_a_task_that_ends_after_its_run_was_cancelled_does_not_run_again(sync_world: World) -> None:
    """The end of the event loop waits for code on threads, and what it gives is recorded."""
    slow = Slow()
    slow_task = task(slow, name="slow")

    @entrypoint(checkpointer=sync_world.saver)
    async def wf(number: int) -> int:
        return await slow_task(number)

    async def cancelled() -> None:
        running = asyncio.create_task(wf.ainvoke(1, thread_id="t"))
        await asyncio.to_thread(slow.begun.wait, 60)
        running.cancel()
        slow.may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    assert (asyncio.run(wf.ainvoke(None, thread_id="t")), slow.ran) == (1, 1)


def test_a_run_that_is_cancelled_ends_when_its_commit_is_made(sync_world: World) -> None:
    """Whoever looks at the thread next sees what became of it, and not the thread as it was."""
    saver = SlowToEnd(sync_world.saver)

    @entrypoint(checkpointer=saver)
    async def wf(number: int) -> int:
        return number

    async def cancelled() -> None:
        running = asyncio.create_task(wf.ainvoke(1, thread_id="t"))
        await asyncio.to_thread(saver.begun.wait, 60)
        running.cancel()
        for _ in range(20):  # turns, in which it would have ended
            await asyncio.sleep(0)
        saver.may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (saver.order, wf.thread("t").status) == (["made", "released"], "done")

    asyncio.run(cancelled())


class SlowToKeep(SlowToEnd):
    """Of a run with `durability="exit"` the last commit is the only one."""

    def is_last(self, commit: Commit) -> bool:
        return True


async def cancelled_again_and_again(running: asyncio.Task[Any]) -> None:
    """As `anyio` does, in each turn of the loop until it has ended."""
    while not running.done():
        running.cancel()
        await asyncio.sleep(0)
    assert running.cancelled()


def is_held(saver: Any) -> bool:
    """Whether somebody has the thread, so that others wait for it."""
    return saver.thread("t").owner is not None


@pytest.mark.parametrize("is_nested", [False, True])
def test_a_run_that_is_cancelled_again_and_again_keeps_its_thread_while_its_tasks_run(
    sync_world: World, is_nested: bool
) -> None:
    """G4: whoever waits for it calls no task beside itself, and gets what it gave."""
    slow = Slow()
    slow_task = task(slow, name="slow")

    @task
    async def around(number: int) -> int:
        return await slow_task(number)

    @entrypoint(checkpointer=sync_world.saver)
    async def wf(number: int) -> int:
        return await (around(number) if is_nested else slow_task(number))

    async def cancelled() -> int:
        running = asyncio.create_task(wf.ainvoke(1, thread_id="t"))
        await asyncio.to_thread(slow.begun.wait, 60)
        await cancelled_again_and_again(running)
        kept = is_held(sync_world.saver)
        slow.may_end.set()
        assert kept
        return await wf.ainvoke(None, thread_id="t")

    assert (asyncio.run(cancelled()), slow.ran) == (1, 1)


def test_a_run_that_is_cancelled_while_it_keeps_its_work_keeps_its_thread_while_its_tasks_run(
    sync_world: World,
) -> None:
    """G4: also where it is cancelled as it makes its last commit."""
    slow, saver = Slow(), SlowToKeep(sync_world.saver)

    @entrypoint(checkpointer=saver)
    async def wf(number: int) -> int:
        return await task(slow, name="slow")(number)

    async def cancelled() -> bool:
        running = asyncio.create_task(wf.ainvoke(1, thread_id="t", durability="exit"))
        await asyncio.to_thread(slow.begun.wait, 60)
        cancelling = asyncio.create_task(cancelled_again_and_again(running))
        await asyncio.to_thread(saver.begun.wait, 60)
        saver.may_end.set()
        await cancelling
        kept = is_held(saver)
        slow.may_end.set()
        return kept

    assert asyncio.run(cancelled())


def test_the_end_of_a_loop_waits_for_what_was_left_on_threads(capfd: pytest.CaptureFixture[str]) -> None:
    """As for `asyncio.to_thread`, and nothing is printed about it."""
    from graph_compat.graph import START, StateGraph

    slow = Slow()
    graph: Any = StateGraph(dict)
    graph.add_node("quick", lambda state: {"n": 0} if slow.begun.wait(60) else {})
    graph.add_node("slow", lambda state: {"n": slow(1)})
    compiled = graph.add_edge(START, "quick").add_edge(START, "slow").compile()

    async def left() -> None:
        stream = compiled.astream({"n": 0}, stream_mode="updates")
        await anext(stream)
        await stream.aclose()
        asyncio.get_running_loop().call_soon(slow.may_end.set)

    asyncio.run(left())
    assert (slow.ran, capfd.readouterr().err) == (1, "")


@pytest.mark.parametrize("caller", ["blocking", "asyncio"])
def test_the_only_node_of_a_superstep_does_not_run_again_either(
    caller: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its record goes with the checkpoint that it leads to, unless its run is left, and makes none."""
    from checkpointers import MemorySaver
    from graph_compat.config import get_stream_writer
    from graph_compat.graph import START, StateGraph

    slow, leave = Slow(), Started.leave

    def leave_and_let_end(started: Started) -> None:
        leave(started)
        slow.may_end.set()

    def node(state: dict[str, int]) -> dict[str, int]:
        get_stream_writer()("begun")
        return {"n": slow(1)}

    monkeypatch.setattr(Started, "leave", leave_and_let_end)
    builder: Any = StateGraph(dict)
    graph = builder.add_node("node", node).add_edge(START, "node").compile(checkpointer=MemorySaver())
    config = {"configurable": {"thread_id": "t"}}

    async def left() -> None:
        stream = graph.astream({"n": 0}, config, stream_mode="custom")
        assert await anext(stream) == "begun"
        await stream.aclose()

    if caller == "asyncio":
        asyncio.run(left())
    else:
        stream = graph.stream({"n": 0}, config, stream_mode="custom")
        assert next(stream) == "begun"
        stream.close()
    assert (graph.invoke(None, config), slow.ran) == ({"n": 1}, 1)


@pytest.mark.parametrize("limit", [None, 2])
def test_the_end_of_a_loop_waits_for_nothing_that_was_never_begun(limit: int | None) -> None:
    """Of more nodes than there are threads, or places, those that wait for one are given up with their run."""
    from graph_compat.graph import START, StateGraph
    from graph_compat.types import Send

    slow = Slow()
    graph: Any = StateGraph(dict).add_node("slow", lambda number: slow(number) and {})
    graph.add_conditional_edges(
        START, lambda state: [Send("slow", number) for number in range(1, 101)], ["slow"]
    )
    compiled = graph.compile()

    async def cancelled() -> None:
        running = asyncio.create_task(compiled.ainvoke({}, {"max_concurrency": limit}))
        await asyncio.to_thread(slow.begun.wait, 60)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        slow.may_end.set()

    asyncio.run(cancelled())
    assert 0 < slow.ran < 100


@pytest.mark.parametrize(
    "waits", [futures.wait, lambda calls: [*as_completed(calls)]], ids=["concurrent.futures", "flowfn"]
)
def test_code_that_was_left_on_a_thread_waits_for_nothing_that_was_never_begun(waits: Any) -> None:
    """Its calls are cancelled with its run, however it waits for them."""
    slow, slow_wf = Slow(), Slow()
    raised: list[type[BaseException]] = []
    slow_task = task(slow, name="slow")

    @entrypoint(checkpointer=MemorySaver())
    def wf() -> None:
        calls = [slow_task(number) for number in range(4)]
        slow_wf(0)
        waits(calls)
        try:
            calls[-1].result()
        except BaseException as error:
            raised.append(type(error))
            raise

    async def cancelled() -> None:
        running = asyncio.create_task(wf.ainvoke({}, {"max_concurrency": 1}, thread_id="t"))
        await asyncio.to_thread(slow_wf.begun.wait, 60)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        slow.may_end.set()
        slow_wf.may_end.set()

    asyncio.run(cancelled())
    assert raised == [Cancelled]
