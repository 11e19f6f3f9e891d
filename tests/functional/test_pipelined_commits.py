"""What workers leave to another thread: the last commits of their calls, where commits take their time."""

from __future__ import annotations

import asyncio
import math
import re
import threading
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import entrypoint, task
from flowfn.futures import Future
from flowfn.hosts import pipelining, wakes
from flowfn.hosts.clock import Clock
from flowfn.hosts.pipelining import TOO_LONG, LastCommit, Pipeline
from flowfn.hosts.threads import ThreadHost
from flowfn.ports import Commit
from flowfn.saver_around import SaverAround
from tests.test_forking import printed

PATIENCE = 10.0


class Slow:
    """A saver that makes commits when it is let, and refuses those of the thread "bad"."""

    def __init__(self, let: int = 0) -> None:
        self.groups: list[list[str]] = []
        self.begun = threading.Semaphore(0)
        self.let = threading.Semaphore(let)

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        self.groups.append([commit.thread for commit in commits])
        self.begun.release()
        assert self.let.acquire(timeout=PATIENCE)
        return [ValueError("bad") if commit.thread == "bad" else None for commit in commits]


def settling(pipeline: Pipeline, saver: Any, name: str, future: Future[str] | None = None) -> Future[str]:
    """Have this thread, as a worker does, run a call whose last commit has this name."""
    settled: Future[str] = Future() if future is None else future

    async def job() -> str:
        await LastCommit(saver, Commit(name), settled)
        return name

    pipeline.settle(settled, job)
    return settled


def test_a_worker_does_not_wait_for_the_last_commit_of_a_call() -> None:
    """It is free while that is made, after which the call is settled."""
    saver = Slow()
    future = settling(Pipeline(), saver, "1")
    assert saver.begun.acquire(timeout=PATIENCE)
    assert not future.done()
    saver.let.release()
    assert future.result(PATIENCE) == "1"


def test_what_is_left_meanwhile_is_committed_together() -> None:
    """One thread writes: what comes while it does goes with its next transaction."""
    pipeline, saver = Pipeline(), Slow()
    first = settling(pipeline, saver, "1")
    assert saver.begun.acquire(timeout=PATIENCE)
    others = [settling(pipeline, saver, "2"), settling(pipeline, saver, "3")]
    saver.let.release(2)
    assert [future.result(PATIENCE) for future in (first, *others)] == ["1", "2", "3"]
    assert saver.groups == [["1"], ["2", "3"]]


def test_a_commit_that_is_refused_fails_its_call_alone() -> None:
    """The others of its transaction are made."""
    pipeline, saver = Pipeline(), Slow()
    settling(pipeline, saver, "1")
    assert saver.begun.acquire(timeout=PATIENCE)
    bad, good = settling(pipeline, saver, "bad"), settling(pipeline, saver, "2")
    saver.let.release(2)
    assert good.result(PATIENCE) == "2"
    with pytest.raises(ValueError, match="bad"):
        bad.result(PATIENCE)


class Mute(Slow):
    """A saver that says nothing of what it is given."""

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        super().commit(commits, wait=wait)
        return []


def test_calls_of_which_a_saver_says_nothing_fail() -> None:
    """As of a mock: nobody waits for them for ever, and the thread that writes goes on."""
    pipeline, saver = Pipeline(), Mute(let=2)
    for _ in range(2):
        with pytest.raises(TypeError, match=re.escape("Mute.commit() returned [] for 1 commits")):
            settling(pipeline, saver, "1").result(PATIENCE)


