"""One SQLite file, opened for one owner: its transactions, and what becomes of it around a fork.

Rule: the writing connection is used under `lock`, the reading one under a lock of its own. No connection to a file
crosses a fork: SQLite would take the locks of its process, which it keeps a list of, for those of the child.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from functools import partial
from itertools import chain, repeat
from typing import TypeVar

from flowfn.errors import FlowError, InvalidInput, SaverError
from flowfn.python.ending import close_with
from flowfn.python.forking import Stillness, each_around_fork, leave_alone
from flowfn.sqlite.connections import (
    FSYNC,
    LOG,
    LOG_LOST,
    Connections,
    CutOff,
    Fsync,
    connect,
    open_writer,
)
from flowfn.sqlite.errors import REFUSED, Damaged, damaged, is_busy, typed
from flowfn.sqlite.file import absolute, inherit, prepare
from flowfn.sqlite.schema import Schema
from flowfn.sqlite.under_way import under_way

__all__ = ["Database", "Fsync"]

T = TypeVar("T")

logger = logging.getLogger("flowfn")

_PAUSES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)
"""Seconds between attempts to get a locked database; the last one repeats."""

_LOOK = 0.05
"""Seconds between two looks whether the file is still there, while a run writes; it costs as much as a small row."""

_LAST_WAIT = 1.0
"""Seconds for which the end of the interpreter waits for a thread's transaction."""

_SENSELESS = (TypeError, ValueError, LookupError)
"""What reading raises on rows that nobody wrote like that: values missing, of another type, or cut off."""


