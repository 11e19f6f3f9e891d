"""The connections to one SQLite file: opening, transactions, forks.

Rule: one connection writes, under `lock`; another reads, under a lock of its own, so that no reader
waits for a writer; a third checkpoints (`wal`). Only SQLite opens the file: POSIX drops all locks that a process
has on a file as it closes any descriptor of it, and the next process to close the file would delete the log that
this one writes to. Nor does a connection to a file cross a fork: SQLite would take the locks of its process,
which it keeps a list of, for those of the child. A file that was deleted or replaced while it was open is neither
used nor closed: what goes there is lost, and SQLite would delete the log of the file that has its name now.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, repeat
from operator import methodcaller
from typing import Literal, TypeVar
from urllib.parse import quote, unquote, urlsplit

from flowfn.errors import FlowError, InvalidInput, SaverError
from flowfn.forking import after_fork, each_around_fork
from flowfn.sqlite.errors import Damaged, cut_off, damaged, is_busy, typed
from flowfn.sqlite.schema import Schema
from flowfn.sqlite.wal import PAGE, WriteAheadLog

Fsync = Literal["process", "power"]

T = TypeVar("T")

_PRAGMAS = ("wal_autocheckpoint = 0", "mmap_size = 0")

_FSYNC: dict[str, tuple[str, ...]] = {
    "process": ("synchronous = NORMAL",),
    "power": ("synchronous = FULL", "fullfsync = 1", "checkpoint_fullfsync = 1"),
}

LOG = {"process": 4096, "power": 1024}
"""Transactions that the log holds. Moving it waits for the disk, which `"process"` hardly does otherwise;
with `"power"` each commit waits, and for longer as long as the log's file still grows."""

_PAUSES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)
"""Seconds between attempts to get a locked database; the last one repeats."""

_LOOK = 0.05
"""Seconds between two looks whether the file is still there, while a run writes; it costs as much as a small row."""

_SENSELESS = (TypeError, ValueError, LookupError)
"""What reading raises on rows that nobody wrote like that: values missing, of another type, or cut off."""


