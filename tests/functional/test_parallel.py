"""Tasks that are called before any is waited for run in parallel, and no limit makes them wait for ever."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import as_completed, entrypoint, gather, task
from flowfn.context import current_frame
from flowfn.hosts import claims, commits, threads
from flowfn.hosts.admission import Admission
from flowfn.hosts.waker import Waker
from flowfn.ports import Commit, Lease

from ..worlds import Rendezvous, World


def timeouts(calls: Any) -> None:
    """Wait for calls one by one, each within a time."""
    for call in calls:
        call.result(60)


def pool(calls: Any) -> None:
    """Wait for calls on threads that are no part of the run."""
    with futures.ThreadPoolExecutor() as threads:
        list(threads.map(lambda call: call.result(), calls))


def in_turn(calls: Any) -> None:
    """Wait for calls as they end."""
    for _ in as_completed(calls):
        pass


def callbacks(calls: Any) -> None:
    """Wait for calls by what they call when they are done."""
    done = threading.Semaphore(0)
    for call in calls:
        call.add_done_callback(lambda _: done.release())
    for _ in calls:
        done.acquire()


def test_calls_run_at_the_same_time(world: World) -> None:
    """Three tasks that wait for each other all end."""
    rendezvous = Rendezvous(world, 3)

    @world.task
    async def meet(x: int) -> int:
        await rendezvous.meet()
        return x

    @world.entrypoint
    async def wf() -> list[int]:
        return await world.value(gather(meet(x) for x in range(3)))

    assert world.invoke(wf) == [0, 1, 2]


def test_a_lone_call_runs_while_its_caller_does_something_else(sync_world: World) -> None:
    """A task is on its way although nobody waits for its future."""
    world, started = sync_world, threading.Event()

    @world.task
    def start() -> None:
        started.set()

    @world.entrypoint
    def wf() -> bool:
        start()
        return started.wait(10)

    assert world.invoke(wf) is True


def test_map_calls_once_per_item(world: World) -> None:
    """`task.map(xs)` gives one future per item, in their order; several iterables give rows."""

    @world.task
    async def add(x: int, y: int = 0) -> int:
        return x + y

    @world.entrypoint
    async def wf() -> list[list[int]]:
        return [
            await world.value(gather(add.map([1, 2, 3]))),
            await world.value(gather(add.map([1, 2, 3], [10, 20]))),
            await world.value(gather(add.map([1, 2], y=5))),
        ]

    assert world.invoke(wf) == [[1, 2, 3], [11, 22], [6, 7]]


def test_max_concurrency_bounds_what_runs(world: World) -> None:
    """`max_concurrency` is how many calls execute at the same time."""
    inside: list[int] = []
    most: list[int] = []

    @world.task
    async def work(x: int) -> int:
        inside.append(x)
        most.append(len(inside))
        if world.is_async:
            await asyncio.sleep(0)
        inside.remove(x)
        return x

    @world.entrypoint
    async def wf() -> list[int]:
        return await world.value(gather(work(x) for x in range(20)))

    assert world.invoke(wf, config={"max_concurrency": 2}) == list(range(20))
    assert max(most) <= 2


@pytest.mark.parametrize("limit", [1, 2])
def test_nested_calls_end_under_any_limit(world: World, limit: int) -> None:
    """A call that waits for its own calls gives up its place, so that a limit of one ends too."""

    @world.task
    async def inner(x: int) -> int:
        return x

    @world.task
    async def outer(x: int) -> int:
        return sum(await world.value(gather(inner(10 * x + y) for y in range(3))))

    @world.entrypoint
    async def wf() -> list[int]:
        return await world.value(gather(outer(x) for x in range(4)))

    assert world.invoke(wf, config={"max_concurrency": limit}) == [3, 33, 63, 93]


@pytest.mark.parametrize("way", ["invoke", "stream", "call"])
def test_workflows_called_in_tasks_end_under_any_limit(world: World, way: str) -> None:
    """A task that waits for a workflow of its own gives up its place, however it calls that."""

    @world.task
    async def inner(x: int) -> int:
        return x

    @world.entrypoint
    async def nested(x: int) -> int:
        return await world.value(inner(x + 1))

    @world.task
    async def outer(x: int) -> int:
        if way == "call":
            return await nested(x) if world.is_async else nested(x)
        if way == "invoke":
            return await nested.ainvoke(x) if world.is_async else nested.invoke(x)
        if world.is_async:
            return [chunk async for chunk in nested.astream(x, stream_mode="updates")][-1]["nested"]
        return [*nested.stream(x, stream_mode="updates")][-1]["nested"]

    @world.entrypoint
    async def wf() -> list[int]:
        return await world.value(gather(outer(x) for x in range(4)))

    assert world.invoke(wf, config={"max_concurrency": 1}) == [1, 2, 3, 4]


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("wait", [futures.wait, timeouts, callbacks, pool], ids=lambda wait: wait.__name__)
def test_calls_that_wait_unseen_end_under_any_limit(
    sync_world: World, wait: Callable[[Any], Any], limit: int
) -> None:
    """A call that waits for its own in a way that flowfn doesn't see gives up its place as well."""
    world = sync_world

    @world.task
    async def inner(x: int) -> int:
        return x

    @world.task
    async def outer(x: int) -> int:
        calls = [inner(10 * x + y) for y in range(3)]
        wait(calls)
        return sum(call.result() for call in calls)

    @world.entrypoint
    async def wf() -> list[int]:
        return await world.value(gather(outer(x) for x in range(4)))

    assert world.invoke(wf, config={"max_concurrency": limit}) == [3, 33, 63, 93]


