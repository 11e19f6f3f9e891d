"""Threads in an SQLite file."""

from __future__ import annotations

import os
import sqlite3
from typing import Any, Self

import checkpointers
from graph_compat.checkpoint.base.saver import BaseCheckpointSaver, OwnSaver
from graph_compat.checkpoint.base.values import Checkpoint, CheckpointMetadata, CheckpointTuple
from graph_compat.connection import GivenConnection

__all__ = ["Checkpoint", "CheckpointMetadata", "CheckpointTuple", "SqliteSaver"]


class SqliteSaver(OwnSaver, checkpointers.SqliteSaver, BaseCheckpointSaver[str]):  # type: ignore[misc]
    """Keeps threads in one SQLite file: that of `conn`, which it opens itself; `conn` is left alone.

    A connection to `":memory:"` stands for threads in memory, which no other connection sees. Blocking and
    asyncio callers may share a saver.

    Raises:
        NotADatabase: the file is another program's. `flowfn import-langgraph` takes over what LangGraph kept.
    """

    conn: Any = GivenConnection()

    def __init__(self, conn: sqlite3.Connection, *, serde: Any = None) -> None:
        super().__init__(_path(conn), serde=serde)
        self.conn = conn

    @classmethod
    def from_conn_string(cls, conn_string: str) -> Self:
        """A saver of the file at a path, to be closed by `with`."""
        return cls(conn_string)  # type: ignore[arg-type]

    def setup(self) -> None:
        """Does nothing: opening the file creates what it lacks."""


def _path(place: Any) -> str:
    """The file of a connection; a path is one already."""
    if isinstance(place, str | os.PathLike):
        return os.fspath(place)
    rows = place.execute("PRAGMA database_list").fetchall()
    return next((file for _, name, file in rows if name == "main" and file), ":memory:")
