"""`langgraph.store.sqlite`: the store in an SQLite file, for blocking and asyncio programs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flowfn import stores
from flowfn.stores import IndexConfig, TTLConfig
from graph_compat.connection import GivenConnection
from graph_compat.store.sqlite.aio import AsyncSqliteStore
from graph_compat.store.sqlite.connection import path_of


class SqliteStore(stores.SqliteStore):
    """LangGraph's SQLite store, made of an `sqlite3.Connection`, whose file it opens for itself."""

    conn: Any = GivenConnection()

    def __init__(
        self,
        conn: sqlite3.Connection | str,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__(path_of(conn), index=index, ttl=ttl)
        self.conn = conn

    @classmethod
    @contextmanager
    def from_conn_string(
        cls, conn_string: str, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None
    ) -> Iterator[SqliteStore]:
        """A store of a path, or of `":memory:"`, closed afterwards."""
        with cls(conn_string, index=index, ttl=ttl) as store:
            yield store

    def setup(self) -> None:
        """Nothing: opening a file makes its tables."""


__all__ = ["AsyncSqliteStore", "SqliteStore"]
