"""Faults: a backend that fails and values that can't be stored end in a typed error, and lose nothing.

Each test breaks something in the middle of a run, looks at what the caller is told, mends it, and
resumes: what was committed before is reused, and the answer is right.
"""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from checkpointers import MemorySaver, SqliteSaver
from flowfn import (
    Command,
    DatabaseFull,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseVersion,
    NotADatabase,
    RetryPolicy,
    SaverError,
    SerializationError,
    Workflow,
    current,
    entrypoint,
    interrupt,
    task,
    uuid4,
)
from flowfn.ports import Commit, Loaded, Saver
from flowfn.serde import Serde

from ..worlds import SAVERS


class Fault:
    """A workflow of three tasks, before whose second one something breaks."""

    def __init__(self, saver: Saver) -> None:
        self.ran: list[str] = []
        self.breaks: Callable[[], None] = lambda: None

        @task
        def work(name: str) -> str:
            self.ran.append(name)
            return name

        @entrypoint(checkpointer=saver)
        def flow(big: Any) -> list[str]:
            first = work("first").result()
            self.breaks()
            return [first, work("second" + big).result()[:6], work("third").result()]

        self.flow: Workflow[Any, Any] = flow

    def ends_in(
        self, kind: type[Exception], broken: Callable[[], None], mend: Callable[[], None]
    ) -> Exception:
        """Run into the fault, then mend it and resume: the second task was in flight, the first is reused."""
        self.breaks = broken
        with pytest.raises(kind) as caught:
            self.flow.invoke("", thread_id="one")
        self.breaks = lambda: None
        mend()
        assert self.flow.invoke(None, thread_id="one", on_busy="reject") == ["first", "second", "third"]
        assert self.ran == ["first", "second", "second", "third"]
        return caught.value


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the database is."""
    return tmp_path / "runs.db"


@pytest.fixture
def saver(file: Path) -> Iterator[SqliteSaver]:
    """An open database that waits no longer than it takes to try once more."""
    with SqliteSaver(file, timeout=0.01) as opened:
        yield opened


@pytest.fixture(params=SAVERS)
def any_saver(request: pytest.FixtureRequest) -> Saver:
    """An empty saver of each kind."""
    opened: Saver = request.getfixturevalue(f"{request.param}_saver")
    return opened


# -- the database -----------------------------------------------------------------------------------

LOCKER = """
import sqlite3
import sys

connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
"""


def test_a_database_that_another_process_keeps_locked(saver: SqliteSaver, file: Path) -> None:
    """`DatabaseLocked` names the file; with the lock gone, the run goes on from what it had recorded."""
    lockers: list[subprocess.Popen[str]] = []

    def lock() -> None:
        locker = subprocess.Popen(
            [sys.executable, "-c", LOCKER, str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        lockers.append(locker)
        assert locker.stdout is not None
        assert locker.stdout.readline() == "locked\n"

    def unlock() -> None:
        lockers[0].communicate("\n")

    error = Fault(saver).ends_in(DatabaseLocked, lock, unlock)
    assert str(file) in str(error)


def test_a_database_on_a_full_disk(saver: SqliteSaver, file: Path) -> None:
    """`DatabaseFull` says so; what was committed stays readable, and with room again the run goes on."""
    writer = saver._database._connected().writer

    def fill() -> None:
        (pages,) = writer.execute("PRAGMA page_count").fetchone()
        writer.execute(f"PRAGMA max_page_count = {pages}")
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            (free,) = other.execute("PRAGMA freelist_count").fetchone()
        assert free == 0

    fault = Fault(saver)
    fault.breaks = fill
    with pytest.raises(DatabaseFull, match="full"):
        fault.flow.invoke("!" * 100_000, thread_id="one")
    (first,) = fault.flow.get_state(thread_id="one").tasks[0].calls
    assert (first.status, first.result) == ("done", "first")
    writer.execute("PRAGMA max_page_count = 1000000")
    fault.breaks = lambda: None
    assert fault.flow.invoke(None, thread_id="one", on_busy="reject") == ["first", "second", "third"]
    assert [name[:6] for name in fault.ran] == ["first", "second", "second", "third"]


FULL = """
import resource
import signal
import sys

from flowfn import DatabaseFull, SaverError, entrypoint, task

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ran = []

@task
def work(name):
    ran.append(name)
    return name * (1 if name == "first" else 500_000)

@entrypoint(checkpointer="runs.db")
def flow(limit):
    first = work("first").result()
    if "limited" in sys.argv:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    return first + work("2").result()[:1] + work("3").result()[:1]

try:
    print(flow(0), ran)
except SaverError as error:
    print(type(error).__name__, ran)
