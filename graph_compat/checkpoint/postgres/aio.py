"""Threads in a Postgres database, for asyncio."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from graph_compat.checkpoint.postgres import CONNECTION, SHALLOW, PostgresSaver
from graph_compat.left_out import left_out

__all__ = ["AsyncPostgresSaver"]


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


__getattr__ = left_out(__name__, {"AsyncShallowPostgresSaver": SHALLOW, "Conn": CONNECTION})
