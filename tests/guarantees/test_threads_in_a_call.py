"""G1, G2: threads of one function that call tasks, and calls that end at the same time, leave nothing half seen.

The engine takes no lock to find out which record a call is. What several threads look at is made whole before
they see it, and what only one of them may have is taken in one step.
"""

from __future__ import annotations

import contextvars
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from checkpointers import MemorySaver
from flowfn import NonDeterminismError, RetryPolicy, Workflow, entrypoint, task
from flowfn.config import Durability
from flowfn.context import current_frame
from flowfn.engine.calls import frame
from flowfn.engine.calls.frame import Frame
from flowfn.engine.calls.identifying import next_identity
from flowfn.engine.drive import drive
from flowfn.engine.records.journal import Journal
from flowfn.engine.records.ledger import Ledger
from flowfn.engine.records.record import CallInfo, Record
from flowfn.engine.runs import root
from flowfn.engine.runs.root import Root
from flowfn.errors import RunClosed
from flowfn.futures import Future
from flowfn.hosts.loop import _running
from flowfn.hosts.threads import ThreadHost
from flowfn.ports import CheckpointRow, Commit, Lease, WriteRow, Writes
from flowfn.python.tally import Tally
from flowfn.row_channels import CALL, RETURN

THREADS = 6


@pytest.fixture(autouse=True)
def hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def on_threads(function: Callable[[int], Any]) -> list[Any]:
    """What several threads of the running code return, as `asyncio.to_thread` would start them."""
    with ThreadPoolExecutor(THREADS) as pool:
        futures = [pool.submit(contextvars.copy_context().run, function, i) for i in range(THREADS)]
        return [future.result() for future in futures]


def outcome(workflow: Workflow[Any, Any], given: Any) -> Any:
    """What a run of the thread returns or raises."""
    try:
        return workflow.invoke(given, thread_id="t")
    except Exception as error:
        return type(error)


def test_equal_calls_of_several_threads_have_a_record_each() -> None:
    """Section 4: three equal `poll()` calls are three records, whichever threads make them."""

    @entrypoint(checkpointer=MemorySaver())
    def wf() -> int:
        frame = current_frame.get()
        assert frame is not None
        found = on_threads(lambda _: [next_identity(frame, "poll", b"") for _ in range(1000)])
        return len({identity for each in found for identity in each})

    assert wf.invoke() == THREADS * 1000


class Overtaken(Tally):
    """Of whose numbers the first is given to a thread that another one then overtakes."""

    def __init__(self) -> None:
        super().__init__()
        count = self.count

        def overtaken() -> int:
            self.count = count
            number = count()
            self.count()
            return number

        self.count = overtaken


def test_the_number_of_outcomes_never_goes_back() -> None:
    """G1: a call counts as made after each outcome that could be seen, so that a caught error stays caught."""
    with MemorySaver() as saver:
        lease = saver.claim("t")
        assert isinstance(lease, Lease)
        journal = Journal(saver, lease, "sync")
        journal._orders = Overtaken()
        assert journal.next_order() == 1
        assert journal.order == 2


class Interrupted(dict[str, Record]):
    """Records, of which the first has been looked at when another thread comes and looks for what it needs."""

    look: Callable[[], None]

    def values(self) -> Any:
        first, *others = super().values()
        yield first
        self.look()
        yield from others


def test_what_is_known_of_records_is_known_as_a_whole() -> None:
    """G2: while one thread sorts the records, another one finds all of them, and not those sorted so far."""
    saver = MemorySaver()
    rows = []
    for number in range(3):
        info = CallInfo("f", "f", "scope", None, [], False, number, number, 0.0, "", "", "", "")
        rows.append(WriteRow(f"id {number}", 0, CALL, saver.serde.dumps(list(info))))
    ledger = Ledger(rows, saver.serde)
    seen: list[int] = []
    records = Interrupted(ledger.records)
    records.look = lambda: _look(ledger, records, seen)
    ledger.records = records
    assert len([*ledger.rivals("scope", "f")]) == 3
    assert seen == [3]


def _look(ledger: Ledger, records: Interrupted, seen: list[int]) -> None:
    records.look = lambda: None
    seen.append(len([*ledger.rivals("scope", "f")]))


def test_a_doubt_is_met_on_whichever_thread_it_comes_up() -> None:
    """G2, rule 3: several threads each make a call that may be a recorded one: none runs, and none hangs."""
    ran: list[int] = []
    failures = [True]

    @task
    def charge(customer: int, token: str) -> int:
        ran.append(customer)
        return customer

    @entrypoint(checkpointer=MemorySaver())
    def wf() -> list[Any]:
        result = on_threads(lambda customer: charge(customer, uuid.uuid4().hex).result())
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return result

    assert outcome(wf, {}) is ConnectionError
    assert outcome(wf, None) is NonDeterminismError
    assert sorted(ran) == list(range(THREADS))


