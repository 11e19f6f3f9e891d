"""The store that keeps items in a Postgres database, shared by machines.

Rule: whoever writes holds one advisory lock, so that an item's `id`, which is new with each put, is the order of
commits, and two batches never wait for each other. Readers wait for nobody, and see one state of the database.

`json` has a value as JSON text, or `data` as the serializer's bytes; `texts` has the strings of the former's fields, by
which Postgres decides what a filter asks of them. Names are stored by `flowfn.postgres.text`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from flowfn.errors import DatabaseForbidden, DatabaseReadOnly
from flowfn.ports import Serializer
from flowfn.postgres.database import Database
from flowfn.postgres.schema import Connection, Schema
from flowfn.postgres.text import from_text, to_text
from flowfn.python.unicode import is_unicode
from flowfn.stores import pgvector
from flowfn.stores.items import IndexConfig, Namespace, TTLConfig
from flowfn.stores.namespaces import read, written
from flowfn.stores.ranking import ranked
from flowfn.stores.rows import Place, Row, Rows
from flowfn.stores.store import Store
from flowfn.stores.sweeper import SYSTEM, Clock

T = TypeVar("T")

SCHEMA = Schema("flowfn_store", "flowfn.stores", "postgres_migrations")

_LOCK = 0x53544F5245
"""`STORE`: the advisory lock of those who write."""

_LONGEST = 10_000
"""Characters of a field's name and text that Postgres compares: `jsonb` holds no more than 256 MB in all."""

_PAGE = 64
"""Rows of a search that are read at once."""

_WITH_VECTORS = "flowfn_store.item JOIN flowfn_store.vector ON item = id"

_Ranked = tuple[tuple[int, str, str], float]
"""An item's id, prefix and key as they are stored, and its score."""

_ROW = "prefix, key, json, data, created, updated, ttl, expires"


class PostgresStore(Store):
    """Long-term memory in the schema `flowfn_store` of a Postgres database (14 or newer), which it creates.

    Vectors are compared by the server where pgvector is in the database (`CREATE EXTENSION vector`) when the store is
    opened, else here.

    Args:
        url: what libpq takes: `"postgresql://user:password@host:5432/database"`, with options of libpq's after a `?`.
        index: compare values with queries, see `IndexConfig`; default: None, and a search's `query` orders nothing.
        ttl: how long items live, see `TTLConfig`; default: None, for ever.
        serde: keeps what JSON can't; default: `flowfn.serde.DEFAULT`.
        clock: tells the time, see `Store`; default: the machine's.
        timeout: seconds to wait for a connection, also while the server restarts, and for locks; default: 5.
        pool_size: how many connections there are at most; default: 4.

    Raises:
        InvalidInput: `index` lacks `dims` or `embed`, the URL isn't valid, or a number is none of seconds or of
            connections.
        DatabaseUnreachable: nobody answers, or not to this user, or there is no such database.
        DatabaseVersion, NotADatabase, DatabaseForbidden: it answers, and can't be used.
    """

    def __init__(
        self,
        url: str,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        serde: Serializer | None = None,
        clock: Clock = SYSTEM,
        timeout: float = 5.0,
        pool_size: int = 4,
    ) -> None:
        super().__init__(index=index, ttl=ttl, serde=serde, clock=clock)
        self._database = Database(url, timeout, pool_size, schema=SCHEMA, owner="PostgresStore")
        self._pgvector: str | None = None
        if self._index is not None:
            dims = self._index.dims
            with suppress(DatabaseForbidden, DatabaseReadOnly):
                self._pgvector = self._database.run(
                    lambda connection: pgvector.prepared(connection, dims, _lock)
                )

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._database.closed

    def _transact(self, work: Callable[[Rows], T], *, writing: bool) -> T:
        made: list[tuple[int, T]] = []  # whether it was committed nobody knows, if there is another attempt

        def attempt(connection: Connection) -> T:
            with connection.transaction():
                if not writing:
                    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                    return work(_PostgresRows(connection, self._pgvector))
                transaction = _lock(connection)
                if made and _is_committed(connection, made[-1][0]):
                    return made[-1][1]
                result = work(_PostgresRows(connection, self._pgvector))
                made.append((transaction, result))
                return result

        return self._database.run(attempt)

    def close(self) -> None:
        """Stop the sweeper, and close the connections. No error if closed already."""
        self.stop_ttl_sweeper()
        self._database.close()


