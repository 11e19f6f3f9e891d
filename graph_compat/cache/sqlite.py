"""A cache in an SQLite file, which processes may share."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

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
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(_TABLE)

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
        """Close the file."""
        self._connection.close()

    def __del__(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()