@pytest.mark.parametrize("durability", ["async", "exit"])
def test_outcomes_that_are_written_later_are_written_in_their_order(durability: Durability) -> None:
    """G1: whichever threads have something to write, one of them writes at a time, and nothing is left behind."""
    saver = Ordered()
    journal = Journal(saver, cast("Lease", saver.claim("t")), durability)
    host = ThreadHost()

    def write(thread: int) -> None:
        parent = None
        for number in range(200):
            space, id = f"child {thread}", f"{number:03}"
            checkpoint = CheckpointRow(space, id, parent, number, "loop", "", b"", b"", {}, {})
            row = WriteRow(f"task {thread}", number, RETURN, b"")
            drive(journal.write(host, [checkpoint]))
            drive(journal.write(host, [Writes("", "root", [row])]))
            parent = id

    drive(journal.write(host, [CheckpointRow("", "root", None, -1, "input", "", b"", b"", {}, {})]))
    on_threads(write)
    drive(journal.write(host, [], status="done", release=True))
    assert saver.overlaps == 0
    assert {task: saver.written.count(task) for task in saver.written} == {
        f"task {i}": 200 for i in range(THREADS)
    }
    heads = [saver.load("t", f"child {i}") for i in range(THREADS)]
    assert [head.checkpoint.id for head in heads if head is not None] == ["199"] * THREADS


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_outcomes_are_seen_in_the_order_in_which_they_are_written(durability: Durability) -> None:
    """G2: `as_completed` gives the next attempt the order that this one saw, whichever threads ended at once."""
    saver = MemorySaver()
    journal = Journal(saver, cast("Lease", saver.claim("t")), durability)
    host, seen = ThreadHost(), []

    def write(thread: int) -> None:
        for number in range(200):
            task = f"task {thread} {number}"
            item = Writes("", "root", [WriteRow(task, 0, RETURN, b"")])
            drive(journal.write(host, [item], written=lambda task=task: seen.append(task)))  # type: ignore[misc]

    drive(journal.write(host, [CheckpointRow("", "root", None, -1, "input", "", b"", b"", {}, {})]))
    on_threads(write)
    drive(journal.write(host, [], status="done", release=True))
    loaded = saver.load("t")
    assert loaded is not None
    assert [row.task for row in loaded.writes] == seen


class Ordered(MemorySaver):
    """It notes which tasks' rows are written, and how often a commit comes while another one is under way."""

    def __init__(self) -> None:
        super().__init__()
        self.overlaps = 0
        self.written: list[str] = []
        self._busy = False

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        self.overlaps += self._busy
        self._busy = True
        for commit in commits:
            for item in commit.items:
                self.written += [row.task for row in item.rows] if isinstance(item, Writes) else []
        errors = super().commit(commits, wait=wait)
        self._busy = False
        return errors


def test_calls_that_end_while_they_are_looked_at() -> None:
    """A thread may take its call out of the frame's while the loop goes through those under way."""

    class Ending(Future[Any]):
        def done(self) -> bool:
            frame.calls.open.clear()
            return False

    frame = Frame.__new__(Frame)
    frame.calls.open = dict.fromkeys((Ending(), Ending()), cast("Any", None))
    assert len(_running(frame)) == 2


@pytest.mark.parametrize(
    ("kind", "home", "part", "made_of"),
    [(Frame, frame, "calls", "Calls"), (Root, root, "questions", "Questions")],
)
def test_what_is_made_for_the_first_call_is_one_for_all_threads(
    kind: Any, home: Any, part: str, made_of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that calls or asks while another one makes what keeps that gets the same: else its call was nobody's."""
    owner = kind.__new__(kind)
    real, others = getattr(home, made_of), list[Any]()

    def raced() -> Any:
        monkeypatch.setattr(home, made_of, real)
        others.append(getattr(owner, part))
        return real()

    monkeypatch.setattr(home, made_of, raced)
    assert [getattr(owner, part)] == others


def test_a_thread_without_the_context_is_warned_of() -> None:
    """G1: a pool's thread is no part of the run that gave it work: its tasks aren't recorded, and that is said once."""

    @task
    def double(x: int) -> int:
        return x * 2

    @entrypoint(checkpointer=MemorySaver())
    def wf() -> list[int]:
        with ThreadPoolExecutor(2) as pool:
            return [future.result() for future in pool.map(double, [1, 2, 3])]

    @entrypoint(checkpointer=MemorySaver())
    def other() -> int:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: globals()["halve"](4).result()).result()

    with pytest.warns(UserWarning, match=r"'double' was called on a thread .* double\.map\(items\)") as told:
        assert wf.invoke(thread_id="t") == [2, 4, 6]
    assert len(told) == 1
    assert (
        other.invoke(thread_id="t") == 2
    )  # its run doesn't name the task: another part of the program calls it


@task
def halve(x: int) -> int:
    """Called by a thread of its own."""
    return x // 2


def test_a_thread_whose_attempt_ends_as_it_calls_a_task_calls_none() -> None:
    """G1: the next attempt makes that call, and it runs once."""
    ran, tries, asked, ended = list[str](), list[int](), threading.Event(), threading.Event()

    def key(name: str) -> str:
        asked.set()
        ended.wait(60)
        return name

    @task(key=key)
    def pay(name: str) -> str:
        ran.append(name)
        return name

    again = RetryPolicy(initial_interval=0, jitter=False, retry_on=(ConnectionError,))
    with ThreadPoolExecutor(1) as pool:

        @entrypoint(checkpointer=MemorySaver(), retry_policy=again)
        def wf(_: Any) -> str:
            tries.append(1)
            if len(tries) > 1:
                ended.set()
                with pytest.raises(RunClosed):
                    begun[0].result()
                return pay("a").result()
            begun.append(pool.submit(contextvars.copy_context().run, lambda: pay("a").result()))
            asked.wait(60)
            raise ConnectionError("lost")

        begun: list[Any] = []
        assert wf.invoke(1, thread_id="t") == "a"
    assert (ran, len(tries)) == (["a"], 2)
