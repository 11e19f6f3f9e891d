"""G4: one writer per thread, whoever comes, from wherever: nothing lost, nothing interleaved."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from checkpointers import open_saver
from flowfn import LeaseLost, ThreadBusy, Workflow, entrypoint, task
from flowfn.ports import Begin, Commit, Lease, Saver
from graph_compat.graph import START, StateGraph

from ..worlds import SAVERS


class Log(TypedDict):
    log: Annotated[list[str], add]


@pytest.fixture(params=SAVERS)
def saver(request: pytest.FixtureRequest) -> Saver:
    """An empty saver of each kind."""
    opened: Saver = request.getfixturevalue(f"{request.param}_saver")
    return opened


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new file, or the URL of a database without threads."""
    if request.param == "sqlite":
        return str(tmp_path / "runs.db")
    url: str = request.getfixturevalue("postgres_url")
    return url


def counter(saver: Saver, log: list[str]) -> Workflow[Any, Any]:
    """Adds 1 to what the thread saved last, logging when each run begins and ends."""

    @task
    def add(before: int) -> int:
        return before + 1

    @entrypoint(checkpointer=saver)
    def count(who: str, *, previous: int | None = None) -> int:
        log.append(f"{who} begins")
        after = add(previous or 0).result()
        log.append(f"{who} ends")
        return after

    return count


def is_interleaved(log: list[str]) -> bool:
    """Whether a run began before the one before it had ended."""
    pairs = zip(log[::2], log[1::2], strict=True)
    return any(first.replace("begins", "ends") != second for first, second in pairs)


def test_ten_threads_lose_no_update(saver: Saver) -> None:
    """G4: 10 threads x 10 increments on one thread id count to 100, one run after another."""
    log: list[str] = []
    count = counter(saver, log)

    def increments(number: int) -> None:
        for i in range(10):
            count.invoke(f"{number} {i}", thread_id="counter")

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(increments, range(10)))
    assert (count.get_state(thread_id="counter").values, len(log), is_interleaved(log)) == (100, 200, False)


async def test_ten_asyncio_tasks_lose_no_update(saver: Saver) -> None:
    """G4, G7: the same from asyncio tasks of one loop, which wait for each other without blocking it."""
    log: list[str] = []
    count = counter(saver, log)

    async def increments(number: int) -> None:
        for i in range(10):
            await count.ainvoke(f"{number} {i}", thread_id="counter")

    await asyncio.gather(*map(increments, range(10)))
    assert (count.get_state(thread_id="counter").values, len(log), is_interleaved(log)) == (100, 200, False)


COUNTER = """
import os
import sys
from flowfn import entrypoint, task

log = os.open("log", os.O_CREAT | os.O_APPEND | os.O_WRONLY)

@task
def add(before):
    return before + 1

@entrypoint(checkpointer=sys.argv[1])
def count(who, *, previous=None):
    os.write(log, f"{who} begins\\n".encode())
    after = add(previous or 0).result()
    os.write(log, f"{who} ends\\n".encode())
    return after

print("ready", flush=True)
sys.stdin.readline()
for i in range(25):
    count.invoke(f"{os.getpid()} {i}", thread_id="counter")
"""


def start(folder: Path, installed: Path, script: str, *words: str) -> subprocess.Popen[str]:
    """A Python process in a folder, at its first line of output."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(installed)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_two_processes_lose_no_update(tmp_path: Path, installed: Path, target: str) -> None:
    """G4: 2 processes x 25 increments on one thread id count to 50, one run after another."""
    processes = [start(tmp_path, installed, COUNTER, target) for _ in range(2)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()
    log = (tmp_path / "log").read_text().splitlines()
    values = counter(open_saver(target), []).get_state(thread_id="counter").values
    assert ([process.returncode for process in processes], values) == ([0, 0], 50)
    assert (len(log), is_interleaved(log)) == (100, False)


# -- a second caller, by on_busy --------------------------------------------------------------------


class Two:
    """A workflow whose first run stops in its first task until it is let go, and a second caller."""

    def __init__(self, saver: Saver) -> None:
        self.ran: list[str] = []
        self.inside = threading.Event()
        self.go_on = threading.Event()

        @task
        def first(who: str) -> str:
            self.ran.append(f"first {who}")
            if who == "slow":
                self.inside.set()
                assert self.go_on.wait(10)
            return who

        @task
        def second(who: str) -> str:
            self.ran.append(f"second {who}")
            return who

        @entrypoint(checkpointer=saver)
        def flow(who: str) -> str:
            return first(who).result() + second(who).result()

        self.flow = flow

    def begin(self, pool: ThreadPoolExecutor) -> Any:
        """The first run, in its first task."""
        run = pool.submit(self.flow.invoke, "slow", thread_id="one")
        assert self.inside.wait(10)
        return run


def test_a_second_caller_can_be_rejected(saver: Saver) -> None:
    """G4: `on_busy="reject"` turns the second caller away; the first one isn't disturbed."""
    two = Two(saver)
    with ThreadPoolExecutor(1) as pool:
        run = two.begin(pool)
        with pytest.raises(ThreadBusy, match="'one' is held by a live run"):
            two.flow.invoke("quick", thread_id="one", on_busy="reject")
        two.go_on.set()
        assert (run.result(), two.ran) == ("slowslow", ["first slow", "second slow"])


