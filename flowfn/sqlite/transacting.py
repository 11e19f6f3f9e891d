"""A transaction of a task in a user's SQLite database: their rows, and that the call is done.

Rule: it takes the writing lock when it begins, so that of two attempts at one call the second sees what the first
has done. Nothing here commits before the end, and nothing of the user's code may.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

from flowfn.errors import InvalidInput, SaverError
from flowfn.sqlite.file import refusal
from flowfn.sqlite.schema import APPLICATION_ID

TIMEOUT = 5.0
"""Seconds to wait while somebody else writes."""

_TABLE = (
    "CREATE TABLE IF NOT EXISTS flowfn_done (key TEXT PRIMARY KEY, result BLOB NOT NULL, "
    "at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP) WITHOUT ROWID"
)

Run = Callable[..., Awaitable[Any]]
"""Calls something that may block for a while: in place, or where an event loop doesn't wait for it."""


def connect(path: str) -> sqlite3.Connection:
    """A connection to a file, for one transaction.

    A file that flowfn keeps runs in is checkpointed by its saver alone.

    Raises:
        SaverError: the file can't be opened in this process.
    """
    if why := refusal(path):
        raise SaverError(f"{path}: {why}")
    connection = sqlite3.connect(path, timeout=TIMEOUT, isolation_level=None, check_same_thread=False)
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application == APPLICATION_ID:
            connection.execute("PRAGMA wal_autocheckpoint = 0")
    except BaseException:
        connection.close()
        raise
    return connection


class SqliteTransaction:
    """One transaction on an open connection."""

    def __init__(self, connection: sqlite3.Connection, run: Run) -> None:
        self.connection = connection
        self._run = run

    async def begin(self) -> None:
        await self._run(self.connection.execute, "BEGIN IMMEDIATE")
        self.connection.execute(_TABLE)

    async def find(self, key: str) -> bytes | None:
        """The result of a call that is done."""
        cursor = self.connection.cursor()
        cursor.row_factory = None  # the user's code may have other rows
        row = cursor.execute("SELECT result FROM flowfn_done WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    async def keep(self, key: str, result: bytes) -> None:
        """The call is done, with this result."""
        self.connection.execute("INSERT INTO flowfn_done (key, result) VALUES (?, ?)", (key, result))

    def check(self) -> None:
        """Refuse to go on where the user's code has ended the transaction.

        Raises:
            InvalidInput: it has.
        """
        if not self.connection.in_transaction:
            raise InvalidInput(
                "the task ended its transaction itself, by commit(), rollback() or executescript(): leave that to "
                "transaction=, or what it wrote isn't bound to its record"
            )

    async def end(self) -> None:
        await self._run(self.connection.commit)

    async def undo(self) -> None:
        if self.connection.in_transaction:
            self.connection.rollback()
