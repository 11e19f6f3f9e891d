"""What goes on beside an event loop outlives it without a word, or is waited for, and is made durable all the same."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import ThreadBusy, entrypoint, task
from flowfn.ports import Busy, Commit, Lease, Saver


class SlowSaver(MemorySaver):
    """Blocks, as a database does, in the method of this name until let go."""

    def __init__(self, slow: str) -> None:
        super().__init__()
        self._slow = slow
        self._lock_of_slow = threading.Lock()
        self.reached, self.go_on, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.released = threading.Event()

    @property
    def inline(self) -> bool:
        return False

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        return self._slowly("claim", lambda: MemorySaver.claim(self, thread, force=force))  # type: ignore[no-any-return]

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        return self._slowly("commit", lambda: MemorySaver.commit(self, commits, wait=wait))  # type: ignore[no-any-return]

    def release(self, lease: Lease) -> None:
        super().release(lease)
        self.released.set()

    def _slowly(self, method: str, call: Any) -> Any:
        if method != self._slow:
            return call()
        self.reached.set()
        assert self.go_on.wait(10)
        try:
            return call()
        finally:
            self.ended.set()


def one_task(saver: Saver) -> Any:
    """A workflow that calls a task."""

    @task
    async def one() -> int:
        return 1

    @entrypoint(checkpointer=saver)
    async def flow(n: int) -> int:
        return await one()

    return flow


async def cancelled_as_its_saver_works(flow: Any, saver: SlowSaver, then: Callable[[], object]) -> None:
    run = asyncio.ensure_future(flow.ainvoke(1, thread_id="t"))
    while not saver.reached.is_set():
        await asyncio.sleep(0)
    run.cancel()
    then()


def test_a_loop_that_ends_while_a_lease_is_taken() -> None:
    """The saver's thread finds the loop closed, and its work done; the lease, which nobody waits for any more, is given
    back.

    An exception in that thread would fail this test.
    """
    saver = SlowSaver("claim")
    asyncio.run(cancelled_as_its_saver_works(one_task(saver), saver, then=lambda: None))
    saver.go_on.set()
    assert saver.ended.wait(10)
    saver.released.wait(10)
    assert saver.thread("t") is None


def test_a_loop_that_ends_while_a_commit_is_made_waits_for_it() -> None:
    """As its run does, which gives the thread back after that."""
    saver = SlowSaver("commit")

    def let_go_as_the_loop_ends() -> None:
        asyncio.get_running_loop().call_soon(saver.go_on.set)

    asyncio.run(cancelled_as_its_saver_works(one_task(saver), saver, then=let_go_as_the_loop_ends))
    assert saver.ended.is_set()
    row = saver.thread("t")
    assert row is not None
    assert row.owner is None


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def saver(request: pytest.FixtureRequest) -> Saver:
    """One of each kind."""
    found: Saver = request.getfixturevalue(f"{request.param}_saver")
    return found


def close_amid(run: Coroutine[Any, Any, Any], reached: threading.Event) -> list[Any]:
    """Close an event loop while a run is under way on it; whoever keeps what is returned keeps that from being
    collected."""
    loop = asyncio.new_event_loop()

    async def until_reached() -> Any:
        task = asyncio.ensure_future(run)
        while not reached.is_set():
            await asyncio.sleep(0)
        return task

    kept = [loop, loop.run_until_complete(until_reached())]
    loop.close()
    kept[1].set_name("left on purpose")
    kept[1]._log_destroy_pending = False  # asyncio tells of it, rightly, as an error
    return kept


def waiting(saver: Saver, reached: threading.Event) -> tuple[Any, list[str]]:
    """A workflow whose second task first waits for ever, and then doesn't; and what it has run."""
    ran: list[str] = []

    @task
    async def first() -> None:
        ran.append("first")

    @task
    async def second() -> int:
        ran.append("second")
        if not reached.is_set():
            reached.set()
            await asyncio.Event().wait()
        return 2

    @entrypoint(checkpointer=saver)
    async def flow(n: int) -> int:
        await first()
        return n + await second()

    return flow, ran


def test_a_run_whose_loop_was_closed_holds_its_thread_no_more(saver: Saver) -> None:
    """Nobody will wake it, so whoever comes next goes on with it, though it hasn't been collected."""
    reached = threading.Event()
    flow, ran = waiting(saver, reached)
    kept = close_amid(flow.thread("t")(1), reached)
    assert asyncio.run(flow.thread("t")(1)) == 3
    assert ran == ["first", "second", "second"]
    del kept