async def test_coroutines_that_wait_unseen_end_under_any_limit() -> None:
    """So does one that awaits what asyncio made of a future, or a thread that waits for it."""

    @task
    async def inner(x: int) -> int:
        return x

    @task
    async def outer(x: int) -> int:
        first, second = inner(x), inner(x + 1)
        await asyncio.wrap_future(first)
        await asyncio.to_thread(futures.wait, [second])
        return await first + await second

    @entrypoint
    async def wf() -> list[int]:
        return await gather(outer(x) for x in range(4))

    assert await wf.ainvoke(config={"max_concurrency": 1}) == [1, 3, 5, 7]


def test_the_place_of_who_waits_unseen_is_given_back_once() -> None:
    """Who was taken to wait goes on without a place, and the limit holds after that."""
    inside: list[int] = []
    most: list[int] = []

    @task
    def inner(x: int) -> int:
        return x

    @task
    def outer(x: int) -> None:
        call = inner(x)
        futures.wait([call])
        call.result()
        inner(-x).result()

    @task
    def work(x: int) -> None:
        inside.append(x)
        most.append(len(inside))
        inside.remove(x)

    @entrypoint
    def wf() -> int:
        gather(outer(x) for x in range(1, 4)).result()
        gather(work(x) for x in range(40)).result()
        return max(most)

    assert wf.invoke(config={"max_concurrency": 1}) == 1


def test_what_queues_for_a_place_as_its_caller_fails_does_not_begin(sync_world: World) -> None:
    """A thread has taken it, and its code hasn't begun: after the error it isn't run any more, as if none had."""

    @task
    def ends_with_its_caller() -> None:
        frame = current_frame.get()
        assert frame is not None
        assert frame.call.parent is not None
        sync_world.ran.append("begun before")
        begun.set()
        while not frame.call.parent.closed:
            time.sleep(0.001)

    @task
    def queues() -> None:
        sync_world.ran.append("begun after")

    @sync_world.entrypoint
    def wf(_: int) -> None:
        ends_with_its_caller()
        assert begun.wait(60)
        queued = queues()
        while queued.waiting:
            time.sleep(0.001)
        raise ValueError("boom")

    begun = threading.Event()
    with pytest.raises(ValueError, match="boom"):
        sync_world.invoke(wf, 1, {"max_concurrency": 1}, thread_id="t")
    assert sync_world.ran == ["begun before"]


def test_inputs_of_a_batch_that_queue_behind_a_failure_do_not_begin() -> None:
    """Whoever is told of the error finds no more of them run."""
    ran = []

    @entrypoint
    def wf(number: int) -> None:
        ran.append(number)
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        wf.batch([*range(9)], {"max_concurrency": 1})
    assert ran == [0]


def test_many_nested_calls_end(world: World) -> None:
    """More waiting parents than there are worker threads don't block each other."""

    @world.task
    async def inner(x: int) -> int:
        return x

    @world.task
    async def outer(x: int) -> int:
        return await world.value(inner(x))

    @world.entrypoint
    async def wf() -> int:
        return sum(await world.value(gather(outer(x) for x in range(80))))

    assert world.invoke(wf) == sum(range(80))