class Database:
    """One file, opened for one owner: a saver or a store, whose class `owner` names in messages.

    The writing connection never waits for other processes by itself: `begin` does, where asked to.
    """

    def __init__(self, path: str, fsync: Fsync, timeout: float, *, schema: Schema, owner: str) -> None:
        if fsync not in FSYNC:
            raise InvalidInput(f'fsync={fsync!r} is not known. Pass fsync="process" or fsync="power".')
        if not (isinstance(timeout, int | float) and 0 <= timeout < math.inf):
            raise InvalidInput(f"timeout={timeout!r} is no number of seconds. Pass one such as timeout=5.0.")
        self.path = path
        self._fsync = fsync
        self._schema = schema
        self._owner = owner
        self._timeout = timeout
        self._file, target = absolute(path)
        self._connect = partial(connect, target, fsync, timeout)
        self.closed = False
        self._loss = ""
        """Why nobody can use what was open any more, if so."""
        self._next_look = 0.0
        self._renew_locks()
        self._connections: Connections | None = None
        self.in_memory = False
        _crosses_forks(self)  # now: a fork may come as it is opened
        self.in_memory = self._connected().log is None

    def _renew_locks(self) -> None:
        self.lock = threading.Lock()
        self._reading_lock = threading.Lock()
        self._opening = threading.Lock()
        self._stillness = Stillness()

    # -- transactions -----------------------------------------------------------------------------

    def begin(self, *, wait: bool = True, look: bool = True, flush: bool = True) -> sqlite3.Cursor:
        """Begin to write; the caller holds `lock`, and goes on to `end` or `undo`.

        With `wait=False`, raises `BlockingIOError` where another process is writing. Without `look`, that the file is
        still there is taken for granted for a moment. Without `flush` a power cut may undo what is written, whatever
        the database survives otherwise.
        """
        connections = self._connections or self._connected()
        if look or (now := time.monotonic()) > self._next_look:
            if not look:
                self._next_look = now + _LOOK
            if not connections.are_whole():
                self._see_to_it(connections)
        cursor = connections.cursor
        if connections.writer.in_transaction:  # a signal got between a transaction and its end
            self.undo()
        if self._fsync == "power":
            connections.flush(flush)
        try:
            cursor.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            if not wait:
                raise BlockingIOError(f"another process is writing to {self.path}") from error
            self._patiently(lambda: cursor.execute("BEGIN IMMEDIATE"))
        return cursor

    def end(self, *, look: bool = False) -> None:
        """Make durable what was written. With `look`, see that the log is in its place: nothing may follow for long."""
        connections = self._connections or self._connected()
        connections.cursor.execute("COMMIT")
        connections.wrote = True
        if look:
            connections.are_whole()
        if connections.log is not None and connections.log.grew(connections.writer):
            connections.know_file()

    def undo(self) -> None:
        """Forget what was written; SQLite itself may have done so already."""
        if self._connections is not None and self._connections.writer.in_transaction:
            self._connections.cursor.execute("ROLLBACK")

    @contextmanager
    def writing(self, *, flush: bool = True) -> Iterator[sqlite3.Cursor]:
        """A transaction that writes; `flush` as for `begin`. Errors of the database come out typed, those of damaged
        rows too."""
        with self.lock:
            try:
                cursor = self.begin(flush=flush)
                try:
                    yield cursor
                    self.end()
                except BaseException:
                    self.undo()
                    raise
            except REFUSED as error:
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
            except REFUSED as error:
                raise typed(error, self.path) from error
            except CutOff:
                raise self._given_up() from None
            except _SENSELESS as error:
                if isinstance(error, FlowError):
                    raise
                raise damaged(error, self.path) from error

    # -- opening and closing ----------------------------------------------------------------------

    @property
    def gone(self) -> bool:
        """Whether the file was deleted or replaced since it was opened."""
        connections = self._connections
        return bool(self._loss) or (connections is not None and connections.are_cut_off())

    def _connected(self) -> Connections:
        with self._opening:  # writers and readers have no lock in common
            if self._loss:
                raise SaverError(self._loss)
            if self.closed:
                raise SaverError(
                    f"This {self._owner} of {self.path} is closed. Open it again: `{self._owner}(path)`."
                )
            if self._connections is None:
                self._connections = self._open()
            return self._connections

    def _open(self) -> Connections:
        prepare(self.path, self._file)
        try:
            writer = self._patiently(partial(open_writer, self._connect, self._schema, self.path))
            connections = Connections(writer, self._connect, LOG[self._fsync])
        except sqlite3.Error as error:
            raise typed(error, self.path) from error
        except UnicodeDecodeError as error:  # SQLite quotes what it stumbles over, bytes of any kind
            raise damaged(error, self.path) from error
        self._finalizer = close_with(self, _close_at_end, connections, self.lock, self._reading_lock)
        return connections

    def _given_up(self) -> SaverError:
        """The error for a file that isn't there any more; nobody uses its connections from now on."""
        with self._opening:
            self._loss = _lost(self.path, self._owner)
            self.closed = True
            if self._connections is not None:
                self._finalizer.detach()
                leave_alone(self._connections)
                self._connections = None
        return SaverError(self._loss)

    def _see_to_it(self, connections: Connections) -> None:
        """Go on though the log isn't in its place, or give the file up; the caller holds `lock`.

        Raises:
            SaverError: the file isn't there any more, or what was committed may be gone with its log.
        """
        if connections.are_cut_off():
            raise self._given_up()
        with self._reading_lock, self._opening:
            if connections.restore_log():
                logger.warning(
                    "%s: its log was deleted while it was open; nothing that it held is lost", self.path
                )
                return
            self._loss = f"{self.path}: {LOG_LOST}"
            self.closed = True
            self._finalizer.detach()
            connections.close()
            self._connections = None
        raise SaverError(self._loss)

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

    def as_closed(self) -> Database:
        """One that is closed, to stand in the place of this one, which somebody else goes on with."""
        other = copy(self)
        other.closed = True
        other._connections = None
        other._renew_locks()
        return other

    def _disconnect(self) -> None:
        """Close the connections; the caller holds the locks."""
        if self._connections is not None:
            if self._finalizer.alive:  # else they were closed, as the interpreter ends
                if self._connections.log is not None and not self._connections.are_cut_off():
                    self._connections.log.checkpoint(self._connections.writer)
                self._finalizer.detach()
                self._connections.close()
            self._connections = None

    # -- forks ------------------------------------------------------------------------------------

    def before_fork(self, deadline: float) -> None:
        """Let transactions end, and close the file; each side opens it when it next needs it."""
        for lock in (self.lock, self._reading_lock, self._opening):
            if not self._stillness.take(lock, deadline):
                return
        if self._has_file_open():
            with suppress(sqlite3.Error):
                self._disconnect()

    def after_fork(self) -> None:
        """Go on in the parent."""
        self._stillness.end()

    def cross_fork(self) -> None:
        """Go on in the child, where SQLite takes locks that only the parent has for its own, while the file is open.

        If the fork couldn't wait until it was closed, it is neither used nor opened again. What is in memory is a copy.
        """
        opening = not self._stillness.has(self._opening)
        if self._has_file_open() or (opening and self._opening.locked()):
            inherit(self._file)
            if self._connections is not None:
                self._finalizer.detach()
                leave_alone(self._connections)
                self._connections = None
        self._renew_locks()

    def _has_file_open(self) -> bool:
        return self._connections is not None and self._connections.log is not None


def _close_at_end(connections: Connections, *locks: threading.Lock) -> None:
    """Close connections that nobody refers to any more, or as the interpreter ends, when threads may still use them.

    To close one under a thread that uses it would end the process by a segmentation fault. Where a thread doesn't
    come to its end, they stay open, and the system closes the file.
    """
    held = [lock for lock in locks if lock.acquire(timeout=_LAST_WAIT)]
    try:
        if len(held) == len(locks):
            with under_way.on(connections.file, inner=True):
                connections.close()
        else:
            leave_alone(connections)
    finally:
        for lock in held:
            lock.release()


def _lost(path: str, owner: str) -> str:
    return (
        f"{path}: the file was deleted or replaced while it was open, and what was committed to it is gone with it. "
        f"Leave it in its place while anybody uses it. To go on with the file that is there now, or with a new one, "
        f"open it again: `{owner}(path)`."
    )


_crosses_forks = each_around_fork(Database.before_fork, Database.after_fork, Database.cross_fork)
