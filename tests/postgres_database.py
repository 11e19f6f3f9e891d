"""Databases to test with, on a server that is there."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from checkpointers import PostgresSaver

_TABLES = ("thread", "checkpoint", "value", "write", "source")


class Database:
    """A database, and a connection beside those of the saver under test."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connection: psycopg.Connection[Any] = psycopg.connect(url, autocommit=True)

        self._saver: PostgresSaver | None = None

    def saver(self) -> PostgresSaver:
        """A saver of the database without threads. It stays open, since opening one takes longer than most tests."""
        self.empty()
        if self._saver is None or self._saver.closed:
            self._saver = PostgresSaver(self.url)
        return self._saver

    def empty(self) -> None:
        """Delete all rows, if any saver has made the tables yet."""
        with contextlib.suppress(psycopg.errors.UndefinedTable):
            self.connection.execute(";".join(f"DELETE FROM flowfn.{table}" for table in _TABLES))

    def empty_store(self) -> None:
        """Delete all items of a store, if any has made its tables yet."""
        with contextlib.suppress(psycopg.errors.UndefinedTable):
            self.connection.execute("DELETE FROM flowfn_store.item")

    def close(self) -> None:
        """Give back what it holds."""
        if self._saver is not None:
            self._saver.close()
        self.connection.close()

    def execute(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """The rows that a statement gives, if it gives any."""
        cursor = self.connection.execute(query, parameters)
        return cursor.fetchall() if cursor.description else []


@contextlib.contextmanager
def new_database(server: str) -> Iterator[Database]:
    """A database that is dropped afterwards."""
    name = f"flowfn_{uuid.uuid4().hex}"
    with contextlib.closing(psycopg.connect(server, autocommit=True)) as owner:
        owner.execute(f"CREATE DATABASE {name}")
        try:
            database = Database(named(server, name))
            with contextlib.closing(database):
                yield database
        finally:
            owner.execute(f"DROP DATABASE {name} WITH (FORCE)")


def named(server: str, database: str, **changes: str) -> str:
    """The URL of a database of the same server."""
    given = {**conninfo_to_dict(server), "dbname": database, **changes}
    host = given.pop("host", "")
    user, name = given.pop("user", "postgres"), given.pop("dbname")
    options = "&".join(f"{key}={value}" for key, value in [("host", host), *given.items()] if value)
    return f"postgresql://{user}@/{name}?{options}"