"""


def test_a_process_that_may_write_no_more(tmp_path: Path, run_python: Any) -> None:
    """A write that the system refuses ends in a `SaverError`; the next process goes on."""
    (tmp_path / "full.py").write_text(FULL)
    limited, free = run_python("full.py", "limited"), run_python("full.py")
    assert limited.stdout.split(" ", 1)[0] in ("SaverError", "DatabaseFull"), limited.stderr
    assert (free.stdout, free.stderr) == ("first23 ['2', '3']\n", "")


def test_a_database_that_cannot_be_written_to(file: Path) -> None:
    """`DatabaseReadOnly` before anything runs; what was committed can be read all the same."""
    with SqliteSaver(file) as writable:
        assert Fault(writable).flow.invoke("", thread_id="one") == ["first", "second", "third"]
    with SqliteSaver(f"file:{file}?mode=ro") as readable:
        fault = Fault(readable)
        with pytest.raises(DatabaseReadOnly):
            fault.flow.invoke("", thread_id="two")
        assert (fault.ran, fault.flow.get_state(thread_id="one").values) == ([], ["first", "second", "third"])


def test_a_database_that_becomes_read_only(saver: SqliteSaver) -> None:
    """`DatabaseReadOnly` in the middle of a run; when it can be written to again, the run goes on."""
    writer = saver._database._connected().writer
    fault = Fault(saver)
    fault.ends_in(
        DatabaseReadOnly,
        lambda: _pragma(writer, "query_only = 1"),
        lambda: _pragma(writer, "query_only = 0"),
    )


def _pragma(connection: sqlite3.Connection, pragma: str) -> None:
    connection.execute(f"PRAGMA {pragma}")


def test_a_database_of_a_newer_version(file: Path) -> None:
    """`DatabaseVersion` before anything runs, and the file is left as it was."""
    SqliteSaver(file).close()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA user_version = 999")
    before = file.read_bytes()
    with pytest.raises(DatabaseVersion, match="999"):
        Fault(file).flow.invoke("", thread_id="one")  # type: ignore[arg-type]
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"not a database, but a letter" * 100, b"SQLite format 3\0" + b"\xff" * 4000]
)
def test_a_file_that_is_no_database(file: Path, content: bytes) -> None:
    """`NotADatabase` before anything runs, and the file is left as it was."""
    file.write_bytes(content)
    with pytest.raises(NotADatabase, match=str(file)):
        Fault(file).flow.invoke("", thread_id="one")  # type: ignore[arg-type]
    assert file.read_bytes() == content


def test_a_failing_backend_cannot_be_overlooked(saver: SqliteSaver) -> None:
    """G1: code that catches every error can't go on past a result that was not recorded."""
    writer = saver._database._connected().writer
    ran: list[str] = []

    @task
    def work(name: str) -> str:
        ran.append(name)
        if name == "second":
            writer.execute("PRAGMA query_only = 1")
        return name

    @entrypoint(checkpointer=saver)
    def flow(n: int) -> str:
        for name in ("first", "second", "third"):
            try:
                work(name).result()
            except Exception:
                continue
        return "done"

    with pytest.raises(SaverError):
        flow.invoke(0, thread_id="one")
    assert ran == ["first", "second"]


class Failing(MemorySaver):
    """A backend whose next commit, or next look, fails where a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.fails: list[str] = []

    def _may_fail(self, what: str) -> None:
        if what in self.fails:
            self.fails.remove(what)
            raise SaverError(f"the {what} failed")

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        try:
            self._may_fail("commit")
        except SaverError as error:
            return [error for _ in commits]
        return super().commit(commits, wait=wait)

    def load(self, thread: str, namespace: str = "", checkpoint: str | None = None) -> Loaded | None:
        self._may_fail("look")
        return super().load(thread, namespace, checkpoint)


@pytest.mark.parametrize("where", ["a child begins", "a child ends", "chance", "a retry"])
def test_nothing_else_of_a_run_overlooks_its_backend(where: str) -> None:
    """G1, G2: nor can it past a child workflow, a recorded value or a retry for which the backend failed once."""
    saver, fails = Failing(), [True]

    def fail(what: str) -> None:
        if fails:
            fails.pop()
            saver.fails.append(what)

    @task(retry_policy=RetryPolicy(initial_interval=0, jitter=False))
    def retried() -> str:
        leaf().result()
        if current().attempt == 1 and fails:
            fail("look")
            raise ConnectionError("lost")
        return "right"

    @task
    def leaf() -> None: ...

    @entrypoint
    def child(n: int) -> str:
        if where == "a child ends":
            leaf().result()
            fail("commit")
        return "right"

    def answer() -> str:
        if where == "a retry":
            return retried().result()
        if where == "chance":
            fail("commit")
            return "right" if uuid4() else ""
        if where == "a child begins":
            fail("commit")
        return child(0)

    @entrypoint(checkpointer=saver)
    def flow(n: int) -> str:
        try:
            return answer()
        except Exception:
            return "wrong"

    with pytest.raises(SaverError):
        flow.invoke(0, thread_id="one")
    assert flow.invoke(None, thread_id="one") == "right"


def test_a_record_that_cannot_be_read_cannot_be_overlooked() -> None:
    """G2, G5: code that catches every error doesn't go on as if the recorded call had failed."""
    saver, lost = MemorySaver(), [True]

    @task
    def work() -> Decimal:
        return Decimal(1)

    @entrypoint(checkpointer=saver)
    def flow(n: int) -> str:
        try:
            result = str(work().result())
        except Exception:
            result = "wrong"
        if lost:
            lost.pop()
            raise ConnectionError("lost")
        return result

    with pytest.raises(ConnectionError):
        flow.invoke(0, thread_id="one")
    serde, saver.serde = saver.serde, Forgetful()
    with pytest.raises(SerializationError):
        flow.invoke(None, thread_id="one")
    saver.serde = serde
    assert flow.invoke(None, thread_id="one") == "1"