def test_a_direct_call_goes_on_with_a_run_whose_loop_was_closed(saver: Saver) -> None:
    """It is unfinished, and nobody holds it, as if its process had died."""
    reached = threading.Event()
    flow, ran = waiting(saver, reached)
    kept = close_amid(flow(1), reached)
    assert asyncio.run(flow(1)) == 3
    assert ran == ["first", "second", "second"]
    del kept


def test_a_commit_outlives_a_loop_that_is_closed_amid_it() -> None:
    """The saver's thread finds nobody to tell, and says nothing."""
    saver = SlowSaver("commit")
    flow = one_task(saver)
    kept = close_amid(flow.ainvoke(1, thread_id="t"), saver.reached)
    saver.go_on.set()
    assert saver.ended.wait(10)
    assert asyncio.run(flow.ainvoke(None, thread_id="t")) == 1
    del kept


def test_a_blocking_call_takes_the_thread_of_a_run_whose_loop_was_closed(saver: Saver) -> None:
    """It looks for such runs, too; its own workflow is another one."""
    reached = threading.Event()
    flow, _ = waiting(saver, reached)
    kept = close_amid(flow.thread("t")(1), reached)

    @entrypoint(checkpointer=saver)
    def other(n: int) -> int:
        return n

    assert other.invoke(7, thread_id="t", on_busy="reject") == 7
    del kept


class Looked(MemorySaver):
    """Notes that somebody waits for a thread: has found it busy twice."""

    def __init__(self) -> None:
        super().__init__()
        self._refused = itertools.count(1)
        self.waited_for = threading.Event()

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        found = super().claim(thread, force=force)
        if isinstance(found, Busy) and next(self._refused) == 2:
            self.waited_for.set()
        return found


def test_who_waits_already_takes_the_thread_of_a_run_as_its_loop_is_closed() -> None:
    """It looks for such runs as long as it waits."""
    saver = Looked()

    @entrypoint(checkpointer=saver)
    def other(n: int) -> int:
        return n

    @entrypoint(checkpointer=saver)
    async def flow(n: int) -> None:
        waiter.append(callers.submit(other.invoke, n, thread_id="t"))
        await asyncio.Event().wait()

    waiter: list[Future[int]] = []
    with ThreadPoolExecutor() as callers:
        kept = close_amid(flow.thread("t")(7), saver.waited_for)
        try:
            assert waiter[0].result(10) == 7
        finally:  # who waits in vain would hold up the test: it gets the thread once the run is collected
            kept.clear()
            gc.collect()


class SlowlyReleased(MemorySaver):
    """Gives its first lease back once it is let go; notes when a thread is found busy meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self._releases = itertools.count(1)
        self.releasing, self.found_busy, self.go_on = threading.Event(), threading.Event(), threading.Event()

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        found = super().claim(thread, force=force)
        if isinstance(found, Busy) and self.releasing.is_set():
            self.found_busy.set()
        return found

    def release(self, lease: Lease) -> None:
        if next(self._releases) == 1:
            self.releasing.set()
            assert self.go_on.wait(10)
        super().release(lease)


def test_two_callers_get_the_threads_of_runs_whose_loop_was_closed() -> None:
    """The one has both runs left, and the other, who is to wait for no live run, isn't turned away meanwhile."""
    saver, reached, began = SlowlyReleased(), threading.Event(), itertools.count(1)

    @entrypoint(checkpointer=saver)
    async def flow(n: int) -> None:
        if next(began) == 2:
            reached.set()
        await asyncio.Event().wait()

    @entrypoint(checkpointer=saver)
    def other(n: int) -> int:
        return n

    async def both() -> None:
        await asyncio.gather(flow.ainvoke(1, thread_id="a"), flow.ainvoke(2, thread_id="b"))

    kept = close_amid(both(), reached)
    with ThreadPoolExecutor() as callers:
        first = callers.submit(other.invoke, 1, thread_id="a", on_busy="reject")
        assert saver.releasing.wait(10)
        second = callers.submit(other.invoke, 2, thread_id="b", on_busy="reject")
        assert saver.found_busy.wait(10)
        saver.go_on.set()
        assert (first.result(10), second.result(10)) == (1, 2)
    del kept


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("collected", [False, True])
def test_code_on_a_thread_that_outlives_its_loop_keeps_the_lease_until_it_ends(
    saver: Saver, collected: bool, awaited: bool
) -> None:
    """Nobody runs the same code beside it, and it starts nothing more."""
    reached, go_on, ran = threading.Event(), threading.Event(), list[str]()

    @task
    def second() -> int:
        ran.append("second")
        return 2

    @task
    def first() -> int:
        ran.append("first")
        reached.set()
        assert go_on.wait(10)
        return second().result() if len(ran) == 1 else 1

    @entrypoint(checkpointer=saver)
    async def flow(n: int) -> int:
        called = first()
        if not (awaited or go_on.is_set()):
            await asyncio.Event().wait()
        return n + await called

    kept = close_amid(flow.thread("t")(1), reached)
    if collected:
        kept.clear()
        gc.collect()
    with pytest.raises(ThreadBusy):
        asyncio.run(flow.ainvoke(1, thread_id="t", on_busy="reject"))
    assert ran == ["first"]
    go_on.set()
    assert asyncio.run(flow.thread("t")(1)) == 2
    assert ran == ["first", "first"]
    del kept