def test_a_second_caller_can_cancel_the_first(saver: Saver) -> None:
    """G4: `on_busy="cancel"` takes over; the first run's next commit is refused, and no more of it runs."""
    two = Two(saver)
    with ThreadPoolExecutor(1) as pool:
        run = two.begin(pool)
        assert two.flow.invoke("quick", thread_id="one", on_busy="cancel") == "quickquick"
        two.go_on.set()
        assert isinstance(run.exception(), LeaseLost)
    assert two.ran == ["first slow", "first quick", "second quick"]
    assert two.flow.get_state(thread_id="one").values == "quickquick"


def test_a_cancelled_run_stops_whatever_its_code_catches(saver: Saver) -> None:
    """G4, G8: code that catches every error calls no further task once its thread was taken over."""
    ran: list[str] = []

    @task
    def work(name: str) -> str:
        ran.append(name)
        if name == "first":
            flow.thread("one").cancel()
        return name

    @entrypoint(checkpointer=saver)
    def flow(n: int) -> str:
        for name in ("first", "second", "third"):
            try:
                work(name).result()
            except Exception:
                continue
        return "done"

    with pytest.raises(LeaseLost):
        flow.invoke(0, thread_id="one")
    assert (ran, flow.thread("one").status) == (["first"], "cancelled")


async def test_a_second_asyncio_caller_can_cancel_the_first(saver: Saver) -> None:
    """G4, G7: the same between two asyncio tasks of one loop."""
    ran: list[str] = []
    inside, go_on = asyncio.Event(), asyncio.Event()

    @task
    async def work(name: str) -> str:
        ran.append(name)
        if name == "slow":
            inside.set()
            await go_on.wait()
        return name

    @entrypoint(checkpointer=saver)
    async def flow(who: str) -> str:
        return await work(who) + await work(f"more {who}")

    run = asyncio.ensure_future(flow.ainvoke("slow", thread_id="one"))
    await inside.wait()
    with pytest.raises(ThreadBusy):
        await flow.ainvoke("quick", thread_id="one", on_busy="reject")
    assert await flow.ainvoke("quick", thread_id="one", on_busy="cancel") == "quickmore quick"
    go_on.set()
    with pytest.raises(LeaseLost):
        await run
    assert ran == ["slow", "quick", "more quick"]


# -- stale writers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("beside", [0, 1], ids=["alone", "abreast"])
async def test_a_run_that_was_left_holds_its_thread_while_its_code_goes_on(saver: Saver, beside: int) -> None:
    """G4: a plain node can't be stopped; who retries a call that was cancelled finds what it came to."""
    begun, ran, may_end = threading.Semaphore(0), list[int](), threading.Event()

    def node(state: Any) -> Any:
        begun.release()
        assert may_end.wait(10)
        ran.append(1)
        return {"log": ["done"]}

    builder: StateGraph[Any] = StateGraph(Log)
    for place in range(beside + 1):
        builder.add_node(f"node{place}", node).add_edge(START, f"node{place}")
    graph = builder.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "t"}}
    run = asyncio.create_task(graph.ainvoke({"log": []}, config))
    for _ in range(beside + 1):
        assert await asyncio.to_thread(begun.acquire, timeout=10)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    with pytest.raises(ThreadBusy):
        await graph.ainvoke(None, config, on_busy="reject")
    update = asyncio.create_task(graph.aupdate_state(config, {"log": ["noted"]}, as_node="node0"))
    await asyncio.sleep(0)
    may_end.set()
    await update
    assert "noted" in (await graph.ainvoke(None, config))["log"]
    assert len(ran) == beside + 1