class Database:
    """One file, opened for one owner: a saver or a store, whose class `owner` names in messages.

    The writing connection never waits for other processes by itself: `begin` does, where asked to.
    """

    def __init__(self, path: str, fsync: Fsync, timeout: float, *, schema: Schema, owner: str) -> None:
        if fsync not in _FSYNC:
            raise InvalidInput(f'fsync={fsync!r} is not known. Pass fsync="process" or fsync="power".')
        self.path = path
        self._fsync = fsync
        self._schema = schema
        self._owner = owner
        self._timeout = timeout
        self._file, target = _absolute(path)
        self._connect = partial(_connect, target, fsync, timeout)
        self.closed = False
        self._lost = False
        self._next_look = 0.0
        self._renew_locks()
        self._connections: _Connections | None = None
        self.in_memory = False
        _crosses_forks(self)  # now: a fork may come as it is opened
        self.in_memory = self._connected().log is None

    def _renew_locks(self) -> None:
        self.lock = threading.Lock()
        self._reading_lock = threading.Lock()
        self._opening = threading.Lock()
        self._held_by_forks: dict[int, list[threading.Lock]] = {}

    # -- transactions -----------------------------------------------------------------------------

    def begin(self, *, wait: bool = True, look: bool = True) -> sqlite3.Cursor:
        """Begin to write; the caller holds `lock`, and goes on to `end` or `undo`.

        With `wait=False`, raises `BlockingIOError` where another process is writing. Without `look`, that the file is
        still there is taken for granted for a moment.
        """
        connections = self._connections or self._connected()
        if look or (now := time.monotonic()) > self._next_look:
            if not look:
                self._next_look = now + _LOOK
            if connections.are_cut_off():
                raise self._given_up()
        cursor = connections.cursor
        if connections.writer.in_transaction:  # a signal got between a transaction and its end
            self.undo()
        try:
            cursor.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            if not wait:
                raise BlockingIOError(f"another process is writing to {self.path}") from error
            self._patiently(lambda: cursor.execute("BEGIN IMMEDIATE"))
        return cursor

    def end(self) -> None:
        """Make durable what was written."""
        connections = self._connections or self._connected()
        connections.cursor.execute("COMMIT")
        if connections.log is not None:
            connections.log.grew(connections.writer)

    def undo(self) -> None:
        """Forget what was written; SQLite itself may have done so already."""
        if self._connections is not None and self._connections.writer.in_transaction:
            self._connections.cursor.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Cursor]:
        """A transaction that writes. Errors of the database come out typed, those of damaged rows too."""
        with self.lock:
            try:
                cursor = self.begin()
                try:
                    yield cursor
                    self.end()
                except BaseException:
                    self.undo()
                    raise
            except sqlite3.Error as error:
                raise typed(error, self.path) from error
            except Damaged as error:
                raise damaged(error, self.path) from error

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Cursor]:
        """A transaction that sees one state of the database. Errors come out typed, those of damaged rows too."""
        with self.lock if self.in_memory else self._reading_lock:
            try:
                cursor = self._connected().reader()
                if cursor.connection.in_transaction:  # a signal got between a transaction and its end
                    cursor.execute("ROLLBACK")
                cursor.execute("BEGIN")
                try:
                    yield cursor
                finally:
                    if cursor.connection.in_transaction:
                        cursor.execute("ROLLBACK")
            except sqlite3.Error as error:
                raise typed(error, self.path) from error
            except _CutOff:
                raise self._given_up() from None
            except _SENSELESS as error:
                if isinstance(error, FlowError):
                    raise
                raise damaged(error, self.path) from error

    # -- opening and closing ----------------------------------------------------------------------

    def _connected(self) -> _Connections:
        with self._opening:  # writers and readers have no lock in common
            if self._lost:
                raise _lost(self.path, self._owner)
            if self.closed:
                raise SaverError(
                    f"This {self._owner} of {self.path} is closed. Open it again: `{self._owner}(path)`."
                )
            if self._connections is None:
                self._connections = self._open()
            return self._connections

    def _open(self) -> _Connections:
        _prepare(self.path, self._file)
        try:
            writer = self._patiently(partial(_open_writer, self._connect, self._schema, self.path))
            connections = _Connections(writer, self._connect, LOG[self._fsync])
        except sqlite3.Error as error:
            raise typed(error, self.path) from error
        except UnicodeDecodeError as error:  # SQLite quotes what it stumbles over, bytes of any kind
            raise damaged(error, self.path) from error
        self._finalizer = weakref.finalize(self, connections.close)
        return connections

    def _given_up(self) -> SaverError:
        """The error for a file that isn't there any more; nobody uses its connections from now on."""
        with self._opening:
            self._lost = self.closed = True
            if self._connections is not None:
                self._finalizer.detach()
                _keep_open(self._connections)
                self._connections = None
        return _lost(self.path, self._owner)

    def _patiently(self, attempt: Callable[[], T]) -> T:
        """Try until the database is free, for `timeout` seconds."""
        deadline = time.monotonic() + self._timeout
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            try:
                return attempt()
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() >= deadline:
                    raise
            time.sleep(pause)
        raise AssertionError("the pauses never end")

    def close(self) -> None:
        """Move the log into the file and close it. No error if closed already."""
        with self.lock, self._reading_lock:
            self.closed = True
            self._disconnect()

    def _disconnect(self) -> None:
        """Close the connections; the caller holds the locks."""
        if self._connections is not None:
            if self._connections.log is not None and not self._connections.are_cut_off():
                self._connections.log.checkpoint(self._connections.writer)
            self._finalizer()
            self._connections = None

    # -- forks ------------------------------------------------------------------------------------

    def before_fork(self, deadline: float) -> None:
        """Let transactions end, and close the file; each side opens it when it next needs it."""
        held = self._held_by_forks.setdefault(threading.get_ident(), [])
        for lock in (self.lock, self._reading_lock, self._opening):
            acquire = methodcaller("acquire", timeout=max(0.0, deadline - time.monotonic()))
            held.extend(filter(acquire, (lock,)))  # at one go, or Ctrl-C would leave it locked for ever
            if lock not in held:
                return
        if self._has_file_open():
            with suppress(sqlite3.Error):
                self._disconnect()

    def after_fork(self) -> None:
        """Go on in the parent."""
        held = self._held_by_forks.get(threading.get_ident(), [])
        with suppress(IndexError):
            for _ in map(methodcaller("release"), iter(held.pop, None)):
                pass
        self._held_by_forks.pop(threading.get_ident(), None)

    def cross_fork(self) -> None:
        """Go on in the child, where SQLite takes locks that only the parent has for its own, while the file is open.

        If the fork couldn't wait until it was closed, it is neither used nor opened again. What is in memory is a copy.
        """
        opening = self._opening not in self._held_by_forks.get(threading.get_ident(), [])
        if self._has_file_open() or (opening and self._opening.locked()):
            if (file := _identity(self._file)) is not None:
                _inherited.add(file)
            if self._connections is not None:
                self._finalizer.detach()
                _abandoned.append(self._connections)
                self._connections = None
        self._renew_locks()

    def _has_file_open(self) -> bool:
        return self._connections is not None and self._connections.log is not None


class _CutOff(Exception):
    """A connection would be to another file than those that are open."""