def test_what_a_callback_calls_after_its_loop_was_closed_holds_nothing_up(saver: Saver) -> None:
    """The code on a thread that it is told of ends, the callback starts nothing more, and the thread is given back.

    An exception in that thread would fail this test.
    """
    reached, go_on, ran = threading.Event(), threading.Event(), list[str]()

    @task
    def second() -> None:
        ran.append("second")

    @task
    def first() -> None:
        ran.append("first")
        reached.set()
        assert go_on.wait(10)

    @entrypoint(checkpointer=saver)
    async def flow(n: int) -> int:
        if go_on.is_set():
            return n
        first().add_done_callback(lambda _: second())
        return await asyncio.Event().wait()

    kept = close_amid(flow.thread("t")(1), reached)
    with pytest.raises(ThreadBusy):
        asyncio.run(flow.ainvoke(1, thread_id="t", on_busy="reject"))
    go_on.set()

    async def in_time() -> int:
        async with asyncio.timeout(10):
            return await flow.thread("t")(1)

    assert asyncio.run(in_time()) == 1
    assert ran == ["first"]
    del kept


@pytest.mark.parametrize("around", ["blocking", "asyncio"])
def test_a_run_whose_loop_was_closed_inside_another_run_holds_its_thread_no_more(
    saver: Saver, around: str
) -> None:
    """That one goes on, and on another loop than it, if it has one."""
    reached = threading.Event()
    flow, ran = waiting(saver, reached)
    kept: list[Any] = []

    @task
    def again() -> int:
        kept.extend(close_amid(flow.ainvoke(1, thread_id="t"), reached))
        return asyncio.run(flow.thread("t")(1))

    @entrypoint(checkpointer=saver)
    def blocking(n: int) -> int:
        return again().result()

    @entrypoint(checkpointer=saver)
    async def awaiting(n: int) -> int:
        return await again()

    assert (blocking(1) if around == "blocking" else asyncio.run(awaiting(1))) == 3
    assert ran == ["first", "second", "second"]


def test_a_loop_that_is_closed_while_a_thread_is_taken_for_it() -> None:
    """Nobody goes on with the lease, which the saver gives back once it has it."""
    saver = SlowSaver("claim")

    @entrypoint(checkpointer=saver)
    async def flow(n: int) -> int:
        return n

    kept = close_amid(flow.ainvoke(1, thread_id="t"), saver.reached)
    saver.go_on.set()
    assert saver.released.wait(10)
    assert asyncio.run(flow.ainvoke(2, thread_id="t", on_busy="reject")) == 2
    del kept


def test_a_run_whose_loop_is_gone_is_collected_without_a_word(saver: Saver) -> None:
    """Its coroutines are closed in another context than their own, and nothing can be awaited: an exception that is
    ignored there would fail this test. Its lease is given back."""
    reached = threading.Event()
    flow, ran = waiting(saver, reached)
    close_amid(flow.thread("t")(1), reached)
    gc.collect()
    assert asyncio.run(flow.thread("t")(1)) == 3
    assert ran == ["first", "second", "second"]
