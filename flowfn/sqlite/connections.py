"""The connections of one process to one database: which there are, and how one is opened and closed.

Rule: one writes, another reads, so that no reader waits for a writer, and a third checkpoints (`wal`). A file that was
deleted or replaced while it was open is neither used nor closed: what goes there is lost, and SQLite would delete the
log of the file that has its name now.

So may its log be, by who takes it for rubbish, or by another process of flowfn's: SQLite there deletes it as the last
one that has the file open, if code in this process has opened and closed the file by itself, to copy it, since all
locks of this process went with that. SQLite here would write on, to a log that nobody finds.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

from flowfn.python.forking import leave_alone
from flowfn.sqlite.errors import cut_off
from flowfn.sqlite.file import file_of, identity_of, refuse
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
        file = file_of(writer)
        self.file = file
        self.identity = identity_of(file) if file else None
        self.writer = writer
        self.cursor = writer.cursor()
        self.log = WriteAheadLog(file, connect, log) if file else None
        self._connect = connect
        self._reader: sqlite3.Connection | None = None
        self.wrote = False
        """Whether anything was written from here since the log was last seen in its place."""
        self._flushes: bool | None = True
        """Whether a transaction that ends is flushed where the file is to survive a power cut; None while unknown."""
        self._left = self._version_now()

    def flush(self, flush: bool) -> None:
        """Have the next transaction flushed to the disk as it ends, or left to the system; none may be under way."""
        if self._flushes is not flush:
            self._flushes = None  # a signal may come in between
            self.cursor.execute(f"PRAGMA synchronous = {'FULL' if flush else 'NORMAL'}")
            self._flushes = flush

    def are_whole(self) -> bool:
        """Whether all is well, as of one look: the file and its log are those that were opened."""
        if self.log is None:
            return True
        try:
            found, log = os.stat(self.file), os.stat(self.log.path)
        except OSError:
            return not self.are_cut_off() and self.log.is_there
        if (found.st_dev, found.st_ino) != self.identity:
            return False
        if self.log.identity not in (None, (log.st_dev, log.st_ino)):
            return False
        self._left, self.wrote = (found.st_mtime_ns, found.st_size), False
        return True

    def are_cut_off(self) -> bool:
        """Whether the file was deleted, or another one has its name; one that may not be looked at is still there."""
        try:
            found = os.stat(self.file) if self.file else None
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return found is not None and (found.st_dev, found.st_ino) != self.identity

    def know_file(self) -> None:
        """Note how the file is, as it was written to from here."""
        self._left = self._version_now()

    def _version_now(self) -> Version | None:
        try:
            found = os.stat(self.file)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    def restore_log(self) -> bool:
        """Have what the log holds moved into the file, and a new one begun, where the log isn't in its place any more.

        False where it can't be: another log is there, somebody else has the file open, or others may have written to
        the file before what was written last from here.
        """
        if self.log is None or self.log.was_replaced or (self.wrote and self._version_now() != self._left):
            return False
        self._close_reader()
        self.log.close()
        try:
            moved: bool = self.cursor.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
            _begin_log(self.writer)
        except sqlite3.OperationalError:
            return False
        self.log = self.log.begun_anew()
        return moved and self.are_whole()

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
        """Close them all, unless the file is another one: SQLite moves what is left in the log into it.

        Where the log isn't in its place, and can't be restored, they stay open, and the file isn't opened again in this
        process: SQLite here would take the former log's index for that of a new one.
        """
        if self.are_cut_off():
            leave_alone(self)
            return
        if not (self.are_whole() or self.restore_log()):
            refuse(self.file, LOG_LOST)
            leave_alone(self)
            return
        self._close_reader()
        if self.log is not None:
            self.log.close()
        self.writer.close()

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


LOG_LOST = (
    "its log, the file beside it that ends in -wal, was deleted while it was open, and what was committed last may be "
    "gone with it. Start this process again to go on. Leave both files in their place while anybody uses them, and "
    "copy them by SQLite alone (`sqlite3 FILE '.backup COPY'`): a process that has the file open and opens it "
    "otherwise, if only to read it, gives up its locks, and the next one to close it deletes the log."
)

Version = tuple[int, int]
"""What changes when somebody writes to a file: its time, and its size."""


# -- opening ----------------------------------------------------------------------------------------


def open_writer(connect: Callable[[], sqlite3.Connection], schema: Schema, path: str) -> sqlite3.Connection:
    """The connection that writes, to a database that has the schema's tables; it waits for nobody by itself."""
    writer = connect()
    try:
        if not schema.is_current(writer, path):
            writer.execute(f"PRAGMA page_size = {PAGE}")  # of a file that is new; others keep theirs
            writer.execute("PRAGMA journal_mode = WAL")
            schema.migrate(writer, path)
        elif writer.execute("PRAGMA journal_mode").fetchone() == ("delete",):
            with suppress(sqlite3.OperationalError):  # it can't be written to, or not now
                _begin_log(writer)
        writer.execute("PRAGMA busy_timeout = 0")
    except BaseException:
        writer.close()
        raise
    return writer


def _begin_log(connection: sqlite3.Connection) -> None:
    """Have a file that has no log use one; SQLite makes that at the first look."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchall()


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
    file = file_of(connection)
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
    page = _page_size(connection)  # again: it was the default's, if the file was still empty then
    if size % page:
        raise cut_off(path, size, page)


def _page_size(connection: sqlite3.Connection) -> int:
    """The size of the file's pages in bytes, as of when the connection last read from it."""
    return int(connection.execute("PRAGMA page_size").fetchone()[0])
