"""Threads in an SQLite file, for asyncio."""

from __future__ import annotations

import inspect
from types import TracebackType
from typing import Any

from graph_compat.checkpoint.sqlite import SqliteSaver

__all__ = ["AsyncSqliteSaver"]


class AsyncSqliteSaver(SqliteSaver):
    """`SqliteSaver`, opened and closed by `async with`.

    `conn` is a connection of aiosqlite, whose file it opens itself.
    """

    def __init__(self, conn: Any, *, serde: Any = None) -> None:
        super().__init__(_path(conn), serde=serde)
        self.conn = conn

    async def __aenter__(self) -> AsyncSqliteSaver:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def setup(self) -> None:  # type: ignore[override]
        """Does nothing: opening the file creates what it lacks."""


def _path(conn: Any) -> Any:
    """The file that a connection was made for. It lives on a thread of its own, where it can't be asked."""
    connector = getattr(conn, "_connector", None)
    if connector is None:
        return conn
    return inspect.getclosurevars(connector).nonlocals["database"]