@pytest.mark.parametrize("wait", [futures.wait, timeouts, callbacks])
def test_parents_that_wait_and_dont_help_dont_keep_their_children_from_running(
    sync_world: World, wait: Callable[[Any], Any]
) -> None:
    """All workers wait for calls that nobody has begun, in ways that flowfn doesn't see."""
    world = sync_world

    @world.task
    async def inner(x: int) -> int:
        return x

    @world.task
    async def outer(x: int) -> int:
        calls = [inner(x), inner(x)]
        wait(calls)
        return sum(call.result() for call in calls)

    @world.entrypoint
    async def wf() -> int:
        return sum(await world.value(gather(outer(x) for x in range(80))))

    assert world.invoke(wf) == 2 * sum(range(80))


def test_a_sync_task_is_awaited_by_async_code(async_world: World) -> None:
    """Sync tasks of an asyncio run go to threads, so that several of them run in parallel."""
    world, barrier = async_world, threading.Barrier(3, timeout=10)

    @world.task
    def meet(x: int) -> int:
        barrier.wait()
        return x

    @world.entrypoint
    async def wf() -> list[int]:
        return await gather(meet(x) for x in range(3))

    assert world.invoke(wf) == [0, 1, 2]


def test_who_stops_waiting_for_its_place_gives_none_back() -> None:
    """Code that is cancelled as it waits to go on under `max_concurrency` leaves no place too many behind."""
    child_runs, long_is_called, long_runs, cancelled = (asyncio.Event() for _ in range(4))
    running: set[int] = set()

    async def turns() -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    @task
    async def child() -> None:
        child_runs.set()
        await long_is_called.wait()
        await turns()

    @task
    async def long() -> None:
        long_runs.set()
        await cancelled.wait()

    @task
    async def parent() -> None:
        waiting = asyncio.ensure_future(child())
        await long_runs.wait()
        await turns()
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait({waiting})
        cancelled.set()

    @task
    async def other(x: int) -> int:
        running.add(x)
        await turns()
        most = len(running)
        running.remove(x)
        return most

    @entrypoint(checkpointer=MemorySaver())  # which commits at once, so that the turns are known
    async def wf() -> int:
        first = asyncio.ensure_future(parent())
        await child_runs.wait()
        second = asyncio.ensure_future(long())
        long_is_called.set()
        await asyncio.gather(first, second)
        return max(await gather(other(x) for x in range(4)))

    assert asyncio.run(wf.ainvoke(config={"max_concurrency": 1})) == 1


async def test_sync_tasks_that_async_code_awaits_keep_to_the_limit_of_threads() -> None:
    """Of many that are awaited at once no more run than of a blocking run; the others follow."""
    begun: list[int] = []
    go = threading.Event()

    @task
    def held(x: int) -> int:
        begun.append(x)
        go.wait()
        return x

    @entrypoint
    async def wf(n: int) -> list[int]:
        waiting = asyncio.gather(*(held(x) for x in range(n)))
        while len(begun) < threads.MAX_WORKERS:
            await asyncio.sleep(0)
        for _ in range(10):
            await asyncio.sleep(0)
        counted = len(begun)
        go.set()
        assert counted == threads.MAX_WORKERS
        return await waiting

    assert await wf(80) == list(range(80))


@pytest.mark.parametrize(
    "wait", [futures.wait, timeouts, callbacks, gather, in_turn], ids=lambda wait: wait.__name__
)
def test_sync_parents_dont_keep_what_their_async_calls_await_from_running(wait: Callable[[Any], Any]) -> None:
    """All threads wait for coroutines, which wait for threads."""

    @task
    def leaf(x: int) -> int:
        return x

    @task
    async def middle(x: int) -> int:
        return await leaf(x)

    @task
    def parent(x: int) -> int:
        calls = [middle(x), middle(x)]
        wait(calls)
        return sum(call.result() for call in calls)

    @entrypoint
    async def wf(n: int) -> int:
        return sum(await gather(parent(x) for x in range(n)))

    assert asyncio.run(wf.ainvoke(80)) == 2 * sum(range(80))


