"""`langgraph.store.sqlite.aio`: the store in an SQLite file, for asyncio programs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

from flowfn import stores
from flowfn.stores import BaseStore, IndexConfig, Op, Result, TTLConfig
from graph_compat.store.sqlite.connection import DATABASES, file_in


class AsyncSqliteStore(BaseStore):
    """LangGraph's asyncio SQLite store, made of an `aiosqlite.Connection` or a path.

    It opens the connection's file for itself: by `setup()`, or with the first method that is awaited.
    """

    supports_ttl = True

    def __init__(self, conn: Any, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> None:
        self.conn = conn
        self.index_config = index
        self.ttl_config = ttl
        self._store = self._on(conn) if isinstance(conn, str) else None

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, conn_string: str, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None
    ) -> AsyncIterator[AsyncSqliteStore]:
        """A store of a path, or of `":memory:"`, closed afterwards."""
        async with cls(conn_string, index=index, ttl=ttl) as store:
            yield store

    async def __aenter__(self) -> AsyncSqliteStore:
        await self.setup()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._store is not None:
            await asyncio.to_thread(self._store.close)

    async def setup(self) -> None:
        """Open the file; that makes its tables."""
        await self._opened()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations, blocking.

        Raises:
            RuntimeError: the file isn't open yet.
        """
        if self._store is None:
            raise RuntimeError(
                "The store isn't open yet: `await store.setup()` first, or use from_conn_string()."
            )
        return self._store.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations."""
        return await (await self._opened()).abatch(ops)

    async def sweep_ttl(self) -> int:
        """Delete the items whose time is up; how many there were."""
        return await (await self._opened()).asweep_ttl()

    async def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> asyncio.Future[None]:
        """Sweep now and then; a future that is done when that has ended."""
        return asyncio.wrap_future((await self._opened()).start_ttl_sweeper(sweep_interval_minutes))

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop sweeping, waiting for `timeout` seconds; whether it has ended."""
        return await asyncio.to_thread((await self._opened()).stop_ttl_sweeper, timeout)

    async def _opened(self) -> stores.SqliteStore:
        if self._store is None:
            path = file_in(await self.conn.execute_fetchall(DATABASES))
            self._store = self._store or self._on(path)
        return self._store

    def _on(self, path: str) -> stores.SqliteStore:
        return stores.SqliteStore(path, index=self.index_config, ttl=self.ttl_config)


__all__ = ["AsyncSqliteStore"]
