"""The end of the interpreter closes a file only when no thread uses it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from checkpointers import SqliteSaver
from flowfn.sqlite import database as module
from flowfn.sqlite.database import _close_at_end


def finalized(saver: SqliteSaver) -> Any:
    """Close its connections as the interpreter does at its end."""
    found = saver._database._finalizer.detach()
    assert found is not None
    _, function, args, _ = found
    assert function is _close_at_end
    function(*args)
    return args[0]


def is_open(connections: Any) -> bool:
    """Whether the connection that writes still is."""
    try:
        connections.writer.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return False
    return True


def test_a_file_that_nobody_uses_is_closed(tmp_path: Path) -> None:
    """And its locks are given back, so that whoever closes the saver after that doesn't wait."""
    saver = SqliteSaver(tmp_path / "runs.db")
    assert not is_open(finalized(saver))
    assert not saver._database.lock.locked()


def test_a_saver_is_closed_after_its_file(tmp_path: Path) -> None:
    """Also by an object or a generator that the interpreter drops last: a file is closed once."""
    saver = SqliteSaver(tmp_path / "runs.db")
    list(saver.list(None))
    finalized(saver)
    saver.close()
    assert saver.closed


def test_a_file_that_a_thread_uses_stays_open(tmp_path: Path, monkeypatch: Any) -> None:
    """To close it under a heartbeat's transaction was a segmentation fault, and what was printed was lost."""
    monkeypatch.setattr(module, "_LAST_WAIT", 0.01)
    saver = SqliteSaver(tmp_path / "runs.db")
    with saver._database.writing():
        connections = finalized(saver)
        assert is_open(connections)
    saver.close()