def test_an_async_task_is_called_by_sync_code_of_an_asyncio_run(async_world: World) -> None:
    """A sync function of an asyncio run waits for an async task by `.result()`: it runs on the loop."""
    world = async_world

    @world.task
    async def double(x: int) -> int:
        return 2 * x

    @world.task
    def both(x: int) -> int:
        return double(x).result() + double(x + 1).result()

    @world.entrypoint
    def wf() -> int:
        return both(1).result() + sum(gather(double(x) for x in range(3)).result())

    assert world.invoke(wf) == 6 + 6


def refused(job: Any) -> None:
    """In place of `run_soon`: the process is at its limit of threads."""
    raise RuntimeError("can't start new thread")


def test_calls_run_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for a call runs it: a process at its limit of threads goes on, more slowly."""

    @task
    def double(number: int) -> int:
        return 2 * number

    @entrypoint
    def wf(numbers: list[int]) -> list[int]:
        return gather(*double.map(numbers)).result()

    monkeypatch.setattr(threads, "run_soon", refused)
    assert wf.invoke([1, 2, 3]) == [2, 4, 6]


@pytest.mark.timeout(20)
def test_what_is_committed_beside_a_run_is_committed_where_no_thread_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With `durability="async"` such a process commits in the run, on threads and on an event loop."""
    monkeypatch.setattr(threads, "run_soon", refused)
    monkeypatch.setattr(commits, "run_soon", refused)
    saver = MemorySaver()

    @task
    def double(number: int) -> int:
        return 2 * number

    @entrypoint(checkpointer=saver, durability="async")
    def wf(number: int) -> int:
        return double(number).result()

    @task
    async def triple(number: int) -> int:
        return 3 * number

    @entrypoint(checkpointer=saver, durability="async")
    async def coroutine(number: int) -> int:
        return await triple(number)

    assert wf.invoke(1, thread_id="threads") == 2
    assert asyncio.run(coroutine.ainvoke(1, thread_id="loop")) == 3
    assert wf.get_state(thread_id="threads").values == 2


@pytest.mark.timeout(20)
def test_who_waits_for_a_thread_that_cannot_be_started_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit, or a claim, of an event loop's that needs a thread fails where there is none, and doesn't hang."""

    class Slow(MemorySaver):
        inline = False

        def claim_free(self, threads: Sequence[str]) -> Sequence[Lease | None]:
            raise AssertionError("no thread has called this")

    monkeypatch.setattr(commits, "run_soon", refused)
    monkeypatch.setattr(claims, "run_soon", refused)

    async def commit() -> None:
        await commits.Committer().commit(Slow(), Commit("t"), Admission())

    async def claim() -> None:
        await claims.Claimer().claim(Slow(), "t", Admission())

    for waiting in (commit, claim):
        with pytest.raises(RuntimeError, match="new thread"):
            asyncio.run(waiting())


def test_calls_run_where_the_thread_that_looks_after_them_cant_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So they do without it; and it is started once it can be."""

    @task
    def double(number: int) -> int:
        return 2 * number

    @entrypoint
    def wf(number: int) -> int:
        return double(number).result()

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    waker = Waker()
    monkeypatch.setattr(threads, "WAKER", waker)
    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", refuse)
        assert wf.invoke(1) == 2
    host = threads.ThreadHost()
    future = host.future(nothing)
    host.start(future)
    assert futures.wait([future], timeout=30).done == {future}


def test_calls_are_looked_after_where_the_thread_that_did_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the thread that looked after waiting calls has ended, another takes its place."""
    waker = Waker()
    monkeypatch.setattr(threads, "WAKER", waker)
    waker._thread = threading.Thread(target=lambda: None)
    waker._thread.start()
    waker._thread.join()
    host = threads.ThreadHost()
    future = host.future(nothing)
    host.start(future)
    assert futures.wait([future], timeout=30).done == {future}


async def nothing() -> None:
    return None


def test_a_host_whose_calls_change_while_it_is_looked_at_is_looked_at_again() -> None:
    """The thread that looks after waiting calls outlives a change at the wrong moment."""

    class Changing(deque[Any]):
        def __iter__(self) -> Any:
            raise RuntimeError("deque mutated during iteration")

    host = threads.ThreadHost()
    host._pending = Changing()
    assert host.wake() is True