def test_a_worker_writes_for_itself_where_many_calls_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a backend that stands still lets only so much be done of which there is no record; what is being written
    counts.
    """
    monkeypatch.setattr(pipelining, "MOST_PARKED", 2)
    pipeline, saver = Pipeline(), Slow()
    settling(pipeline, saver, "1")
    assert saver.begun.acquire(timeout=PATIENCE)
    settling(pipeline, saver, "2")
    third: Future[str] = Future()
    worker = threading.Thread(target=settling, args=(pipeline, saver, "3", third))
    worker.start()
    assert saver.begun.acquire(timeout=PATIENCE)
    assert saver.groups == [["1"], ["3"]]
    saver.let.release(3)
    worker.join(PATIENCE)
    assert third.result(PATIENCE) == "3"


class Sundial(Clock):
    """A clock that goes on when it is told to."""

    at = 0.0

    def elapsed(self) -> float:
        return self.at


def test_a_worker_writes_for_itself_where_a_commit_takes_long() -> None:
    """As of a server that restarts: each worker then has one call without a record, however many wait for a worker."""
    clock, saver = Sundial(), Slow()
    pipeline = Pipeline(clock)
    settling(pipeline, saver, "1")
    assert saver.begun.acquire(timeout=PATIENCE)
    clock.at = 2 * TOO_LONG
    second: Future[str] = Future()
    worker = threading.Thread(target=settling, args=(pipeline, saver, "2", second))
    worker.start()
    assert saver.begun.acquire(timeout=PATIENCE)
    assert saver.groups == [["1"], ["2"]]
    saver.let.release(2)
    worker.join(PATIENCE)
    assert second.result(PATIENCE) == "2"


def test_each_transaction_has_its_time() -> None:
    """Calls are left again once one that took long is made."""
    clock, saver = Sundial(), Slow()
    pipeline = Pipeline(clock)
    settling(pipeline, saver, "1")
    assert saver.begun.acquire(timeout=PATIENCE)
    settling(pipeline, saver, "2")
    clock.at = 2 * TOO_LONG
    saver.let.release()
    assert saver.begun.acquire(timeout=PATIENCE)
    third = settling(pipeline, saver, "3")
    assert not third.done()
    saver.let.release(2)
    assert third.result(PATIENCE) == "3"
    assert saver.groups == [["1"], ["2"], ["3"]]


def test_a_callback_may_wait_for_a_call_that_is_settled_after_its_own() -> None:
    """It isn't called by the thread that settles them."""
    pipeline, saver = Pipeline(), Slow()
    settling(pipeline, saver, "1")
    assert saver.begun.acquire(timeout=PATIENCE)
    second, third = settling(pipeline, saver, "2"), settling(pipeline, saver, "3")
    heard: list[str] = []
    told = threading.Event()

    def wait_for_the_third(_: Any) -> None:
        heard.append(third.result(PATIENCE))
        told.set()

    second.add_done_callback(wait_for_the_third)
    saver.let.release(2)
    assert told.wait(PATIENCE)
    assert heard == ["3"]


def test_a_commit_that_settles_another_future_is_waited_for() -> None:
    """The job that makes it has more to do: it is made, and the job ended, where it is run."""
    saver, future = Slow(let=1), Future[str]()

    async def job() -> str:
        await LastCommit(saver, Commit("1"), Future())  # type: ignore[arg-type]
        return threading.current_thread().name

    Pipeline().settle(future, job)
    assert future.result(0) == threading.current_thread().name


def test_a_call_ends_in_the_context_in_which_it_began() -> None:
    """Whichever thread makes its commit, and however soon."""
    told = ContextVar("told", default="nothing")
    pipeline, saver = Pipeline(), Slow(let=1000)

    def call(name: str) -> Future[str]:
        future: Future[str] = ThreadHost().future(None)

        async def job() -> str:
            told.set(name)
            await LastCommit(saver, Commit(name), future)  # type: ignore[arg-type]
            return told.get()

        pipeline.settle(future, job)
        return future

    names = [str(number) for number in range(200)]
    assert [future.result(PATIENCE) for future in map(call, names)] == names
    assert told.get() == "nothing"


