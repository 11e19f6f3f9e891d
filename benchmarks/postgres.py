"""The Postgres server that is measured on: one of the run's own, whose commits survive power loss.

`FLOWFN_POSTGRES=URL` names another one, `FLOWFN_NO_POSTGRES=1` leaves Postgres out.
"""

import atexit
import contextlib
import importlib.util
import os
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from tests.postgres_server import GIVEN, private_server


def available() -> bool:
    """Whether Postgres is to be measured."""
    wanted = os.environ.get("FLOWFN_NO_POSTGRES") != "1"
    return wanted and importlib.util.find_spec("psycopg") is not None


@cache
def url() -> str:
    """Where the database is; the server is started by the first who asks, and stopped when the process ends."""
    if given := os.environ.get(GIVEN):
        return given
    kept = contextlib.ExitStack()
    atexit.register(kept.close)
    return kept.enter_context(private_server(fsync=True)).url()


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
