"""`langgraph.store.postgres.aio`: the store in a Postgres database, for asyncio programs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from flowfn.stores import TTLConfig
from flowfn.stores.postgres import PostgresStore
from graph_compat.connection import GivenConnection
from graph_compat.store.awaited import AwaitedStore
from graph_compat.store.postgres.base import PoolConfig, PostgresIndexConfig, by_cosine
from graph_compat.store.postgres.connection import url_of
from graph_compat.store.postgres.left_behind import tell_of_theirs


class AsyncPostgresStore(AwaitedStore):
    """LangGraph's asyncio Postgres store, made of a psycopg connection or pool, whose database it opens for itself."""

    conn: Any = GivenConnection()

    def __init__(
        self,
        conn: Any,
        *,
        pipe: Any = None,
        index: PostgresIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__(index=by_cosine(index), ttl=ttl)
        self.conn = conn
        self._conninfo = url_of(conn)

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls,
        conn_string: str,
        *,
        pipeline: bool = False,
        pool_config: PoolConfig | None = None,
        index: PostgresIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> AsyncIterator[AsyncPostgresStore]:
        """A store of a database's URL, closed afterwards."""
        async with cls(conn_string, index=index, ttl=ttl) as store:
            yield store

    async def _open(self) -> PostgresStore:
        make = partial(PostgresStore, self._conninfo, index=self.index_config, ttl=self.ttl_config)
        return await asyncio.to_thread(make)

    async def setup(self) -> None:
        """Open it, which makes its tables; a log line tells of a memory of LangGraph's, as long as there is no
        other."""
        await super().setup()
        await asyncio.to_thread(tell_of_theirs, await self._opened(), self._conninfo)


__all__ = ["AsyncPostgresStore"]
