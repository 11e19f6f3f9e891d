"""The store that keeps items in one SQLite file, shared by threads and processes; a saver's file will do.

Rule: an item's `id` is the order of its last put, because a put deletes the row and adds a new one: what came last is
told by the order of commits, not by a clock.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from flowfn.ports import Serializer
from flowfn.sqlite.database import Database, Fsync
from flowfn.sqlite.file import named
from flowfn.sqlite.schema import Schema
from flowfn.stores.items import IndexConfig, Namespace, TTLConfig
from flowfn.stores.namespaces import read, written
from flowfn.stores.pushdown import conditions
from flowfn.stores.ranking import ranked
from flowfn.stores.rows import Place, Row, Rows
from flowfn.stores.store import Store
from flowfn.stores.sweeper import SYSTEM, Clock

_TABLES = """
CREATE TABLE item (
    id INTEGER PRIMARY KEY,
    prefix TEXT NOT NULL,
    key TEXT NOT NULL,
    value NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    ttl REAL,
    expires REAL
);
CREATE UNIQUE INDEX item_place ON item (prefix, key);
CREATE INDEX item_prefix ON item (prefix);
CREATE INDEX item_expires ON item (expires) WHERE expires IS NOT NULL;

CREATE TABLE item_vector (item INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX item_vector_item ON item_vector (item);
"""

_ONE_INDEX_LESS = """
DROP INDEX item_prefix;
"""
"""`item_place` begins with the prefix too; keeping both up took a fifth of the time of a put, and of the file."""

T = TypeVar("T")

SCHEMA = Schema((_TABLES, _ONE_INDEX_LESS), counter="item_format")

_PAGE = 64
"""Rows of a search that are read at once."""

_ROW = "prefix, key, value, created, updated, ttl, expires"


class SqliteStore(Store):
    """Long-term memory in one SQLite file, which is created where there is none.

    Args:
        path: a file, `":memory:"`, or an SQLite URI such as `"file:memory.db?mode=ro"`.
        index: compare values with queries, see `IndexConfig`; default: None, and a search's `query` orders nothing.
        ttl: how long items live, see `TTLConfig`; default: None, for ever.
        serde: keeps what JSON can't; default: `flowfn.serde.DEFAULT`.
        clock: tells the time, see `Store`; default: the machine's.
        fsync: with "process", the default, what is put survives the death of the process, with "power" that of the
            machine.
        timeout: seconds to wait while another process writes, before `DatabaseLocked`; default: 5.

    Raises:
        InvalidInput: `index` lacks `dims` or `embed`, `fsync` is another word, or `timeout` is no number of seconds.
        SaverError: the file can't be opened: there is no such folder, say, or it is no database (`NotADatabase`).
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        serde: Serializer | None = None,
        clock: Clock = SYSTEM,
        fsync: Fsync = "process",
        timeout: float = 5.0,
    ) -> None:
        super().__init__(index=index, ttl=ttl, serde=serde, clock=clock)
        self._database = Database(
            named(path, "memory.db"), fsync, timeout, schema=SCHEMA, owner="SqliteStore"
        )

    @property
    def path(self) -> str:
        """As given when it was opened."""
        return self._database.path

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._database.closed

    @property
    def gone(self) -> bool:
        """Whether the file was deleted or replaced since it was opened."""
        return self._database.gone

    def _transact(self, work: Callable[[Rows], T], *, writing: bool) -> T:
        with self._database.writing() if writing else self._database.reading() as cursor:
            return work(_SqliteRows(cursor.connection))

    def close(self) -> None:
        """Stop the sweeper, and close the file. No error if closed already."""
        self.stop_ttl_sweeper()
        if not self.closed:
            self._database.close()