class Forgetful(Serde):
    """It reads no decimals: the process that resumes lacks the class."""

    def loads(self, data: bytes) -> Any:
        if isinstance(value := super().loads(data), Decimal):
            raise SerializationError("Decimal is unknown")
        return value


# -- values -----------------------------------------------------------------------------------------


def test_a_result_that_cannot_be_stored(any_saver: Saver) -> None:
    """The error names the task and the path in the value; nothing is half written, and a fix is enough."""
    results: list[Any] = [{"rows": [1, threading.Lock()]}, {"rows": [1, 2]}]
    ran: list[str] = []

    @task
    def good(name: str) -> str:
        ran.append(name)
        return name

    @task
    def bad(name: str) -> Any:
        ran.append(name)
        return results.pop(0)

    @entrypoint(checkpointer=any_saver)
    def flow(n: int) -> Any:
        return good("good").result(), bad("bad").result()

    with pytest.raises(SerializationError) as caught:
        flow.invoke(0, thread_id="one")
    assert "task 'bad'" in str(caught.value)
    assert '["rows"][1]' in caught.value.path
    assert [call.status for call in flow.get_state(thread_id="one").tasks[0].calls] == ["done", "failed"]
    assert flow.invoke(None, thread_id="one") == ("good", {"rows": [1, 2]})
    assert ran == ["good", "bad", "bad"]


def test_a_final_result_that_cannot_be_stored(any_saver: Saver) -> None:
    """The entrypoint's own result too: the run fails, its tasks are kept."""
    results: list[Any] = [threading.Lock(), "fine"]
    ran: list[str] = []

    @task
    def work(name: str) -> str:
        ran.append(name)
        return name

    @entrypoint(checkpointer=any_saver)
    def flow(n: int) -> Any:
        work("once").result()
        return results.pop(0)

    with pytest.raises(SerializationError):
        flow.invoke(0, thread_id="one")
    assert flow.thread("one").status == "failed"
    assert (flow.invoke(None, thread_id="one"), ran) == ("fine", ["once"])


def test_an_input_that_cannot_be_stored(any_saver: Saver) -> None:
    """Nothing runs, nothing is recorded, and the thread is free."""
    fault = Fault(any_saver)
    with pytest.raises(SerializationError):
        fault.flow.invoke(threading.Lock(), thread_id="one")
    assert (fault.ran, fault.flow.get_state(thread_id="one").metadata) == ([], None)
    assert fault.flow.invoke("", thread_id="one", on_busy="reject") == ["first", "second", "third"]


def test_a_question_that_cannot_be_stored(any_saver: Saver) -> None:
    """The error names the question; what ran before it is kept."""
    questions: list[Any] = [{"lock": threading.Lock()}, "fine?"]
    ran: list[str] = []

    @task
    def work(name: str) -> str:
        ran.append(name)
        return name

    @entrypoint(checkpointer=any_saver)
    def flow(n: int) -> Any:
        return work("once").result(), interrupt(questions.pop(0) if len(questions) > 1 else questions[0])

    with pytest.raises(SerializationError, match="interrupt"):
        flow.invoke(0, thread_id="one")
    assert flow.invoke(None, thread_id="one")["__interrupt__"][0].value == "fine?"
    assert (flow.invoke(Command(resume="yes"), thread_id="one"), ran) == (("once", "yes"), ["once"])