def _lock(connection: Connection) -> int:
    """Be the only one who writes, in this transaction: its number."""
    ((_, transaction),) = connection.execute(
        "SELECT pg_advisory_xact_lock($1), txid_current()", (_LOCK,)
    ).fetchall()
    return int(transaction)


def _is_committed(connection: Connection, transaction: int) -> bool:
    """Whether a transaction whose session was lost has been made; it is over, as it held the lock."""
    ((status,),) = connection.execute("SELECT txid_status($1)", (transaction,)).fetchall()
    return bool(status == "committed")


class _PostgresRows:
    """The tables in one transaction; `vectors_in` is the schema of pgvector, where the server compares."""

    def __init__(self, connection: Connection, vectors_in: str | None) -> None:
        self._execute = connection.execute
        self._vectors_in = vectors_in

    def get(self, place: Place, alive: float | None) -> Row | None:
        where, parameters = _where(_stored(place), alive=alive)
        sql = f"SELECT {_ROW} FROM flowfn_store.item WHERE prefix = $1 AND key = $2 AND {where}"
        found = self._execute(sql, parameters).fetchone()
        return None if found is None else _row(found)

    def scan(self, prefix: Namespace, filter: Mapping[str, Any], alive: float | None) -> Iterator[Row]:
        below, labels = _where((), prefix)
        sql = f"SELECT id FROM flowfn_store.item WHERE {below} ORDER BY id DESC"
        ids = [id for (id,) in self._execute(sql, labels)]
        for start in range(0, len(ids), _PAGE):
            where, parameters = _where((ids[start : start + _PAGE],), (), filter, alive)
            sql = f"SELECT {_ROW} FROM flowfn_store.item WHERE id = ANY($1) AND {where} ORDER BY id DESC"
            yield from map(_row, self._execute(sql, parameters))

    def likest(
        self, query: bytes, prefix: Namespace, filter: Mapping[str, Any], alive: float | None
    ) -> Iterable[tuple[Place, float]]:
        text = pgvector.literal(query) if self._vectors_in else None
        if text is None:
            found = self._ranked_here(query, prefix, filter, alive)
        else:
            ranked_here = self._ranked_here(query, prefix, filter, alive, " AND embedding IS NULL")
            found = self._ranked_there(query, text, prefix, filter, alive) + ranked_here
            found.sort(key=lambda one: (-one[1], -one[0][0]))
        return (((read(from_text(prefix)), from_text(key)), score) for (_, prefix, key), score in found)

    def _ranked_here(
        self, query: bytes, prefix: Namespace, filter: Mapping[str, Any], alive: float | None, also: str = ""
    ) -> list[_Ranked]:
        where, parameters = _where((), prefix, filter, alive)
        sql = f"SELECT id, prefix, key, vector.data FROM {_WITH_VECTORS} WHERE {where}{also} ORDER BY id DESC"
        found = self._execute(sql, parameters)
        return ranked(query, (((id, prefix, key), bytes(data)) for id, prefix, key, data in found))

    def _ranked_there(
        self, query: bytes, text: str, prefix: Namespace, filter: Mapping[str, Any], alive: float | None
    ) -> list[_Ranked]:
        assert self._vectors_in is not None
        where, parameters = _where((text, len(query)), prefix, filter, alive)
        sql = (
            f"SELECT id, prefix, key, {pgvector.score(self._vectors_in, '$1')} FROM {_WITH_VECTORS}"
            f" WHERE embedding IS NOT NULL AND octet_length(vector.data) = $2 AND {where} GROUP BY id"
        )
        found = self._execute(sql, parameters)
        return [((id, prefix, key), round(score, pgvector.DIGITS)) for id, prefix, key, score in found]

    def namespaces(self, prefix: Namespace, alive: float | None) -> Iterable[Namespace]:
        """Jumps from each prefix to the next, so that its cost is that of the namespaces, not of the items."""
        where, parameters = _where((), prefix, alive=alive)
        sql = (
            f"WITH RECURSIVE found (prefix) AS ((SELECT min(prefix) FROM flowfn_store.item WHERE {where}) UNION ALL"
            " SELECT (SELECT min(item.prefix) FROM flowfn_store.item"
            f" WHERE item.prefix > found.prefix AND {where}) FROM found WHERE found.prefix IS NOT NULL)"
            " SELECT prefix FROM found WHERE prefix IS NOT NULL"
        )
        return [read(from_text(text)) for (text,) in self._execute(sql, parameters)]

    def vectors(self, place: Place) -> Sequence[bytes]:
        sql = (
            "SELECT vector.data FROM flowfn_store.vector JOIN flowfn_store.item ON item.id = vector.item"
            " WHERE prefix = $1 AND key = $2"
        )
        return [bytes(data) for (data,) in self._execute(sql, _stored(place)).fetchall()]

    def put(self, row: Row, vectors: Sequence[bytes]) -> None:
        self.delete(row.place)
        text, data = (row.value, None) if isinstance(row.value, str) else (None, row.value)
        texts = None if text is None else json.dumps(_texts(json.loads(text)))
        kept = (*_stored(row.place), text, data, texts, row.created, row.updated, row.ttl, row.expires)
        sql = (
            "INSERT INTO flowfn_store.item (prefix, key, json, data, texts, created, updated, ttl, expires)"
            " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id"
        )
        ((id,),) = self._execute(sql, kept).fetchall()
        if vectors and self._vectors_in:
            sql = (
                "INSERT INTO flowfn_store.vector (item, data, embedding) SELECT $1::bigint,"
                f" unnest($2::bytea[]), unnest($3::text[])::{self._vectors_in}.vector"
            )
            self._execute(sql, (id, list(vectors), [pgvector.literal(vector) for vector in vectors]))
        elif vectors:
            sql = "INSERT INTO flowfn_store.vector (item, data) SELECT $1::bigint, unnest($2::bytea[])"
            self._execute(sql, (id, list(vectors)))

    def delete(self, place: Place) -> None:
        self._execute("DELETE FROM flowfn_store.item WHERE prefix = $1 AND key = $2", _stored(place))

    def refresh(self, places: Iterable[Place], now: float) -> None:
        for place in places:
            self._execute(
                "UPDATE flowfn_store.item SET expires = $3 + ttl * 60"
                " WHERE prefix = $1 AND key = $2 AND ttl IS NOT NULL",
                (*_stored(place), now),
            )

    def sweep(self, now: float) -> int:
        return self._execute("DELETE FROM flowfn_store.item WHERE expires <= $1", (now,)).rowcount


