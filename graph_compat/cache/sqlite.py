"""A cache in an SQLite file, which processes may share.

Rule: the connection is used under the lock, and none to a file crosses a fork: SQLite would take its parent's locks for
the child's.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from flowfn.errors import CacheError
from flowfn.python.forking import Stillness, each_around_fork, leave_alone
from flowfn.sqlite.file import inherit, refusal
from graph_compat.cache.base import BaseCache, FullKey, Namespace, ValueT

__all__ = ["SqliteCache"]

_TABLE = """
CREATE TABLE IF NOT EXISTS cache (
    ns TEXT NOT NULL,
    key TEXT NOT NULL,
    expiry REAL,
    encoding TEXT NOT NULL,
    val BLOB NOT NULL,
    PRIMARY KEY (ns, key)
) WITHOUT ROWID
"""


class SqliteCache(BaseCache[ValueT]):
    """Keeps values in the SQLite file at `path`, which is created where there is none."""

    def __init__(self, *, path: str, serde: Any = None) -> None:
        super().__init__(serde=serde)
        self._renew_lock()
        self._path = path if path in ("", ":memory:") else os.path.abspath(path)
        self._file = self._path.removeprefix(":memory:")
        self._opened: sqlite3.Connection | None = None
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(_TABLE)
        _crosses_forks(self)

    @property
    def _connection(self) -> sqlite3.Connection:
        """The one of this process, opened where there is none."""
        if self._opened is None:
            if self._file and (why := refusal(self._file)):
                raise CacheError(f"the cache in {self._file} can't be used: {why}")
            self._opened = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
        return self._opened

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """The values that are there and whose time isn't up, by key."""
        now = time.time()
        found: dict[FullKey, tuple[str, bytes]] = {}
        with self._lock:
            for namespace, key in keys:
                row = self._connection.execute(
                    "SELECT encoding, val FROM cache WHERE ns = ? AND key = ? AND (expiry IS NULL OR expiry > ?)",
                    (json.dumps(namespace), key, now),
                ).fetchone()
                if row is not None:
                    found[namespace, key] = row
        return {key: self.decoded(*row) for key, row in found.items()}

    def set(self, mapping: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Keep values, each for so many seconds, or, with None, for ever; those whose time is up go."""
        now = time.time()
        rows = [
            (json.dumps(namespace), key, None if ttl is None else now + ttl, *self.encoded(value))
            for (namespace, key), (value, ttl) in mapping.items()
        ]
        with self._lock, self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("DELETE FROM cache WHERE expiry <= ?", (now,))
            self._connection.executemany("INSERT OR REPLACE INTO cache VALUES (?, ?, ?, ?, ?)", rows)

    async def aset(self, mapping: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """`set` for asyncio."""
        await asyncio.to_thread(self.set, mapping)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget what is in these namespaces; everything for None."""
        with self._lock:
            if namespaces is None:
                self._connection.execute("DELETE FROM cache")
            else:
                parts = [(json.dumps(namespace),) for namespace in namespaces]
                self._connection.executemany("DELETE FROM cache WHERE ns = ?", parts)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def before_fork(self, deadline: float) -> None:
        """Let what is asked end, and close the file; what is in memory goes along as a copy."""
        if self._stillness.take(self._lock, deadline) and self._file:
            with suppress(sqlite3.Error):
                self.close()

    def after_fork(self) -> None:
        """Go on in the parent."""
        self._stillness.end()

    def cross_fork(self) -> None:
        """Go on in the child. Where the fork couldn't wait for the parent, its file isn't opened here again."""
        if self._file and not self._stillness.has(self._lock):
            inherit(self._file)
            leave_alone(self._opened)
            self._opened = None
        self._renew_lock()

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()
        self._stillness = Stillness()

    def __del__(self) -> None:
        connection = getattr(self, "_opened", None)
        if connection is not None:
            connection.close()


_crosses_forks = each_around_fork(SqliteCache.before_fork, SqliteCache.after_fork, SqliteCache.cross_fork)
