"""What can be wrong with a database: each has an error of its own, with the file and what to do in it."""

from __future__ import annotations

import math
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from checkpointers import SqliteSaver
from checkpointers.conformance.rows import THREAD, PlainSerde, checkpoint, claimed, put, write, writes
from checkpointers.sqlite.schema import SCHEMA
from flowfn.errors import (
    CorruptDataError,
    DatabaseFull,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseVersion,
    InvalidInput,
    NotADatabase,
    SaverError,
)
from flowfn.ports import Commit, Versioned
from flowfn.sqlite.connections import connect, open_writer
from flowfn.sqlite.schema import APPLICATION_ID


def open_saver(path: Path | str, **more: Any) -> SqliteSaver:
    return SqliteSaver(path, serde=PlainSerde(), **more)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with one checkpoint."""
    with open_saver(tmp_path / "runs.db") as saver:
        put(saver, checkpoint("c1"))
    return tmp_path / "runs.db"


@pytest.fixture
def locked(path: Path) -> Iterator[Path]:
    """A database that another connection is writing to."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield path
    other.close()


def test_a_locked_database_refuses_each_commit_by_itself(locked: Path) -> None:
    """`DatabaseLocked` after `timeout`, a fresh one per commit; reading goes on."""
    with open_saver(locked, timeout=0.0) as saver:
        refusals = saver.commit([Commit("t", items=[checkpoint("c2")]), Commit("u")])
        assert [type(refusal) for refusal in refusals] == [DatabaseLocked, DatabaseLocked]
        assert refusals[0] is not refusals[1]
        assert str(locked) in str(refusals[0])
        assert "timeout" in str(refusals[0])
        with pytest.raises(DatabaseLocked):
            saver.claim("t")
        assert saver.load("order-42") is not None


def test_a_commit_that_must_not_wait_says_so_at_once(locked: Path) -> None:
    """`wait=False`: `BlockingIOError`, though `timeout` is long, and nothing is done."""
    with open_saver(locked, timeout=60.0) as saver:
        with pytest.raises(BlockingIOError):
            saver.commit([Commit("t", items=[checkpoint("c2")])], wait=False)
        assert saver.thread("t") is None


def test_a_commit_that_must_not_wait_does_not_wait_for_threads(path: Path) -> None:
    """`wait=False` while another thread of this process writes."""
    with open_saver(path) as saver, saver._database.lock, pytest.raises(BlockingIOError):
        saver.commit([Commit("t")], wait=False)


def test_a_commit_waits_for_the_lock_to_be_given_back(path: Path) -> None:
    """`timeout` is how long, not whether."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    with open_saver(path, timeout=60.0) as saver:
        unlock = threading.Timer(0.05, other.close)
        unlock.start()
        assert saver.commit([Commit("t")]) == [None]
        unlock.join()


def test_a_full_disk_stores_nothing_and_can_be_left_behind(path: Path) -> None:
    """`DatabaseFull`; the whole commit is undone, small ones still fit, and with room all is well.

    `_database.begin()` is the hook by which the test limits the file's pages.
    """
    large = checkpoint("big", versions={"a": 1}, values={"a": Versioned(1, b"x" * 10_000_000)})
    with open_saver(path) as saver:
        limit_pages(saver, 100)
        refusals = saver.commit([Commit("order-42", items=[writes("c1", write("t")), large])])
        assert [type(refusal) for refusal in refusals] == [DatabaseFull]
        assert [one.writes for one in saver.history("order-42")] == [[]]
        put(saver, writes("c1", write("small")))
        limit_pages(saver, 100_000)
        put(saver, large)
        found = saver.load("order-42")
        assert found is not None
        assert found.checkpoint.id == "big"


OPENING = """
import resource
from checkpointers import SqliteSaver
from flowfn import SaverError

