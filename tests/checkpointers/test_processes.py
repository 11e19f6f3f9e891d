"""What processes may do to each other and to themselves: die, fork, race."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from checkpointers import PostgresSaver, SqliteSaver
from checkpointers.conformance.rows import PlainSerde, checkpoint, put, write, writes
from flowfn.ports import Lease

from ..processes import finish, output, started

PRELUDE = """
import os, sys
from checkpointers import PostgresSaver, SqliteSaver
from checkpointers.conformance.rows import PlainSerde, checkpoint, claimed, put, write, writes
from flowfn.errors import LeaseLost
from flowfn.ports import Begin, Busy, Commit, Lease
kind = PostgresSaver if "://" in sys.argv[1] else SqliteSaver
saver = kind(sys.argv[1], serde=PlainSerde(), timeout=60)
"""


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new file, or the URL of a database without threads."""
    if request.param == "sqlite":
        return str(tmp_path / "runs.db")
    url: str = request.getfixturevalue("postgres_url")
    return url


def start(target: str, script: str, *args: str) -> subprocess.Popen[str]:
    """A process that has the saver of `target` open, and runs a script."""
    return started(PRELUDE + script, target, *args)


def reopen(target: str) -> SqliteSaver | PostgresSaver:
    kind = PostgresSaver if "://" in target else SqliteSaver
    return kind(target, serde=PlainSerde(), timeout=60)


LOOP = """
thread = sys.argv[2]
lease = claimed(saver, thread)
put(saver, checkpoint("c1"), thread=thread, lease=lease, begin=Begin("wf", "call"))
for index in range(1_000_000):
    put(saver, writes("c1", write("task", index, b"x" * 50)), thread=thread, lease=lease)
    print(index, flush=True)
"""


def test_a_kill_loses_nothing_that_was_committed(target: str) -> None:
    """G1: after `kill -9` in a loop of commits the database is sound and holds all that was seen."""
    for number in range(3):
        process = start(target, LOOP, f"t{number}")
        seen = [int(output(process).readline()) for _ in range(200)]
        process.kill()
        seen += [int(line) for line in output(process) if line.endswith("\n")]
        process.communicate()
        with reopen(target) as saver:
            found = saver.load(f"t{number}")
            assert found is not None
            indexes = [row.index for row in found.writes]
            assert indexes == list(range(len(indexes)))
            assert len(indexes) >= len(seen)
        if "://" not in target:
            connection = sqlite3.connect(target)
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            connection.close()


def test_the_lease_of_a_killed_process_is_free_at_once(target: str) -> None:
    """G4: also while it is a zombie; and its unfinished run is adopted."""
    process = start(target, LOOP, "t")
    output(process).readline()
    with reopen(target) as saver:
        assert saver.adopt("wf", "call") is None
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        adopted = saver.adopt("wf", "call")
        assert adopted is not None
        assert adopted.thread == "t"
    process.communicate()


def test_a_live_process_keeps_its_lease(target: str) -> None:
    """G4: another process is told who has it, and may take it by force; the holder is then refused."""
    script = """
lease = claimed(saver, "t")
print("claimed", flush=True)
sys.stdin.readline()
print(type(*saver.commit([Commit("t", lease, [checkpoint("c1")])])).__name__)
"""
    process = start(target, script)
    output(process).readline()
    with reopen(target) as saver:
        busy = saver.claim("t")
        assert not isinstance(busy, Lease)
        assert f"process {process.pid} on" in busy.owner
        assert isinstance(saver.claim("t", force=True), Lease)
        printed, _ = process.communicate("go\n", timeout=60)
        assert printed == "LeaseLost\n"
        assert saver.load("t") is None


def test_processes_race_for_claims_and_lose_no_update(target: str) -> None:
    """G4: four processes count up one channel 25 times each; every claim, read and commit counts once."""
    reopen(target).close()
    script = """
import time
from flowfn.ports import Versioned
done = 0
while done < 25:
    lease = saver.claim("t")
    if isinstance(lease, Busy):
        time.sleep(0.001)
        continue
    last = saver.load("t")
    count = int(last.checkpoint.values["n"].value) if last else 0
    parent = last.checkpoint.id if last else None
    row = checkpoint(f"c{count + 1}", parent, versions={"n": count + 1},
                     values={"n": Versioned(count + 1, b"%d" % (count + 1))})
    put(saver, row, thread="t", lease=lease, release=True)
    done += 1
"""
    for process in [start(target, script) for _ in range(4)]:
        finish(process)
    with reopen(target) as saver:
        found = [one.checkpoint.id for one in saver.history("t")]
        assert found == [f"c{count}" for count in range(100, 0, -1)]


