"""The connections of one process to one database: which there are, and how one is opened and closed.

Rule: one writes, another reads, so that no reader waits for a writer, and a third checkpoints (`wal`). A file that was
deleted or replaced while it was open is neither used nor closed: what goes there is lost, and SQLite would delete the
log of the file that has its name now.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from typing import Literal

from flowfn.forking import leave_alone
from flowfn.sqlite.errors import cut_off
from flowfn.sqlite.file import identity_of
from flowfn.sqlite.schema import Schema
from flowfn.sqlite.wal import PAGE, WriteAheadLog

Fsync = Literal["process", "power"]

_PRAGMAS = ("wal_autocheckpoint = 0", "mmap_size = 0")

FSYNC: dict[str, tuple[str, ...]] = {
    "process": ("synchronous = NORMAL",),
    "power": ("synchronous = FULL", "fullfsync = 1", "checkpoint_fullfsync = 1"),
}
"""The pragmas by what a commit survives: the end of the process, or a power cut too."""

LOG = {"process": 4096, "power": 1024}
"""Transactions that the log holds. Moving it waits for the disk, which `"process"` hardly does otherwise;
with `"power"` each commit waits, and for longer as long as the log's file still grows."""


class CutOff(Exception):
    """The file that is open isn't the one that has its name."""


class Connections:
    """The open connections of one process to one database. `log` is None where it is in memory."""

    def __init__(
        self, writer: sqlite3.Connection, connect: Callable[[], sqlite3.Connection], log: int
    ) -> None:
        file = _file_of(writer)
        self.file = file
        self.identity = identity_of(file) if file else None
        self.writer = writer
        self.cursor = writer.cursor()
        self.log = WriteAheadLog(file, connect, log) if file else None
        self._connect = connect
        self._reader: sqlite3.Connection | None = None

    def are_cut_off(self) -> bool:
        """Whether the file was deleted, or another one has its name."""
        try:
            found = os.stat(self.file) if self.file else None
        except FileNotFoundError:
            return True
        except OSError:  # no reason to think so: a folder that may not be looked into any more
            return False
        return found is not None and (found.st_dev, found.st_ino) != self.identity

    def reader(self) -> sqlite3.Cursor:
        """A cursor for reading; of the writing connection where the database lives in that alone.

        Raises:
            CutOff: there is another file in that one's place, or none.
        """
        if self.log is None:
            return self.cursor
        if self.are_cut_off():
            raise CutOff
        if self._reader is None:
            self._reader = self._connect()
        return self._reader.cursor()

    def close(self) -> None:
        """Close them all, unless the file is another one."""
        if self.are_cut_off():
            leave_alone(self)
            return
        if self._reader is not None:
            self._reader.close()
        if self.log is not None:
            self.log.close()
        self.writer.close()


# -- opening ----------------------------------------------------------------------------------------


def open_writer(connect: Callable[[], sqlite3.Connection], schema: Schema, path: str) -> sqlite3.Connection:
    """The connection that writes, to a database that has the schema's tables; it waits for nobody by itself."""
    writer = connect()
    try:
        if not schema.is_current(writer, path):
            writer.execute(f"PRAGMA page_size = {PAGE}")  # of a file that is new; others keep theirs
            writer.execute("PRAGMA journal_mode = WAL")
            schema.migrate(writer, path)
        writer.execute("PRAGMA busy_timeout = 0")
    except BaseException:
        writer.close()
        raise
    return writer


def connect(path: str, fsync: Fsync, timeout: float) -> sqlite3.Connection:
    """A connection that checkpoints nothing by itself, and waits `timeout` seconds for others."""
    connection = sqlite3.connect(
        path, timeout=timeout, isolation_level=None, check_same_thread=False, uri=path.startswith("file:")
    )
    try:
        _refuse_what_was_cut(connection, path)
        for pragma in (*_PRAGMAS, *FSYNC[fsync], f"journal_size_limit = {LOG[fsync] * PAGE}"):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_what_was_cut(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a file that ends within a page. SQLite would read zeros in place of what is gone, as values.

    Where there is a log the page may be in it: a power cut can end the move into the file anywhere.

    Raises:
        NotADatabase: it does.
    """
    file = _file_of(connection)
    page = _page_size(connection)
    try:
        size = os.stat(file).st_size
    except OSError:  # there is none: in memory, or SQLite will say so
        return
    if size % page == 0 or os.path.exists(file + "-wal"):
        return
    try:
        connection.execute("PRAGMA schema_version")
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:  # a size of its own is no wonder
            raise
    if size % (
        page := _page_size(connection)
    ):  # again: it was the default's, if the file was still empty then
        raise cut_off(path, size, page)


def _page_size(connection: sqlite3.Connection) -> int:
    """The size of the file's pages in bytes, as of when the connection last read from it."""
    return int(connection.execute("PRAGMA page_size").fetchone()[0])


def _file_of(connection: sqlite3.Connection) -> str:
    """The file that a connection is to, as an absolute path; "" where it is in memory."""
    return str(connection.execute("PRAGMA database_list").fetchone()[2])