def test_an_answer_that_cannot_be_stored(any_saver: Saver) -> None:
    """An answer that can't be stored is refused, and its question stays open."""

    @entrypoint(checkpointer=any_saver)
    def flow(n: int) -> Any:
        return interrupt("well?")

    flow.invoke(0, thread_id="one")
    with pytest.raises(SerializationError, match=r"well\?"):
        flow.invoke(Command(resume=threading.Lock()), thread_id="one")
    assert [question.value for question in flow.get_state(thread_id="one").interrupts] == ["well?"]
    assert flow.invoke(Command(resume="fine"), thread_id="one") == "fine"


# -- signals and exits ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("where", ["body", "task", "parallel task"])
def test_leaving_in_the_middle_leaves_the_run_resumable(
    any_saver: Saver, kind: type[BaseException], where: str
) -> None:
    """Ctrl-C and `sys.exit()` end the run as they end any function; what was recorded is reused."""
    leaving = [kind("leaves")]
    ran: list[str] = []

    @task
    def work(name: str) -> str:
        ran.append(name)
        if name == where and leaving:
            raise leaving.pop()
        return name

    @entrypoint(checkpointer=any_saver)
    def flow(n: int) -> list[str]:
        found = [work("first").result()]
        if where == "body" and leaving:
            raise leaving.pop()
        found.append(work("task").result())
        parallel = [work("parallel task"), work("sibling")]
        return found + [one.result() for one in parallel]

    with pytest.raises(kind, match="leaves"):
        flow.invoke(0, thread_id="one")
    assert flow.thread("one").status in ("killed", "failed")
    assert flow.invoke(None, thread_id="one", on_busy="reject") == [
        "first",
        "task",
        "parallel task",
        "sibling",
    ]
    assert (ran.count("first"), ran.count("task"), ran.count("parallel task")) == (
        1,
        2 if where == "task" else 1,
        2 if where == "parallel task" else 1,
    )


@pytest.mark.parametrize("where", ["body", "task"])
async def test_an_asyncio_cancellation_leaves_the_run_resumable(any_saver: Saver, where: str) -> None:
    """G7: a cancelled `ainvoke` runs no more, gives its thread back, and can be resumed."""
    inside, ran = asyncio.Event(), []

    @task
    async def work(name: str) -> str:
        ran.append(name)
        if name == "task" and where == "task" and not inside.is_set():
            inside.set()
            await asyncio.Event().wait()
        return name

    @entrypoint(checkpointer=any_saver)
    async def flow(n: int) -> list[str]:
        found = [await work("first")]
        if where == "body" and not inside.is_set():
            inside.set()
            await asyncio.Event().wait()
        return [*found, await work("task")]

    run = asyncio.ensure_future(flow.ainvoke(0, thread_id="one"))
    await inside.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert await flow.ainvoke(None, thread_id="one", on_busy="reject") == ["first", "task"]
    assert (ran.count("first"), ran.count("task")) == (1, 2 if where == "task" else 1)


EXITS = """
import sys
from flowfn import entrypoint, task

@task
def work(name):
    print(name, flush=True)
    if name == "second" and "exit" in sys.argv:
        sys.exit(3)
    return name

@entrypoint(checkpointer="runs.db")
def flow(n):
    return work("first").result() + work("second").result()

print(flow(1))
"""


async def test_code_on_a_thread_goes_no_further_than_its_cancelled_run(any_saver: Saver) -> None:
    """G1, G4: a thread can't be stopped, but it calls no task any more: that is left to the run that goes on."""
    ran: list[str] = []
    inside, goes_on, ended = threading.Event(), threading.Event(), threading.Event()

    @task
    def work(name: str) -> str:
        ran.append(name)
        return name

    @entrypoint(checkpointer=any_saver)
    def flow(n: int) -> str:
        work("first").result()
        inside.set()
        assert goes_on.wait(10)
        try:
            return work("second").result()
        finally:
            ended.set()

    running = asyncio.create_task(flow.ainvoke(0, thread_id="one"))
    assert await asyncio.to_thread(inside.wait, 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    goes_on.set()
    assert await asyncio.to_thread(ended.wait, 10)
    assert ran == ["first"]
    assert await flow.ainvoke(None, thread_id="one") == "second"
    assert ran == ["first", "second"]


def test_a_task_that_calls_sys_exit_ends_the_process(tmp_path: Path, run_python: Any) -> None:
    """`sys.exit(3)` in a task exits with 3; the same command again goes on where it stopped."""
    (tmp_path / "exits.py").write_text(EXITS)
    exits, again = run_python("exits.py", "exit"), run_python("exits.py")
    assert (exits.returncode, exits.stdout) == (3, "first\nsecond\n")
    assert (again.returncode, again.stdout) == (0, "second\nfirstsecond\n")
