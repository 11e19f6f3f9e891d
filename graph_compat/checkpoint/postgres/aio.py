"""Threads in a Postgres database, for asyncio."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self, TypeAlias

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from graph_compat.checkpoint.postgres import PostgresSaver, ShallowPostgresSaver

__all__ = ["AsyncPostgresSaver", "AsyncShallowPostgresSaver", "Conn"]

Conn: TypeAlias = AsyncConnection[Any] | AsyncConnectionPool[Any]
"""What a saver finds its database by; or a URL."""


class AsyncPostgresSaver(PostgresSaver):
    """`PostgresSaver`, opened and closed by `async with`."""

    @classmethod
    def from_conn_string(cls, conn_string: str, *, pipeline: bool = False, serde: Any = None) -> Self:
        """A saver of the database at a URL, to be closed by `async with`."""
        return cls(conn_string, serde=serde)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def setup(self) -> None:  # type: ignore[override]
        """As `PostgresSaver.setup`."""
        await self._call(super().setup)


class AsyncShallowPostgresSaver(AsyncPostgresSaver, ShallowPostgresSaver):  # type: ignore[misc]
    """`AsyncPostgresSaver` that forgets all checkpoints but the last, as a run ends."""
