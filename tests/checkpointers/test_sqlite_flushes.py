"""With `fsync="power"` what a power cut must not undo waits for the disk: no lease does, for its owner ends as well."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from checkpointers import SqliteSaver
from checkpointers.conformance.rows import PlainSerde, checkpoint, claimed, put
from flowfn.ports import Begin
from flowfn.sqlite.connections import Fsync


def levels(saver: SqliteSaver) -> list[str]:
    """Filled with what each transaction that writes is flushed by, as it ends."""
    ended: list[str] = []
    writer: sqlite3.Connection = saver._database._connected().writer
    level = {1: "NORMAL", 2: "FULL"}[writer.execute("PRAGMA synchronous").fetchone()[0]]

    def note(statement: str) -> None:
        nonlocal level
        if statement.startswith("PRAGMA synchronous = "):
            level = statement.rpartition(" ")[2]
        elif statement == "COMMIT":
            ended.append(level)

    writer.set_trace_callback(note)
    return ended


@pytest.mark.parametrize(("fsync", "of_a_commit"), [("power", "FULL"), ("process", "NORMAL")])
def test_a_commit_is_flushed_and_a_lease_is_not(tmp_path: Path, fsync: Fsync, of_a_commit: str) -> None:
    """A lease's transaction leaves it to the system when it is written; each other one is as `fsync` says."""
    saver = SqliteSaver(tmp_path / "runs.db", fsync=fsync, serde=PlainSerde())
    ended = levels(saver)
    lease = claimed(saver, "t")
    put(saver, checkpoint("c1"), thread="t", lease=lease, begin=Begin("wf", "call"))
    put(saver, checkpoint("c2", "c1"), thread="t", lease=lease, status="failed", release=True)
    adopted = saver.adopt("wf", "call")
    assert adopted is not None
    put(saver, checkpoint("c3", "c2"), thread="t", lease=adopted)
    saver.release(adopted)
    saver.delete_thread("t")
    saver._database._connected().writer.set_trace_callback(None)
    saver.close()
    lent, kept = "NORMAL", of_a_commit
    assert ended == [lent, kept, kept, lent, kept, lent, kept]


def test_a_commit_is_flushed_after_a_signal_as_a_lease_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Ctrl-C just after the level was set leaves nobody believing that it is still the former one."""
    saver = SqliteSaver(tmp_path / "runs.db", fsync="power", serde=PlainSerde())
    lease = claimed(saver, "t")
    connections = saver._database._connected()
    cursor = connections.cursor

    class Interrupted:
        def execute(self, statement: str, *values: object) -> None:
            cursor.execute(statement, *values)
            raise KeyboardInterrupt

    ended = levels(saver)
    put(saver, checkpoint("c1"), thread="t", lease=lease)
    with monkeypatch.context() as patched:
        patched.setattr(connections, "cursor", Interrupted())
        with pytest.raises(KeyboardInterrupt):
            connections.flush(False)
    put(saver, checkpoint("c2", "c1"), thread="t", lease=lease)
    connections.writer.set_trace_callback(None)
    saver.close()
    assert ended == ["FULL", "FULL"]
