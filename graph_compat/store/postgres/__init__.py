"""`langgraph.store.postgres`: the store in a Postgres database, for blocking and asyncio programs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flowfn.stores import TTLConfig
from flowfn.stores import postgres as stores
from graph_compat.connection import GivenConnection
from graph_compat.store.postgres.aio import AsyncPostgresStore
from graph_compat.store.postgres.base import PoolConfig, PostgresIndexConfig, by_cosine
from graph_compat.store.postgres.connection import url_of
from graph_compat.store.postgres.left_behind import tell_of_theirs


class PostgresStore(stores.PostgresStore):
    """LangGraph's Postgres store, made of a psycopg connection or pool, whose database it opens for itself."""

    conn: Any = GivenConnection()

    def __init__(
        self,
        conn: Any,
        *,
        pipe: Any = None,
        index: PostgresIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        self._conninfo = url_of(conn)
        super().__init__(self._conninfo, index=by_cosine(index), ttl=ttl)
        self.conn = conn

    @classmethod
    @contextmanager
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        pipeline: bool = False,
        pool_config: PoolConfig | None = None,
        index: PostgresIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> Iterator[PostgresStore]:
        """A store of a database's URL, closed afterwards."""
        with cls(conn_string, index=index, ttl=ttl) as store:
            yield store

    def setup(self) -> None:
        """Creates nothing, as opening the database does; a log line tells of a memory of LangGraph's, as long as there
        is no other."""
        tell_of_theirs(self, self._conninfo)


__all__ = ["AsyncPostgresStore", "PoolConfig", "PostgresStore"]