async def test_a_call_goes_on_with_what_a_left_run_came_to(saver: Saver) -> None:
    """G4: it waits for the thread, and the node's work counts."""
    begun, ran, may_end = threading.Event(), list[int](), threading.Event()

    def node(state: Any) -> Any:
        begun.set()
        assert may_end.wait(10)
        ran.append(1)
        return {"log": ["done"]}

    graph = StateGraph(Log).add_node(node).add_edge(START, "node").compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "t"}}
    run = asyncio.create_task(graph.ainvoke({"log": []}, config))
    assert await asyncio.to_thread(begun.wait, 10)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    again = asyncio.create_task(graph.ainvoke(None, config))
    await asyncio.sleep(0)
    may_end.set()
    assert (await again, ran) == ({"log": ["done"]}, [1])


def test_a_stale_writer_is_refused(saver: Saver) -> None:
    """G4: a lease that was taken over writes nothing, even where its taker has gone."""
    stale = saver.claim("one")
    assert isinstance(stale, Lease)
    newer = saver.claim("one", force=True)
    assert isinstance(newer, Lease)
    saver.commit([Commit("one", newer, begin=Begin("flow", "call"), status="failed", release=True)])
    (refusal,) = saver.commit([Commit("one", stale, status="done")])
    assert isinstance(refusal, LeaseLost)
    row = saver.thread("one")
    assert row is not None
    assert (row.status, row.owner) == ("failed", None)


HOLDER = """
import sys
from flowfn import entrypoint, task

@task
def wait():
    print("ready", flush=True)
    sys.stdin.read()

@entrypoint(checkpointer=sys.argv[1], name="flow")
def flow(n):
    wait().result()
    return n

flow.invoke(1, thread_id="one")
"""


def test_the_lease_of_a_killed_process_is_free_at_once(tmp_path: Path, installed: Path, target: str) -> None:
    """G4: a live process keeps its thread; once killed, the next caller doesn't wait for an expiry."""

    @entrypoint(checkpointer=target, on_busy="reject")
    def flow(n: int) -> int:
        return n

    with start(tmp_path, installed, HOLDER, target) as holder:
        try:
            with pytest.raises(ThreadBusy, match=f"process {holder.pid}"):
                flow.invoke(2, thread_id="one")
        finally:
            holder.kill()
    assert flow.invoke(3, thread_id="one") == 3


SLEEPER = """
import os, signal, sys
import checkpointers.liveness as liveness
from checkpointers import open_saver
from flowfn import LeaseLost, entrypoint, task

if sys.argv[2] == "elsewhere":
    liveness._host = lambda: "another machine"
saver = open_saver(sys.argv[1])
saver._holder.ttl = 0.3

@task(name="work")
def work(name):
    if name == "second":
        print("ready", flush=True)
        with saver._database.lock:  # in no transaction of the heartbeat's, whose locks would be held for as long
            os.kill(os.getpid(), signal.SIGSTOP)
        sys.stdin.readline()
    return f"{name} there"

@entrypoint(checkpointer=saver, name="flow")
def flow(n):
    return [work("first").result(), work("second").result()]

try:
    print(flow.invoke(0, thread_id="one"))
except LeaseLost:
    print("lost")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be stopped there")
@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_a_process_that_slept_past_its_lease_tells_no_result(
    tmp_path: Path, installed: Path, target: str, where: str
) -> None:
    """G4: stopped, here or there, overtaken, and woken: it writes nothing, and its caller sees no result."""

    @task(name="work")
    def work(name: str) -> str:
        return f"{name} here"

    @entrypoint(checkpointer=target, name="flow")
    def flow(n: int) -> list[str]:
        return [work("first").result(), work("second").result()]

    with start(tmp_path, installed, SLEEPER, target, where) as sleeper:
        try:
            os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED | os.WNOWAIT)
            overtaking = flow.invoke(None, thread_id="one")
            sleeper.send_signal(signal.SIGCONT)
            told, _ = sleeper.communicate("go on\n", timeout=20)
        finally:
            sleeper.kill()
    assert (overtaking, told) == (["first there", "second here"], "lost\n")
    assert flow.get_state(thread_id="one").values == overtaking
    written = [row.value for loaded in open_saver(target).history("one", None) for row in loaded.writes]
    assert any(b"second here" in value for value in written)
    assert not any(b"second there" in value for value in written)