class _Connections:
    """The open connections of one process to one database. `log` is None where it is in memory."""

    def __init__(
        self, writer: sqlite3.Connection, connect: Callable[[], sqlite3.Connection], log: int
    ) -> None:
        file = _file_of(writer)
        self.file = file
        self.identity = _identity(file) if file else None
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
            _CutOff: there would be another file in that one's place.
        """
        if self.log is None:
            return self.cursor
        if self._reader is None:
            if self.are_cut_off():
                raise _CutOff
            self._reader = self._connect()
        return self._reader.cursor()

    def close(self) -> None:
        if self.are_cut_off():
            _keep_open(self)
            return
        if self._reader is not None:
            self._reader.close()
        if self.log is not None:
            self.log.close()
        self.writer.close()


def _keep_open(connections: _Connections) -> None:
    """Let nobody close them, not even the end of the interpreter, which closes what it collects."""
    _abandoned.append(connections)
    with suppress(ImportError):  # a Python that was built without it
        from ctypes import py_object, pythonapi

        pythonapi.Py_IncRef(py_object(connections))


def _lost(path: str, owner: str) -> SaverError:
    return SaverError(
        f"{path}: the file was deleted or replaced while it was open, and what was committed to it is gone with it. "
        f"Leave it in its place while anybody uses it. To go on with the file that is there now, or with a new one, "
        f"open it again: `{owner}(path)`."
    )


def _absolute(path: str) -> tuple[str, str]:
    """The file that a path or an SQLite URI names, "" if it is in memory; and what SQLite is to open.

    They stay the same as the process changes its folder, as a daemon does after its fork.
    """
    if path == ":memory:":
        return "", path
    if not path.startswith("file:"):
        file = os.path.join(os.getcwd(), path)
        return file, file
    uri = urlsplit(path)
    if uri.path == ":memory:" or "mode=memory" in uri.query:
        return "", path
    if uri.path.startswith("/"):
        return unquote(uri.path), path
    folder = os.path.join(os.getcwd(), "")
    return folder + unquote(uri.path), f"file:{quote(folder)}{path.removeprefix('file:')}"


def _prepare(path: str, file: str) -> None:
    """See to it that there is a folder, and in it a file that only its owner can read.

    Raises:
        SaverError: there is none, or the file can't be opened in this process.
    """
    if file and _identity(file) in _inherited:
        raise SaverError(
            f"{path}: this process was forked while its parent was in the middle of a transaction on the file, so that "
            "SQLite can't tell its locks from the parent's. Fork before the first run, or start processes with `spawn`."
        )
    if not file or path.startswith("file:"):
        return
    folder = os.path.dirname(file)
    if not os.path.isdir(folder):
        raise SaverError(f"{path}: there is no folder {folder}. Create it, or name a file elsewhere.")
    with _creating, suppress(OSError):  # there is a file already, or SQLite will say why there can't be
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _identity(file: str) -> tuple[int, int] | None:
    """Which file it is, by whatever name; None if there is none."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _refuse_what_was_cut(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a file that ends within a page. SQLite would read zeros in place of what is gone, as values.

    Where there is a log the page may be in it: a power cut can end the move into the file anywhere.

    Raises:
        NotADatabase: it does.
    """
    file = _file_of(connection)
    (page,) = connection.execute("PRAGMA page_size").fetchone()
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
    raise cut_off(path, size, page)


def _file_of(connection: sqlite3.Connection) -> str:
    """The file that a connection is to, as an absolute path; "" where it is in memory."""
    return str(connection.execute("PRAGMA database_list").fetchone()[2])


def _open_writer(connect: Callable[[], sqlite3.Connection], schema: Schema, path: str) -> sqlite3.Connection:
    writer = connect()
    try:
        if not schema.check(writer, path):
            writer.execute("PRAGMA journal_mode = WAL")
            schema.migrate(writer, path)
        writer.execute("PRAGMA busy_timeout = 0")
    except BaseException:
        writer.close()
        raise
    return writer


def _connect(path: str, fsync: Fsync, timeout: float) -> sqlite3.Connection:
    """A connection that checkpoints nothing by itself, and waits `timeout` seconds for others."""
    connection = sqlite3.connect(
        path, timeout=timeout, isolation_level=None, check_same_thread=False, uri=path.startswith("file:")
    )
    try:
        _refuse_what_was_cut(connection, path)
        for pragma in (*_PRAGMAS, *_FSYNC[fsync], f"journal_size_limit = {LOG[fsync] * PAGE}"):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _renew_creating() -> None:
    global _creating
    _creating = threading.Lock()


_creating = threading.Lock()
"""Held while this process has a new file open itself: SQLite here has no locks on it until that is closed."""

after_fork(_renew_creating)
_crosses_forks = each_around_fork(Database.before_fork, Database.after_fork, Database.cross_fork)
_abandoned: list[_Connections] = []
"""Connections of a parent, and to files that are gone: kept, because collecting them would close them."""

_inherited: set[tuple[int, int]] = set()
"""The files of those."""
