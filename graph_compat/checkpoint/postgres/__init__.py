"""Threads in a Postgres database."""

from __future__ import annotations

import logging
from typing import Any, Self, TypeAlias

from psycopg import Connection
from psycopg_pool import ConnectionPool

import checkpointers
from graph_compat.checkpoint.base.saver import BaseCheckpointSaver, OwnSaver
from graph_compat.connection import GivenConnection
from graph_compat.left_out import left_out
from graph_compat.store.postgres.connection import url_of

__all__ = ["Conn", "PostgresSaver", "ShallowPostgresSaver"]

Conn: TypeAlias = Connection[Any] | ConnectionPool[Any]
"""What a saver finds its database by; or a URL."""

logger = logging.getLogger("graph_compat")


class PostgresSaver(OwnSaver, checkpointers.PostgresSaver, BaseCheckpointSaver[str]):  # type: ignore[misc]
    """Keeps threads in the database of `conn`, to which it opens connections itself; `conn` is left alone.

    `conn` is a connection or a pool of psycopg. Blocking and asyncio callers may share a saver. `pipe` changes
    nothing: what a superstep writes goes in one round trip anyway.
    """

    conn: Any = GivenConnection()

    def __init__(self, conn: Any, pipe: Any = None, serde: Any = None) -> None:
        self._url = conn if isinstance(conn, str) else url_of(conn)
        super().__init__(self._url, serde=serde)
        self.conn = conn

    @classmethod
    def from_conn_string(cls, conn_string: str, *, pipeline: bool = False) -> Self:
        """A saver of the database at a URL, to be closed by `with`."""
        return cls(conn_string)

    def setup(self) -> None:
        """Creates nothing, as opening the database does; a log line tells of threads of LangGraph's.

        It comes as long as there are no others: who moves a program here sees that its past isn't there yet.
        """
        from graph_compat.importing.kept import waiting_in

        if not self.threads(limit=1) and waiting_in(self._url):
            logger.warning(
                "the database has threads of LangGraph's, which aren't seen until they are taken over:"
                " flowfn import-langgraph URL --to URL"
            )


class ShallowPostgresSaver(PostgresSaver):
    """`PostgresSaver` that forgets all checkpoints but the last, as a run ends."""

    def __init__(self, conn: Any, pipe: Any = None, serde: Any = None) -> None:
        super().__init__(conn, pipe, serde)
        self.retention = 1


__getattr__ = left_out(__name__, {"BasePostgresSaver": "its queries are LangGraph's: use PostgresSaver"})
