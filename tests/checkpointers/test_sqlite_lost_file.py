"""A file, or its log, that is deleted or replaced while it is open: what goes there counts as lost (G1)."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from checkpointers import SqliteSaver
from checkpointers.conformance.rows import PlainSerde, checkpoint, loaded, put
from flowfn import SaverError, entrypoint, task
from flowfn.stores.opening import open_store


def remove(path: Path) -> None:
    """Delete a database and its log."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def move(path: Path) -> None:
    """Move a database and its log away."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).rename(path.with_name(f"old-{path.name}{suffix}"))


def opened(path: Path) -> SqliteSaver:
    return SqliteSaver(path, serde=PlainSerde())


def test_a_run_whose_file_is_deleted_does_not_end_well(tmp_path: Path) -> None:
    """G1: its results are nowhere, and its caller must not count on them."""
    path = tmp_path / "runs.db"

    @task
    def clean_up() -> None:
        remove(path)

    @entrypoint(checkpointer=path)
    def flow() -> str:
        clean_up().result()
        return "kept"

    with pytest.raises(SaverError, match="deleted or replaced while it was open"):
        flow()


def test_a_file_that_is_new_is_used_by_the_next_call(tmp_path: Path) -> None:
    """Who names a file by its path gets the one that is there."""
    path = tmp_path / "runs.db"

    @entrypoint(checkpointer=path)
    def flow(number: int, *, previous: int = 0) -> int:
        return number + previous

    saver = opened(path)
    flow.invoke(1, thread_id="t")
    remove(path)
    assert flow.invoke(2, thread_id="t") == 2
    assert flow.thread("t").state.values == 2
    with pytest.raises(SaverError, match="deleted or replaced while it was open"):
        saver.load("t")


def test_a_store_whose_file_is_deleted_is_opened_anew_by_its_name(tmp_path: Path) -> None:
    """Who has the one that was open is told, and who names the file gets the one that is there."""
    path = tmp_path / "memory.db"
    store = open_store(path)
    store.put(("users",), "ada", {"born": 1815})
    remove(path)
    assert open_store(path).get(("users",), "ada") is None
    with pytest.raises(SaverError, match="deleted or replaced while it was open"):
        store.get(("users",), "ada")


@pytest.mark.parametrize("gone", ["deleted", "moved away"])
@pytest.mark.parametrize("use", ["read", "read again", "write", "close"])
def test_another_file_in_its_place_is_let_alone(tmp_path: Path, use: str, gone: str) -> None:
    """G2, G4: nothing is read from it or written to it, and SQLite doesn't delete its log."""
    path = tmp_path / "runs.db"
    first = opened(path)
    put(first, checkpoint("old"))
    if use == "read again":
        assert loaded(first).checkpoint.id == "old"
    if gone == "deleted":
        remove(path)
    else:
        move(path)
    with opened(path) as second:
        put(second, checkpoint("new"))
        if use.startswith("read"):
            with pytest.raises(SaverError, match="deleted or replaced"):
                loaded(first)
        elif use == "write":
            with pytest.raises(SaverError, match="deleted or replaced"):
                first.claim("another")
        first.close()
        assert loaded(second).checkpoint.id == "new"
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as onlooker:
            assert onlooker.execute("SELECT count(*) FROM checkpoint").fetchone() == (1,)
        onlooker.close()


def test_a_folder_that_may_not_be_looked_into_is_no_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is open, and can be there."""
    path = tmp_path / "runs.db"

    def denied(*_: object, **__: object) -> None:
        raise PermissionError

    with opened(path) as saver:
        put(saver, checkpoint("c1"))
        with monkeypatch.context() as patched:
            patched.setattr("flowfn.sqlite.connections.os.stat", denied)
            put(saver, checkpoint("c2", parent="c1"))
        assert loaded(saver).checkpoint.id == "c2"


# -- the log alone ----------------------------------------------------------------------------------

WRITER = """
import os, sys
from checkpointers import SqliteSaver
from checkpointers.conformance.rows import PlainSerde, checkpoint, put
saver = SqliteSaver(sys.argv[1], serde=PlainSerde())
put(saver, checkpoint("c1"), thread=sys.argv[2])
if sys.argv[3] == "is killed":
    os._exit(0)
saver.close()
"""

READER = """
import sys
from checkpointers import SqliteSaver
with SqliteSaver(sys.argv[1]) as saver:
    print(sorted(row.id for row in saver.threads()))
"""


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def test_a_log_that_is_deleted_is_begun_anew(
    tmp_path: Path, run_python: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """G1: SQLite would go on writing to the one that nobody finds. What that holds is moved into the file."""
    path, ran = tmp_path / "runs.db", []

    @task
    def step(number: int) -> int:
        ran.append(number)
        if number == 2:
            log_of(path).unlink()
        return number

    with opened(path) as saver:

        @entrypoint(checkpointer=saver)
        def flow() -> int:
            return sum(step(number).result() for number in (1, 2, 3))

        assert flow.invoke(thread_id="t") == 6
        assert run_python("-c", WRITER, path, "another", "closes").stderr == ""
        assert flow.thread("t").state.values == 6
        assert run_python("-c", READER, path).stdout == "['another', 't']\n"
    assert [record.message for record in caplog.records] == [
        f"{path}: its log was deleted while it was open; nothing that it held is lost"
    ]


def test_a_log_that_others_deleted_meanwhile_is_begun_anew(tmp_path: Path, run_python: Any) -> None:
    """As by a server that copies its file, and has nothing to do while a script uses it."""
    path = tmp_path / "runs.db"
    with opened(path) as saver:

        @entrypoint(checkpointer=saver)
        def flow(number: int) -> int:
            return number

        flow.invoke(1, thread_id="first")
        shutil.copy(path, tmp_path / "copy.db")
        for other in ("second", "third"):
            assert run_python("-c", WRITER, path, other, "closes").stderr == ""
        assert not log_of(path).exists()
        flow.invoke(4, thread_id="fourth")
        assert run_python("-c", READER, path).stdout == "['first', 'fourth', 'second', 'third']\n"


def test_what_others_wrote_once_the_log_was_gone_is_let_alone(tmp_path: Path, run_python: Any) -> None:
    """G2, G4: a copy of the file gives up the locks of its process, and the next one to close it deletes the log.

    What this process has yet to move into the file is older than what others have written there since.
    """
    path = tmp_path / "runs.db"
    first = opened(path)
    put(first, checkpoint("c1"), thread="first")
    shutil.copy(path, tmp_path / "copy.db")
    for other in ("second", "third"):
        assert run_python("-c", WRITER, path, other, "closes").stderr == ""
    with pytest.raises(SaverError, match="was deleted while it was open"):
        first.claim("fourth")
    first.close()
    with pytest.raises(SaverError, match="Start this process again to go on"):
        opened(path)
    assert run_python("-c", READER, path).stdout == "['first', 'second', 'third']\n"


def test_another_log_in_its_place_is_let_alone(tmp_path: Path, run_python: Any) -> None:
    """G4: to close the file would delete the log that another process has left there."""
    path = tmp_path / "runs.db"
    with opened(path) as first:
        put(first, checkpoint("c1"), thread="first")
    first = opened(path)
    assert first.thread("first") is not None
    log_of(path).unlink()
    path.with_name(f"{path.name}-shm").unlink()
    assert run_python("-c", WRITER, path, "second", "is killed").stderr == ""
    first.close()
    assert run_python("-c", READER, path).stdout == "['first', 'second']\n"