class _SqliteRows:
    """The tables in one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def get(self, place: Place, alive: float | None) -> Row | None:
        where, parameters = _where(alive=alive)
        sql = f"SELECT {_ROW} FROM item WHERE prefix = ? AND key = ? AND {where}"
        found = self._execute(sql, (*_stored(place), *parameters)).fetchone()
        return None if found is None else _row(found)

    def scan(self, prefix: Namespace, filter: Mapping[str, Any], alive: float | None) -> Iterator[Row]:
        """Sorts keys alone, and reads as many rows as are asked for."""
        where, parameters = _where(prefix, filter, alive)
        ids = [
            id for (id,) in self._execute(f"SELECT id FROM item WHERE {where} ORDER BY id DESC", parameters)
        ]
        sql = f"SELECT {_ROW} FROM item WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id DESC"
        for start in range(0, len(ids), _PAGE):
            yield from map(_row, self._execute(sql, (str(ids[start : start + _PAGE]),)).fetchall())

    def likest(
        self, query: bytes, prefix: Namespace, filter: Mapping[str, Any], alive: float | None
    ) -> Iterable[tuple[Place, float]]:
        where, parameters = _where(prefix, filter, alive)
        sql = (
            "SELECT prefix, key, data FROM item CROSS JOIN item_vector ON item_vector.item = item.id"
            f" WHERE {where} ORDER BY +item.id DESC"
        )
        found = self._execute(sql, parameters)
        return ranked(query, (((read(text), key), data) for text, key, data in found))

    def namespaces(self, prefix: Namespace, alive: float | None) -> Iterable[Namespace]:
        """Jumps from each prefix to the next, so that its cost is that of the namespaces, not of the items."""
        where, parameters = _where(prefix, alive=alive)
        sql = (
            f"WITH RECURSIVE found (prefix) AS (SELECT min(prefix) FROM item WHERE {where} UNION ALL"
            f" SELECT (SELECT min(item.prefix) FROM item WHERE item.prefix > found.prefix AND {where}) FROM found"
            " WHERE found.prefix IS NOT NULL) SELECT prefix FROM found WHERE prefix IS NOT NULL"
        )
        return (read(text) for (text,) in self._execute(sql, parameters * 2))

    def vectors(self, place: Place) -> Sequence[bytes]:
        sql = "SELECT data FROM item_vector JOIN item ON item.id = item_vector.item WHERE prefix = ? AND key = ?"
        return [data for (data,) in self._execute(sql, _stored(place)).fetchall()]

    def put(self, row: Row, vectors: Sequence[bytes]) -> None:
        self.delete(row.place)
        sql = f"INSERT INTO item ({_ROW}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        id = self._execute(sql, (*_stored(row.place), *row[2:])).lastrowid
        for vector in vectors:
            self._execute("INSERT INTO item_vector VALUES (?, ?)", (id, vector))

    def delete(self, place: Place) -> None:
        found = self._execute("SELECT id FROM item WHERE prefix = ? AND key = ?", _stored(place)).fetchone()
        if found is not None:
            self._execute("DELETE FROM item_vector WHERE item = ?", found)
            self._execute("DELETE FROM item WHERE id = ?", found)

    def refresh(self, places: Iterable[Place], now: float) -> None:
        for place in places:
            self._execute(
                "UPDATE item SET expires = ? + ttl * 60 WHERE prefix = ? AND key = ? AND ttl IS NOT NULL",
                (now, *_stored(place)),
            )

    def sweep(self, now: float) -> int:
        self._execute(
            "DELETE FROM item_vector WHERE item IN (SELECT id FROM item WHERE expires <= ?)", (now,)
        )
        return self._execute("DELETE FROM item WHERE expires <= ?", (now,)).rowcount


def _where(
    prefix: Namespace = (), filter: Mapping[str, Any] | None = None, alive: float | None = None
) -> tuple[str, list[Any]]:
    """The condition on rows that begin so, may pass the filter and haven't expired."""
    found: list[tuple[str, list[Any]]] = []
    if prefix:
        text = written(prefix)  # ends with a period; a slash is the next character
        found.append(("item.prefix >= ? AND item.prefix < ?", [text, text[:-1] + "/"]))
    if alive is not None:
        found.append(("(expires IS NULL OR expires > ?)", [alive]))
    found += conditions(filter or {})
    sql = " AND ".join(sql for sql, _ in found) or "1"
    return sql, [parameter for _, parameters in found for parameter in parameters]


def _stored(place: Place) -> tuple[str, str]:
    return written(place[0]), place[1]


def _row(found: Sequence[Any]) -> Row:
    return Row(read(found[0]), *found[1:])
