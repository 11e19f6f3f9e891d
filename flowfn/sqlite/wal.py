"""Moving the write-ahead log into the database, at times when that is safe.

Rule: the log is checkpointed only by a second connection while the first holds the write lock, so that
no writer anywhere can start the log anew meanwhile. SQLite before 3.51.3 may otherwise lose pages where
several connections write and checkpoint. All other ways to checkpoint are off: no autocheckpoint.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress

from flowfn.sqlite.file import identity_of

PAGE = 2048
"""Bytes of a page, by one of which a small transaction makes the log longer.

A commit writes whole pages, each with a checksum of all of it: of half of SQLite's own size, one of small rows takes a
fifth less. Values of 100 KB and more, which are many pages, take a fifth more.
"""

_LOOK = 64
"""Transactions after which the log's size is looked at, for those that weren't small."""


class WriteAheadLog:
    """The log of one database file. Its methods are called by whoever may use the writing connection.

    It is moved into the database after `transactions`, however small they were, or once it grew by as
    many pages. Its file keeps that size: reusing it is cheaper than letting it grow anew.
    """

    def __init__(self, path: str, connect: Callable[[], sqlite3.Connection], transactions: int) -> None:
        self._limit = transactions
        self._size = transactions * PAGE
        self._database = path
        self.path = path + "-wal"
        self.identity = identity_of(self.path)
        """Of the log's file; None where there is none, as of a file that can't be written to."""
        self._connect = connect
        self._second: sqlite3.Connection | None = None
        self._transactions = 0
        self._known = self._size

    def begun_anew(self) -> WriteAheadLog:
        """That of the same database, of which SQLite has begun a new one."""
        return WriteAheadLog(self._database, self._connect, self._limit)

    @property
    def is_there(self) -> bool:
        """Whether the log that SQLite has open here is the one that others would open."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return self.identity is None
        except OSError:  # a folder that may not be looked into any more
            return True
        return (found.st_dev, found.st_ino) == self.identity

    @property
    def was_replaced(self) -> bool:
        """Whether another log has its name."""
        return identity_of(self.path) not in (None, self.identity)

    def grew(self, writer: sqlite3.Connection) -> bool:
        """Count a transaction, and checkpoint where the log has become long; whether it did."""
        self._transactions += 1
        if self._transactions % _LOOK == 0 and (self._transactions >= self._limit or self._is_long()):
            return self.checkpoint(writer)
        return False

    def _is_long(self) -> bool:
        """Whether the log grew by its size since it was last checkpointed, or last started anew."""
        size = self.size()
        self._known = max(self._size, min(self._known, size))
        return size > self._known + self._size

    def size(self) -> int:
        """Bytes of the log; 0 where there is none."""
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0

    def checkpoint(self, writer: sqlite3.Connection) -> bool:
        """Move what can be moved without waiting. What can't be stays in the log, where it is safe.

        False, and nothing is moved, where the log isn't there any more: others may have written to the file since.
        """
        if not self.is_there:
            return False
        self._transactions = 0
        self._known = max(self._size, self.size())
        with suppress(sqlite3.Error):
            if self._second is None:
                self._second = self._connect()
            writer.execute("BEGIN IMMEDIATE")
            try:
                self._second.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            finally:
                writer.execute("ROLLBACK")
        return True

    def close(self) -> None:
        if self._second is not None:
            self._second.close()
            self._second = None
