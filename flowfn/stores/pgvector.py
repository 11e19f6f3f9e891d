"""Comparing vectors on the Postgres server, where the extension pgvector is in the database.

Rule: the bytes in `vector.data` are what is kept, and `embedding` is a copy for the server to compare. A vector
without one, because it was put when there was no pgvector or can't be one, is compared here; so the extension may come
at any time, and programs that don't know of it may go on writing.

The server compares exactly, without an approximate index, and with less precision than numpy: a score is right to six
digits, and items whose scores differ less are in the order in which they were put.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable

from flowfn.postgres.schema import Connection

DIGITS = 6

_LONGEST = 16_000
"""Numbers that pgvector has room for in a vector."""

_BATCH = 500
"""Vectors that are copied in one transaction."""

_FOUND = """
    SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
    WHERE extname = 'vector'"""

_COLUMN = """
    SELECT 1 FROM pg_attribute WHERE attrelid = 'flowfn_store.vector'::regclass AND attname = 'embedding'"""


def prepared(connection: Connection, dims: int, lock: Callable[[Connection], object]) -> str | None:
    """The schema that pgvector is in, once all vectors have their copies; None where there is no pgvector to use.

    `lock` keeps other writers out until the end of a transaction.
    """
    found = connection.execute(_FOUND).fetchone()
    if found is None or dims > _LONGEST:
        return None
    (schema,) = found
    if connection.execute(_COLUMN).fetchone() is None:
        _add_column(connection, schema, lock)
    while _copy(connection, schema, dims, lock):
        pass
    return str(schema)


def _add_column(connection: Connection, schema: str, lock: Callable[[Connection], object]) -> None:
    with connection.transaction():
        lock(connection)
        connection.execute(
            f"ALTER TABLE flowfn_store.vector ADD COLUMN IF NOT EXISTS embedding {schema}.vector"
        )
        connection.execute(
            "CREATE INDEX IF NOT EXISTS vector_left ON flowfn_store.vector (item) WHERE embedding IS NULL"
        )


def _copy(connection: Connection, schema: str, dims: int, lock: Callable[[Connection], object]) -> bool:
    """Copy some vectors that have no copy yet; whether there may be more."""
    with connection.transaction():
        lock(connection)
        left = connection.execute(
            "SELECT ctid, data FROM flowfn_store.vector WHERE embedding IS NULL AND octet_length(data) = $1"
            " ORDER BY item LIMIT $2",
            (4 * dims, _BATCH),
        ).fetchall()
        copies = [(place, text) for place, data in left if (text := literal(data)) is not None]
        for place, text in copies:
            connection.execute(
                f"UPDATE flowfn_store.vector SET embedding = $2::{schema}.vector WHERE ctid = $1::tid",
                (place, text),
            )
    return len(copies) == _BATCH


def literal(data: bytes) -> str | None:
    """A vector as pgvector reads it; None where it holds what is no number."""
    numbers = array("f", bytes(data))
    return str(numbers.tolist()) if all(map(math.isfinite, numbers)) else None


def score(schema: str, parameter: str) -> str:
    """SQL for an item's score; a vector of zeros is like nothing."""
    distance = f"embedding OPERATOR({schema}.<=>) {parameter}::{schema}.vector"
    return f"1 - min(coalesce(nullif({distance}, 'NaN'), 1))"