for pages in range(1, 20):
    path = f"{pages}.db"
    resource.setrlimit(resource.RLIMIT_FSIZE, (pages * 4096, resource.RLIM_INFINITY))
    try:
        SqliteSaver(path).close()
    except SaverError as error:
        print(str(error).removeprefix(path)[:18])
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    SqliteSaver(path).close()
"""


def test_a_file_that_cannot_be_made_whole_says_why(path: Path) -> None:
    """Wherever the disk is full; SQLite has then ended the transaction itself. With room the file is made."""
    ended = subprocess.run(
        [sys.executable, "-c", OPENING],
        cwd=path.parent,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert set(ended.stdout.splitlines()) == {": disk I/O error. "}
    assert len(ended.stdout.splitlines()) > 5


def limit_pages(saver: SqliteSaver, pages: int) -> None:
    with saver._database.lock:
        saver._database.begin().execute(f"PRAGMA max_page_count = {pages}")
        saver._database.undo()


def test_one_commit_too_large_leaves_those_of_its_group(path: Path) -> None:
    """What fails in a group is tried alone: only the culprit is refused."""
    large = checkpoint("big", versions={"a": 1}, values={"a": Versioned(1, b"x" * 10_000_000)})
    with open_saver(path) as saver:
        limit_pages(saver, 100)
        commits = [
            Commit("a", items=[checkpoint("c1")]),
            Commit("b", items=[large]),
            Commit("c", items=[checkpoint("c1")]),
        ]
        refusals = saver.commit(commits)
        assert [type(refusal) for refusal in refusals] == [type(None), DatabaseFull, type(None)]
        assert [row.id for row in saver.threads()] == ["c", "a", "order-42"]


def test_a_value_that_is_too_large_for_sqlite_says_what_to_do(path: Path) -> None:
    """There is nothing wrong with the file: SQLite keeps values of up to 1 GB."""
    large = checkpoint("big", versions={"a": 1}, values={"a": Versioned(1, b"x" * 200_000)})
    with open_saver(path) as saver:
        with saver._database.lock:
            saver._database.begin().connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)
            saver._database.undo()
        (refusal,) = saver.commit([Commit("b", items=[large])])
        assert isinstance(refusal, SaverError)
        assert "Write it to a file" in str(refusal)


def test_a_name_that_is_no_text_is_refused_alone(path: Path) -> None:
    """A lone surrogate can't be stored; the commit beside it can."""
    with open_saver(path) as saver:
        refusals = saver.commit([Commit("\ud800"), Commit("fine", items=[checkpoint("c1")])])
        assert [isinstance(refusal, SaverError) for refusal in refusals] == [True, False]
        assert saver.thread("fine") is not None


def test_a_name_that_is_no_text_is_nobody_s_damage(path: Path) -> None:
    """Who asks for it is told so, whether to read or to write."""
    with open_saver(path) as saver:
        for ask in (saver.claim, saver.load, saver.thread, saver.places, saver.delete_thread):
            with pytest.raises(SaverError, match="without lone surrogates") as refused:
                ask("\ud800")
            assert not isinstance(refused.value, CorruptDataError)


def test_a_read_only_database_can_be_read(path: Path) -> None:
    """`DatabaseReadOnly` for commits and claims alike."""
    with open_saver(path), open_saver(f"file:{path}?mode=ro") as saver:
        assert saver.load("order-42") is not None
        (refusal,) = saver.commit([Commit("order-42", items=[checkpoint("c2")])])
        assert type(refusal) is DatabaseReadOnly
        assert "writable" in str(refusal)
        with pytest.raises(DatabaseReadOnly):
            saver.claim("order-42")
        assert saver.load("order-42", "", "c2") is None


def test_a_newer_format_is_refused(path: Path) -> None:
    """`DatabaseVersion`: an older flowfn must not write into it."""
    edit(path, "PRAGMA user_version = 99")
    with pytest.raises(DatabaseVersion, match="Upgrade flowfn"):
        open_saver(path)