def test_where_no_thread_can_be_started_the_worker_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its call, and what calls its callbacks."""

    def refuse(_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(pipelining, "run_soon", refuse)
    monkeypatch.setattr(wakes, "run_soon", refuse)
    future, heard = Future[str](), list[str]()
    future.add_done_callback(lambda done: heard.append(done.result()))
    settling(Pipeline(), Slow(let=1), "1", future)
    assert (future.result(0), heard) == ("1", ["1"])


def test_a_forked_child_has_a_thread_of_its_own_that_writes(run_python: Any) -> None:
    """Its parent's was about to write when it forked."""
    script = """
from threading import Semaphore
from flowfn.futures import Future
from flowfn.hosts.pipelining import LastCommit, Pipeline
from flowfn.ports import Commit

class Slow:
    def __init__(self, let):
        self.begun, self.let = Semaphore(0), Semaphore(let)
    def commit(self, commits, *, wait=True):
        self.begun.release()
        self.let.acquire()
        return [None] * len(commits)

def settling(saver, name):
    future = Future()
    async def job():
        await LastCommit(saver, Commit(name), future)
        return name
    pipeline.settle(future, job)
    return future

pipeline, saver = Pipeline(), Slow(0)
parents = settling(saver, "parent's")
saver.begun.acquire()
in_a_child(lambda: print(settling(Slow(1), "child's").result(10), flush=True))
saver.let.release()
print(parents.result(10))
"""
    assert printed(run_python, script) == ["child's", "parent's"]


class Patient(SaverAround):
    """Records nothing of a call before it is let."""

    inline = False

    def __init__(self) -> None:
        super().__init__(MemorySaver())
        self.let = threading.Event()

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        if any(commit.begin is None for commit in commits):
            assert self.let.wait(PATIENCE)
        return super().commit(commits)


def test_calls_go_on_while_commits_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """G1: more calls run than there are workers before the first is recorded; none is seen before it is."""
    monkeypatch.setattr(pipelining, "TOO_LONG", math.inf)
    saver, ran = Patient(), list[int]()

    @task
    def double(number: int) -> int:
        ran.append(number)
        if len(ran) == 100:
            assert not any(future.done() for future in futures)
            saver.let.set()
        if number == 7:
            raise ValueError("seven")
        return 2 * number

    futures: list[Any] = []

    @entrypoint(checkpointer=saver)
    def all_of_them(count: int) -> list[Any]:
        futures.extend(double(number) for number in range(count))
        return [str(future.exception() or future.result()) for future in futures]

    expected = ["seven" if number == 7 else str(2 * number) for number in range(100)]
    assert all_of_them.invoke(100, thread_id="t") == expected


async def test_beside_an_event_loop_calls_go_on_while_a_quick_saver_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """G1: more run than there are workers before the first is recorded: each would be woken for it by itself."""
    monkeypatch.setattr(pipelining, "TOO_LONG", math.inf)
    monkeypatch.setattr(Patient, "inline", True)
    saver, ran = Patient(), list[int]()

    @task
    def double(number: int) -> int:
        ran.append(number)
        if len(ran) == 60:
            saver.let.set()
        return 2 * number

    @entrypoint(checkpointer=saver)
    async def all_of_them(count: int) -> list[int]:
        return list(await asyncio.gather(*map(double, range(count))))

    assert await all_of_them.ainvoke(60, thread_id="t") == [2 * number for number in range(60)]


async def test_beside_an_event_loop_a_call_that_is_alone_is_recorded_where_it_ran() -> None:
    """There is nobody to share the commit with, and another thread would have to be waited for."""
    wrote: list[int] = []

    class Noted(SaverAround):
        def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
            wrote.append(threading.get_ident())
            return super().commit(commits, wait=wait)

    @task
    def where() -> int:
        return threading.get_ident()

    @entrypoint(checkpointer=Noted(MemorySaver()))
    async def one_after_the_other() -> list[int]:
        return [await where() for _ in range(3)]

    assert set(await one_after_the_other.ainvoke(thread_id="t")) <= set(wrote)
