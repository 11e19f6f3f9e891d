"""A transaction of a task in a user's Postgres database: their rows, and that the call is done.

Rule: an advisory lock on the call comes first, so that of two attempts at it the second sees what the first has
done. One class for blocking and asyncio connections: what psycopg returns is awaited where it has to be.
"""

from __future__ import annotations

import inspect
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from flowfn.errors import InvalidInput

_TABLE = (
    "CREATE TABLE IF NOT EXISTS flowfn_done (key text PRIMARY KEY, result bytea NOT NULL, "
    "at timestamptz NOT NULL DEFAULT now())"
)

_MAKING = 0x464C4F57
"""The advisory lock under which the table is made."""


def connect(url: str) -> psycopg.Connection[Any]:
    """A connection for one transaction."""
    return psycopg.connect(url)


async def aconnect(url: str) -> psycopg.AsyncConnection[Any]:
    """`connect` for asyncio."""
    return await psycopg.AsyncConnection.connect(url)


class PostgresTransaction:
    """One transaction on an open connection, blocking or asyncio."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self._transaction: Any = None

    async def begin(self) -> None:
        if self.connection.info.transaction_status != TransactionStatus.IDLE:
            raise InvalidInput("transaction= gave a connection in a transaction: give one that has none open")
        self._transaction = self.connection.transaction()
        await _done(_method(self._transaction, "enter")())
        if (await self._row("SELECT to_regclass('flowfn_done')"))[0] is None:
            await self._execute("SELECT pg_advisory_xact_lock(%s)", _MAKING)
            await self._execute(_TABLE)

    async def find(self, key: str) -> bytes | None:
        """The result of a call that is done."""
        await self._execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", key)
        row = await self._row("SELECT result FROM flowfn_done WHERE key = %s", key)
        return None if row is None else bytes(row[0])

    async def keep(self, key: str, result: bytes) -> None:
        """The call is done, with this result."""
        await self._execute("INSERT INTO flowfn_done (key, result) VALUES (%s, %s)", key, result)

    def check(self) -> None:
        """Refuse to go on where the user's code has ended the transaction; psycopg lets it do so by SQL alone.

        Raises:
            InvalidInput: it has.
        """
        if self.connection.info.transaction_status == TransactionStatus.IDLE:
            raise InvalidInput(
                "the task ended its transaction itself: leave COMMIT and ROLLBACK to transaction=, or what it wrote "
                "isn't bound to its record"
            )

    async def end(self) -> None:
        await _done(_method(self._transaction, "exit")(None, None, None))

    async def undo(self) -> None:
        if self._transaction is not None and not self.connection.closed:
            error = psycopg.Rollback()
            await _done(_method(self._transaction, "exit")(type(error), error, None))

    async def _execute(self, sql: str, *values: Any) -> Any:
        """Its cursor: whatever kinds of cursors and rows the user's code has from the connection."""
        kind: Any = (
            psycopg.AsyncCursor if isinstance(self.connection, psycopg.AsyncConnection) else psycopg.Cursor
        )
        return await _done(kind(self.connection, row_factory=tuple_row).execute(sql, values))

    async def _row(self, sql: str, *values: Any) -> Any:
        return await _done((await self._execute(sql, *values)).fetchone())


def _method(transaction: Any, name: str) -> Any:
    """`__enter__` or `__exit__`, of either colour."""
    return getattr(transaction, f"__a{name}__", None) or getattr(transaction, f"__{name}__")


async def _done(result: Any) -> Any:
    return await result if inspect.isawaitable(result) else result