def test_another_application_s_database_is_left_alone(tmp_path: Path) -> None:
    """`NotADatabase`, and neither its tables nor its journal mode change."""
    for index, statement in enumerate(("CREATE TABLE users (id)", "PRAGMA application_id = 7")):
        path = tmp_path / f"other{index}.db"
        edit(path, statement)
        before = path.read_bytes()
        with pytest.raises(NotADatabase, match="another application"):
            open_saver(path)
        assert path.read_bytes() == before


def test_a_file_of_langgraphs_is_left_alone(tmp_path: Path) -> None:
    """`NotADatabase` says what takes its threads over."""
    path = tmp_path / "old.db"
    edit(path, "CREATE TABLE checkpoints (id)", "CREATE TABLE writes (id)")
    with pytest.raises(NotADatabase, match=r"flowfn import-langgraph .*old\.db --to new\.db"):
        open_saver(path)


def edit(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    """`NotADatabase`, and the file stays as it is."""
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 1000)
    with pytest.raises(NotADatabase, match="Name another file"):
        open_saver(path)
    assert path.read_text() == "Dear diary, " * 1000


def test_a_truncated_file_is_refused_or_says_so_when_read(path: Path) -> None:
    """`NotADatabase`, never an empty history."""
    whole = path.read_bytes()
    for size in (10, 50, 4096, len(whole) // 2):
        path.write_bytes(whole[:size])
        with pytest.raises(NotADatabase), open_saver(path) as saver:
            saver.load("order-42")


def test_a_file_that_another_process_makes_meanwhile_is_ours(tmp_path: Path) -> None:
    """Processes that start at the same time may all find the file new, and none takes it for a stranger's."""
    path = str(tmp_path / "runs.db")
    asked: list[str] = []

    def make_it(statement: str) -> None:
        if statement == "PRAGMA user_version" and not asked:
            asked.append(statement)
            with suppress(DatabaseLocked):
                open_saver(Path(path), timeout=0).close()

    def connected() -> sqlite3.Connection:
        connection = connect(path, "process", 0)
        connection.set_trace_callback(make_it)
        return connection

    with closing(open_writer(connected, SCHEMA, path)) as writer:
        assert asked
        assert SCHEMA.is_current(writer, path)


def test_a_file_whose_first_page_another_process_writes_meanwhile_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is of one page, which is smaller than SQLite's own would be."""
    new, stat_of, asked = tmp_path / "new.db", os.stat, []

    def made(file: Any, **options: Any) -> os.stat_result:
        if not asked:
            asked.append(file)
            edit(new, "PRAGMA page_size = 2048", f"PRAGMA application_id = {APPLICATION_ID}")
        return stat_of(file, **options)

    monkeypatch.setattr("flowfn.sqlite.connections.os.stat", made)
    with closing(connect(str(new), "process", 0)) as connection:
        assert connection.execute("PRAGMA page_size").fetchone() == (2048,)
    assert (new.stat().st_size, len(asked)) == (2048, 1)


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    """As `tempfile` makes them: what is put there is found again."""
    path = tmp_path / "runs.db"
    path.touch()
    with open_saver(path) as saver:
        put(saver, checkpoint("c1"))
    with open_saver(path) as saver:
        found = saver.load(THREAD)
        assert found is not None
        assert found.checkpoint.id == "c1"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are text")
def test_a_file_whose_name_is_no_text_is_used_as_any(tmp_path: Path) -> None:
    """Nor the folder's, as on a disk of another system's: what is put there is found again, beside nothing else."""
    path = tmp_path / os.fsdecode(b"caf\xe9.db")
    with open_saver(path) as saver:
        put(saver, checkpoint("c1"))
    with open_saver(path) as saver:
        assert saver.load(THREAD) is not None
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("name", ["missing/runs.db", "file/runs.db"])
def test_a_missing_folder_is_named(tmp_path: Path, name: str) -> None:
    """`SaverError` that says which folder; nothing is created."""
    (tmp_path / "file").touch()
    with pytest.raises(SaverError, match="there is no folder"):
        open_saver(tmp_path / name)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("timeout", ["5", None, -1, math.nan, math.inf])
def test_a_timeout_is_a_number_of_seconds(tmp_path: Path, timeout: Any) -> None:
    """`InvalidInput` before the file is made."""
    with pytest.raises(InvalidInput, match=r"is no number of seconds\. Pass one such as timeout=5\.0\."):
        open_saver(tmp_path / "runs.db", timeout=timeout)
    assert os.listdir(tmp_path) == []


def test_a_url_is_no_path() -> None:
    """It is told as such, and not as a folder that is missing."""
    with pytest.raises(InvalidInput, match=r"'sqlite:///runs.db' is a URL, and this takes a path"):
        open_saver("sqlite:///runs.db")


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    """`SaverError`, as for any path that can't be opened."""
    with pytest.raises(SaverError, match="cannot be opened"):
        open_saver(tmp_path)


OUT_OF_FILES = """
import os, resource
from checkpointers import SqliteSaver
from flowfn.errors import SaverError

SqliteSaver("other.db").close()  # what is imported late is there
before = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (os.dup(0) + 1, before[1]))
try:
    SqliteSaver("runs.db")
except SaverError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_NOFILE, before)
SqliteSaver("runs.db").close()
"""


def test_a_process_that_has_too_many_files_open_is_told_of_its_limit(tmp_path: Path) -> None:
    """SQLite says no more of it than of a folder that isn't there."""
    ended = subprocess.run(
        [sys.executable, "-c", OUT_OF_FILES],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert "may open more files than it has open (`ulimit -n`)" in ended.stdout


def test_a_new_file_is_private(tmp_path: Path) -> None:
    """Mode 0600 from the first moment; an existing file keeps its own."""
    with open_saver(tmp_path / "runs.db") as saver:
        put(saver, checkpoint("c1"))
        modes = {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        assert modes == {0o600}


def test_strange_arguments_are_refused() -> None:
    """`InvalidInput` that shows the value."""
    with pytest.raises(InvalidInput, match="'disk'"):
        open_saver(":memory:", fsync="disk")
    with pytest.raises(InvalidInput, match="names no file"):
        open_saver("")
    with pytest.raises(InvalidInput, match="path=5 names no file"):
        open_saver(5)  # type: ignore[arg-type]


def test_a_closed_saver_says_so(path: Path) -> None:
    """`SaverError`, not a crash of the driver."""
    saver = open_saver(path)
    saver.close()
    for use in (saver.threads, lambda: saver.claim("t"), lambda: saver.commit([Commit("t")])):
        with pytest.raises(SaverError, match="is closed"):
            use()


def test_an_interrupted_transaction_is_undone_by_the_next(path: Path) -> None:
    """Ctrl-C between two rows leaves no half commit, and the saver goes on."""
    with open_saver(path) as saver:
        with saver._database.lock:
            saver._database.begin().execute("DELETE FROM thread")
        put(saver, checkpoint("c2"))
        assert len(list(saver.history("order-42"))) == 2


def test_a_busy_moment_costs_no_lease(path: Path) -> None:
    """A claim that fails isn't counted as held."""
    with open_saver(path, timeout=0.0) as saver, open_saver(path) as other:
        with other._database.lock:
            other._database.begin()
            with pytest.raises(DatabaseLocked):
                saver.claim("t")
            other._database.undo()
        claimed(other, "t")


def test_a_file_that_is_open_under_a_hard_link_is_told_as_such(tmp_path: Path) -> None:
    """Each name has a log of its own, so that SQLite refuses the second one; it speaks of the disk alone."""
    with SqliteSaver(tmp_path / "runs.db"):
        os.link(tmp_path / "runs.db", tmp_path / "link.db")
        with pytest.raises(SaverError, match="open under another name, a hard link"):
            SqliteSaver(tmp_path / "link.db")