def _where(
    before: Sequence[Any],
    prefix: Namespace = (),
    filter: Mapping[str, Any] | None = None,
    alive: float | None = None,
) -> tuple[str, list[Any]]:
    """The condition on rows that begin so, may pass the filter and haven't expired, after parameters of others."""
    parameters = list(before)

    def number(value: Any) -> str:
        parameters.append(value)
        return f"${len(parameters)}"

    found = []
    if prefix:
        text = to_text(written(prefix))  # ends with a period; a slash is the next character
        found.append(f"item.prefix >= {number(text)} AND item.prefix < {number(text[:-1] + '/')}")
    if alive is not None:
        found.append(f"(expires IS NULL OR expires > {number(alive)})")
    texts = {key: text for key, text in _texts(filter or {}).items() if "." not in key}
    if texts:
        found.append(f"(texts IS NULL OR texts @> {number(json.dumps(texts))}::jsonb)")
    return " AND ".join(found) or "true", parameters


def _texts(value: Mapping[str, Any]) -> dict[str, str]:
    """The fields that are text which Postgres can hold, and that aren't too long to be kept twice."""
    return {
        key: text
        for key, text in value.items()
        if type(key) is str
        and type(text) is str
        and len(key) + len(text) <= _LONGEST
        and "\0" not in key + text
        and is_unicode(key + text)
    }


def _stored(place: Place) -> tuple[str, str]:
    return to_text(written(place[0])), to_text(place[1])


def _row(found: Sequence[Any]) -> Row:
    prefix, key, text, data, *times = found
    return Row(read(from_text(prefix)), from_text(key), bytes(data) if text is None else text, *times)