def test_processes_commit_at_once_without_errors(target: str) -> None:
    """Nobody fails for being second; SQLite begins `IMMEDIATE` always."""
    script = """
for index in range(200):
    put(saver, writes("c1", write(sys.argv[2], index)), thread="t")
"""
    for process in [start(target, script, f"p{number}") for number in range(4)]:
        finish(process)
    with reopen(target) as saver:
        put(saver, checkpoint("c1"), thread="t")
        found = saver.load("t")
        assert found is not None
        for number in range(4):
            mine = [row.index for row in found.writes if row.task == f"p{number}"]
            assert mine == list(range(200))


FORK = """
lease = claimed(saver, "t")
put(saver, checkpoint("c1"), thread="t", lease=lease, begin=Begin("wf", "call"))
child = os.fork()
if child == 0:
    stale = saver.commit([Commit("t", lease, [checkpoint("c2")])])
    print("forked from" in str(*stale), type(*stale).__name__, type(saver.claim("t")).__name__)
    print(saver.load("t").checkpoint.id, flush=True)
    put(saver, checkpoint("c1"), thread="child")
    os._exit(0)
os.waitpid(child, 0)
put(saver, checkpoint("c3", "c1"), thread="t", lease=lease)
print(saver.load("t").checkpoint.id, saver.load("child").checkpoint.id)
saver.close()
"""


def test_a_forked_child_is_another_owner(target: str) -> None:
    """It reads and writes on its own connections, but not with its parent's lease; the parent goes on."""
    printed = finish(start(target, FORK))
    assert printed.splitlines() == ["True LeaseLost Busy", "c1", "c3 c1"]


FORK_AND_UNWIND = """
lease = claimed(saver, "t")
child = os.fork()
if child == 0:
    saver.release(lease)
    os._exit(0)
os.waitpid(child, 0)
print(type(saver.claim("t")).__name__)
saver.close()
"""


def test_a_forked_child_gives_nothing_back(target: str) -> None:
    """G4: where the child leaves the code of the run, by sys.exit() say, its parent still holds the thread."""
    assert finish(start(target, FORK_AND_UNWIND)) == "Busy\n"


def finish_sqlite(tmp_path: Path, script: str) -> str:
    """What a process prints that has a new file open."""
    return finish(start(str(tmp_path / "runs.db"), script))


DAEMON = """
put(saver, checkpoint("c1"), thread="t")
parent_lives, end = os.pipe()
if os.fork() == 0:
    os.close(end)
    put(saver, checkpoint("c2", "c1"), thread="t")
    os.read(parent_lives, 1)
    put(saver, checkpoint("c3", "c2"), thread="t")
    os.kill(os.getpid(), 9)
"""


def test_a_child_whose_parent_has_ended_loses_nothing(tmp_path: Path) -> None:
    """G1: as daemons and prefork servers do. It holds all the locks that SQLite in it believes to hold."""
    assert finish_sqlite(tmp_path, DAEMON) == ""
    with reopen(str(tmp_path / "runs.db")) as saver:
        assert [one.checkpoint.id for one in saver.history("t")] == ["c3", "c2", "c1"]


BUSY_FORK = """
import threading
inside, go = threading.Event(), threading.Event()
def write():
    with saver._database.writing():
        inside.set()
        go.wait()
writer = threading.Thread(target=write)
writer.start()
inside.wait()
os.register_at_fork(before=go.set)
child = os.fork()
put(saver, checkpoint("c1"), thread="parent" if child else "child")
if child == 0:
    os._exit(0)
writer.join()
os.waitpid(child, 0)
print(sorted(row.id for row in saver.threads()), saver.load("child").checkpoint.id)
"""


def test_a_fork_waits_for_transactions_of_other_threads(tmp_path: Path) -> None:
    """Their locks would be the child's for ever."""
    assert finish_sqlite(tmp_path, BUSY_FORK) == "['child', 'parent'] c1\n"


