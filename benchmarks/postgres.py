"""The Postgres server that is measured on: one of the run's own, whose commits survive power loss.

`FLOWFN_POSTGRES=URL` names another one, `FLOWFN_NO_POSTGRES=1` leaves Postgres out.
"""

import atexit
import contextlib
import importlib.util
import os
import uuid
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from tests.postgres_server import GIVEN, private_server


def available() -> bool:
    """Whether Postgres is to be measured."""
    wanted = os.environ.get("FLOWFN_NO_POSTGRES") != "1"
    return wanted and importlib.util.find_spec("psycopg") is not None


_own: list[str] = []
"""The databases that `own` has made, the one in use last."""


def url() -> str:
    """Where the database is that is measured on: all use one, except within `own`."""
    return _own[-1] if _own else server()


@cache
def server() -> str:
    """The server's own database; it is started by the first who asks, and stopped when the process ends."""
    if given := os.environ.get(GIVEN):
        return given
    kept = contextlib.ExitStack()
    atexit.register(kept.close)
    return kept.enter_context(private_server(fsync=True)).url()


@contextlib.contextmanager
def own() -> Iterator[str]:
    """Whoever asks for `url` meanwhile gets a new database, which is dropped afterwards."""
    with fresh() as made:
        _own.append(made)
        try:
            yield made
        finally:
            _own.pop()


def size() -> int:
    """Bytes of the tables and indexes of the database in use, without the system's."""
    import psycopg

    with contextlib.closing(psycopg.connect(url(), autocommit=True)) as connection:
        query = "SELECT sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables"
        row = connection.execute(query).fetchone()
    return int(row[0] or 0) if row else 0


@contextlib.contextmanager
def fresh() -> Iterator[str]:
    """The URL of a new database, which is dropped afterwards."""
    import psycopg

    from tests.postgres_database import named

    name = f"benchmarks_{uuid.uuid4().hex}"
    with contextlib.closing(psycopg.connect(server(), autocommit=True)) as owner:
        owner.execute(f"CREATE DATABASE {name}")
        try:
            yield named(server(), name)
        finally:
            owner.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextlib.contextmanager
def database() -> Iterator[Any]:
    """A connection, and one table of records."""
    import psycopg

    with contextlib.closing(psycopg.connect(url(), autocommit=True)) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS record (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, value bytea)"
        )
        yield connection


def commit(connection: Any, values: Sequence[bytes]) -> None:
    """Add rows in one transaction: one by itself, several as one pipeline."""
    query = "INSERT INTO record (value) VALUES (%s)"
    if len(values) == 1:
        connection.execute(query, (values[0],))
        return
    with connection.pipeline(), connection.transaction():
        for value in values:
            connection.execute(query, (value,))
