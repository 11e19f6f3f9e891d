"""The write-ahead log is moved into the database in time, and the file keeps no more than it must."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from checkpointers import SqliteSaver
from checkpointers.conformance.rows import PlainSerde, checkpoint, loaded, put, write, writes
from flowfn.ports import Lease, Versioned
from flowfn.sqlite.connections import LOG
from flowfn.sqlite.wal import PAGE

TRANSACTIONS = LOG["process"]
LARGE = b"x" * 200_000


def open_saver(path: Path) -> SqliteSaver:
    return SqliteSaver(path, serde=PlainSerde())


def log_size(path: Path) -> int:
    return path.with_name(path.name + "-wal").stat().st_size


def test_the_log_does_not_grow_for_ever(tmp_path: Path) -> None:
    """100 MB of large rows leave a log of a fraction of that, and all of them can be read."""
    path = tmp_path / "runs.db"
    with open_saver(path) as saver:
        put(saver, checkpoint("c1"))
        for index in range(500):
            put(saver, writes("c1", write("t", index, LARGE)))
        assert log_size(path) < 3 * TRANSACTIONS * PAGE
        assert [row.value for row in loaded(saver).writes] == [LARGE] * 500


def test_many_small_commits_are_moved_too(tmp_path: Path) -> None:
    """By their number; another connection that reads the file without the log finds the first of them."""
    path = tmp_path / "runs.db"
    with open_saver(path) as saver:
        put(saver, checkpoint("c1"))
        for index in range(TRANSACTIONS + 100):
            put(saver, writes("c1", write("t", index)))
        without_log = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        (count,) = without_log.execute('SELECT count(*) FROM "write"').fetchone()
        without_log.close()
        assert count > TRANSACTIONS - 100


def test_a_reader_in_the_middle_keeps_what_it_sees(tmp_path: Path) -> None:
    """A long read holds the log back, loses nothing by it, and nobody waits for it."""
    path = tmp_path / "runs.db"
    with open_saver(path) as saver:
        put(saver, checkpoint("c1"), writes("c1", write("t", 0, LARGE)))
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        count = 'SELECT count(*) FROM "write"'
        assert reader.execute(count).fetchone() == (1,)
        for index in range(1, 200):
            put(saver, writes("c1", write("t", index, LARGE)))
        assert reader.execute(count).fetchone() == (1,)
        reader.execute("ROLLBACK")
        assert reader.execute(count).fetchone() == (200,)
        assert reader.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        reader.close()
        for index in range(200, 400):
            put(saver, writes("c1", write("t", index, LARGE)))
        assert log_size(path) < 80_000_000


def test_closing_leaves_one_file(tmp_path: Path) -> None:
    """So that it can be copied."""
    with open_saver(tmp_path / "runs.db") as saver:
        put(saver, checkpoint("c1"))
    assert [file.name for file in tmp_path.iterdir()] == ["runs.db"]


def test_a_file_without_a_log_gets_one_when_it_is_opened(tmp_path: Path) -> None:
    """Whoever took it away, a user or a death in the middle of beginning it anew: without one, readers stop writers."""
    path = tmp_path / "runs.db"
    open_saver(path).close()
    plain = sqlite3.connect(path)
    assert plain.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    plain.close()
    with open_saver(path) as saver:
        assert isinstance(saver.claim("t"), Lease)  # which looks whether the log is in its place
        put(saver, checkpoint("c1"), thread="another")
        assert log_size(path) > 0


def test_what_did_not_change_is_not_stored_again(tmp_path: Path) -> None:
    """G6: 400 checkpoints beside a value of 200 kB, which never changes, cost less than that value."""
    path = tmp_path / "runs.db"
    with open_saver(path) as saver:
        put(saver, checkpoint("c0", versions={"big": 1}, values={"big": Versioned(1, LARGE)}))
        for number in range(1, 400):
            value = {"small": Versioned(number, b"x" * 20)}
            put(
                saver,
                checkpoint(
                    f"c{number}", f"c{number - 1}", versions={"big": 1, "small": number}, values=value
                ),
            )
        assert loaded(saver).checkpoint.values["big"] == Versioned(1, LARGE)
    assert path.stat().st_size < 2 * len(LARGE)


def test_deleting_a_thread_deletes_its_bytes(tmp_path: Path) -> None:
    """No row of any table outlives it, replaced values included."""
    path = tmp_path / "runs.db"
    with open_saver(path) as saver:
        for value in (b"first", b"second"):
            put(saver, checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, value)}))
        put(saver, writes("c1", write("t")), writes("c2", write("t")))
        saver.delete_thread("order-42")
    connection = sqlite3.connect(path)
    tables = ("thread", "checkpoint", "value", '"write"')
    counts = [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]
    connection.close()
    assert counts == [0, 0, 0, 0]
