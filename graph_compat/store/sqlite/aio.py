"""`langgraph.store.sqlite.aio`: the store in an SQLite file, for asyncio programs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from flowfn import stores
from flowfn.stores import IndexConfig, TTLConfig
from graph_compat.connection import GivenConnection
from graph_compat.store.awaited import AwaitedStore
from graph_compat.store.sqlite.connection import DATABASES, file_in


class AsyncSqliteStore(AwaitedStore):
    """LangGraph's asyncio SQLite store, made of an `aiosqlite.Connection`, whose file it opens for itself."""

    conn: Any = GivenConnection()

    def __init__(self, conn: Any, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> None:
        super().__init__(index=index, ttl=ttl)
        self.conn = conn
        self._place = conn

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, conn_string: str, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None
    ) -> AsyncIterator[AsyncSqliteStore]:
        """A store of a path, or of `":memory:"`, closed afterwards."""
        async with cls(conn_string, index=index, ttl=ttl) as store:
            yield store

    async def _open(self) -> stores.SqliteStore:
        named = isinstance(self._place, str)
        path = self._place if named else file_in(await self._place.execute_fetchall(DATABASES))
        return stores.SqliteStore(path, index=self.index_config, ttl=self.ttl_config)


__all__ = ["AsyncSqliteStore"]