FORK_WITHIN = """
from flowfn.python import forking
from flowfn.errors import SaverError
forking.PATIENCE = 0.0
with saver._database.writing():
    child = os.fork()
    if child == 0:
        for use in (lambda: saver.threads(), lambda: saver.claim("t"), lambda: SqliteSaver(sys.argv[1])):
            try:
                use()
            except SaverError as error:
                print("forked while its parent was in the middle of a transaction" in str(error), flush=True)
        os._exit(0)
os.waitpid(child, 0)
put(saver, checkpoint("c1"), thread="t")
print(saver.load("t").checkpoint.id)
"""


def test_a_child_forked_within_a_transaction_is_refused(tmp_path: Path) -> None:
    """No fork waits for ever: the child is told, however it opens the file, and the parent goes on."""
    assert finish_sqlite(tmp_path, FORK_WITHIN) == "True\nTrue\nTrue\nc1\n"


OTHER_PLACES = """
os.chdir(os.path.dirname(sys.argv[1]))
in_memory = SqliteSaver(":memory:", serde=PlainSerde())
savers = [SqliteSaver("a.db", serde=PlainSerde()), SqliteSaver("file:b.db?mode=rwc", serde=PlainSerde()), in_memory]
for one in savers:
    put(one, checkpoint("c1"), thread="t")
child = os.fork()
os.chdir("/")
if child:
    os.waitpid(child, 0)
print([one.load("t").checkpoint.id for one in savers], flush=True)
"""


def test_both_sides_of_a_fork_go_on_where_they_were(tmp_path: Path) -> None:
    """In memory, and in the same file also where its name was relative and the process, a daemon, went elsewhere."""
    assert finish_sqlite(tmp_path, OTHER_PLACES) == "['c1', 'c1', 'c1']\n" * 2


FIRST_USERS = """
import threading
from flowfn.sqlite import database
child = os.fork()
if child == 0:
    opening, both = database.open_writer, threading.Barrier(2)
    opened = []
    def open_writer(*args):
        opened.append(opening(*args))
        try:
            both.wait(0.1)  # for another that opens at the same time
        except threading.BrokenBarrierError:
            pass
        return opened[-1]
    database.open_writer = open_writer
    users = [threading.Thread(target=saver.claim, args=["t"]), threading.Thread(target=saver.load, args=["t"])]
    [one.start() for one in users]
    [one.join() for one in users]
    print(len(opened), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


def test_a_child_opens_once_whoever_uses_it_first(tmp_path: Path) -> None:
    """A reader and a writer at once: a transaction would begin on one connection and end on the other."""
    assert finish(start(str(tmp_path / "runs.db"), FIRST_USERS)) == "1\n"


def test_a_process_that_ends_without_closing_leaves_a_sound_file(target: str) -> None:
    """A script needn't close anything; its lease is free for the next."""
    script = 'put(saver, checkpoint("c1"), thread="t", lease=claimed(saver, "t"), begin=Begin("wf", "call"))'
    finish(start(target, script))
    with reopen(target) as saver:
        assert saver.load("t") is not None
        assert isinstance(saver.claim("t"), Lease)


def test_a_process_that_ends_leaves_the_log_to_those_that_go_on(tmp_path: Path) -> None:
    """Also where a process has a file open twice: it opens the second time without giving up the first one's locks."""
    path = str(tmp_path / "runs.db")
    with reopen(path) as saver, reopen(path):
        put(saver, checkpoint("c1"), thread="t")
        finish(start(path, "saver.close()"))
        put(saver, checkpoint("c2", "c1"), thread="t")
        assert finish(start(path, 'print(saver.load("t").checkpoint.id)')) == "c2\n"


def test_writers_and_a_reader_of_two_processes_see_whole_logs(target: str) -> None:
    """Two writing processes lose nothing, however large the rows are, nor do SQLite's checkpoints of its log."""
    script = """
for index in range(150):
    put(saver, writes("c1", write(sys.argv[2], index, bytes([index]) * 100_000)), thread="t")
"""
    processes = [start(target, script, f"p{number}") for number in range(2)]
    for process in processes:
        finish(process)
    assert not Path(f"{target}-wal").exists()
    with reopen(target) as saver:
        put(saver, checkpoint("c1"), writes("c1", write("last")), thread="t")
        found = saver.load("t")
        assert found is not None
        assert sum(row.value == bytes([row.index]) * 100_000 for row in found.writes) == 300
