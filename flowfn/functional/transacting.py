"""A task in a transaction of the user's database: what it writes there, and that it is done, become durable together.

Guarantee: exactly once. Each attempt first looks whether the call is done, by its idempotency key, in the table
`flowfn_done` beside the user's own; if so its result is handed back and the function isn't called. The run's journal
records the result afterwards, as any task's, and it doesn't matter whether that still happens.
"""

from __future__ import annotations

import inspect
import os
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    nullcontext,
)
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Protocol

from flowfn.context import current_frame
from flowfn.engine.drive import drive
from flowfn.errors import InvalidInput
from flowfn.python.annotations import signature_of
from flowfn.python.forking import leave_alone
from flowfn.serde import DEFAULT

if TYPE_CHECKING:
    import asyncio


PARAMETER = "transaction"
"""The parameter that gets the connection."""

Given = str | os.PathLike[str] | Callable[[], Any]
"""What `transaction=` takes: a path, a URL, or what opens a connection."""


class Transaction(Protocol):
    """One transaction, on either database."""

    connection: Any

    async def begin(self) -> None: ...

    async def find(self, key: str) -> bytes | None: ...

    async def keep(self, key: str, result: bytes) -> None: ...

    def check(self) -> None: ...

    async def end(self) -> None: ...

    async def undo(self) -> None: ...


def transacting(function: Callable[..., Any], given: Given, name: str, is_async: bool) -> Callable[..., Any]:
    """The function, called in a transaction.

    Raises:
        TypeError: `transaction=` isn't valid, or the function names no parameter for the connection.
    """
    if PARAMETER not in signature_of(function).parameters:
        raise TypeError(
            f"task {name!r} has transaction=…, and names no parameter {PARAMETER!r}, which gets the connection"
        )
    if not callable(given) and not isinstance(given, str | os.PathLike):
        raise TypeError(
            f'transaction={given!r}: write a path such as "shop.db", a URL such as "postgresql://user@host/shop", or '
            "a function that opens a connection"
        )

    if is_async:

        @wraps(function)
        async def transact_async(*args: Any, **kwargs: Any) -> Any:
            return await _once(_opener(given, True), lambda **lent: function(*args, **kwargs, **lent))

        return transact_async

    @wraps(function)
    def transact(*args: Any, **kwargs: Any) -> Any:
        async def call(**lent: Any) -> Any:
            return function(*args, **kwargs, **lent)

        return drive(_once(_opener(given, False), call))

    return transact


Opener = Callable[[], AbstractAsyncContextManager[Transaction]]


async def _once(opener: Opener, call: Callable[..., Awaitable[Any]]) -> Any:
    """What the call came to, now or when it was done before."""
    frame = current_frame.get()
    key = None if frame is None or frame.run.journal is None else frame.runtime.idempotency_key
    serde = DEFAULT if frame is None else frame.run.serde
    kept, owner = False, os.getpid()
    try:
        async with _within(opener) as transaction:
            if key is not None and (done := await transaction.find(key)) is not None:
                return serde.loads(done)
            value = await call(**{PARAMETER: transaction.connection})
            if os.getpid() != owner:
                raise InvalidInput(
                    "the task was forked, and its transaction is its parent's: end the child with os._exit(), or start "
                    "processes with `spawn`"
                )
            transaction.check()
            if key is not None:
                result, kept = serde.dumps(value), True
                await transaction.keep(key, result)
    except Exception:
        # The answer to COMMIT may be lost, and not the commit; or another attempt was done first, which this one
        # didn't see, as transactions that are isolated by more than READ COMMITTED don't.
        if not kept or (done := await _found(opener, str(key))) is None:
            raise
        return serde.loads(done)
    return value


async def _found(opener: Opener, key: str) -> bytes | None:
    async with _within(opener) as transaction:
        return await transaction.find(key)


@asynccontextmanager
async def _within(opener: Opener) -> AsyncIterator[Transaction]:
    """A transaction that is committed, or, after an error or a question, undone; a forked child does neither."""
    owner = os.getpid()
    async with opener() as transaction:
        try:
            await transaction.begin()
            yield transaction
        except BaseException:
            if os.getpid() == owner:
                await transaction.undo()
            else:
                leave_alone(transaction)
            raise
        await transaction.end()


# -- connections ------------------------------------------------------------------------------------


def _opener(given: Given, is_async: bool) -> Opener:
    if callable(given):
        return partial(_of_callable, given, is_async)
    target = os.fspath(given)
    scheme, separator, rest = target.partition("://")
    if scheme in ("postgresql", "postgres") and separator:
        return partial(_of_postgres, target, is_async)
    return partial(
        _of_sqlite, rest.removeprefix("/") if separator and scheme == "sqlite" else target, is_async
    )


@asynccontextmanager
async def _of_sqlite(path: str, is_async: bool) -> AsyncIterator[Transaction]:
    """A file. On an event loop one coroutine at a time has it, and none waits for it in place."""
    from flowfn.sqlite.transacting import SqliteTransaction, connect
    from flowfn.sqlite.under_way import under_way

    async with _turn(path) if is_async else nullcontext():
        with under_way.on(path):
            async with _closing_here() as closing:
                connection = connect(path)
                closing.callback(connection.close)
                yield SqliteTransaction(connection, partial(_elsewhere, path) if is_async else _in_place)


@asynccontextmanager
async def _of_postgres(url: str, is_async: bool) -> AsyncIterator[Transaction]:
    from flowfn.postgres.transacting import PostgresTransaction, aconnect, connect

    async with _closing_here() as closing:
        if is_async:
            connection = await aconnect(url)
            closing.push_async_callback(connection.close)
            yield PostgresTransaction(connection)
        else:
            blocking = connect(url)
            closing.callback(blocking.close)
            yield PostgresTransaction(blocking)


@asynccontextmanager
async def _of_callable(opens: Callable[[], Any], is_async: bool) -> AsyncIterator[Transaction]:
    """A connection of the user's: one that is opened for each call, or what a pool lends."""
    from flowfn.sqlite.under_way import under_way

    with ExitStack() as ended:
        place = ended.enter_context(under_way.on())
        opened = opens()
        if inspect.isawaitable(opened):
            opened = await opened
        async with _closing_here() as closing:
            connection = await _lent(opened, closing)
            kind = _is_connection(connection)
            if kind == "psycopg":
                from flowfn.postgres.transacting import PostgresTransaction

                ended.close()  # no fork waits for what it doesn't harm
                yield PostgresTransaction(connection)
            elif kind == "sqlite3":
                from flowfn.sqlite.file import file_of
                from flowfn.sqlite.transacting import SqliteTransaction

                place.is_in(file_of(connection))
                async with _turn(place.file) if is_async else nullcontext():
                    yield SqliteTransaction(connection, _in_place)
            else:
                raise _strange(connection)


@asynccontextmanager
async def _closing_here() -> AsyncIterator[AsyncExitStack]:
    """What is closed in this process alone: a forked child that did it would end its parent's transaction."""
    owner = os.getpid()
    async with AsyncExitStack() as stack:
        try:
            yield stack
        finally:
            if os.getpid() != owner:
                leave_alone(stack.pop_all())


async def _lent(opened: Any, closing: AsyncExitStack) -> Any:
    """A connection, to be closed, or to be given back to where it came from."""
    if _is_connection(opened):
        asynchronous = inspect.iscoroutinefunction(opened.close)
        (closing.push_async_callback if asynchronous else closing.callback)(opened.close)
        return opened
    if hasattr(opened, "__aenter__"):
        return await closing.enter_async_context(opened)
    if hasattr(opened, "__enter__"):
        return closing.enter_context(opened)
    raise _strange(opened)


def _is_connection(thing: Any) -> str | None:
    """Which database's connection something is; None if it is none."""
    for kind in type(thing).__mro__:
        if kind.__name__ in ("Connection", "AsyncConnection") and kind.__module__ in ("sqlite3", "psycopg"):
            return kind.__module__
    return None


def _strange(thing: Any) -> InvalidInput:
    return InvalidInput(
        f"transaction= opened {thing!r}: it has to be a connection of sqlite3 or psycopg, or a context manager of one"
    )


async def _in_place(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


async def _elsewhere(path: str, function: Callable[..., Any], *args: Any) -> Any:
    import asyncio

    from flowfn.sqlite.under_way import under_way

    def act() -> Any:
        with under_way.on(path, inner=True):
            return function(*args)

    return await asyncio.to_thread(act)


_turns: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Lock]] = (
    weakref.WeakKeyDictionary()
)


def _turn(path: str) -> asyncio.Lock:
    """Whose turn it is to write to a file, among the coroutines of the running loop."""
    import asyncio

    locks = _turns.setdefault(asyncio.get_running_loop(), {})
    return locks.setdefault(os.path.realpath(path), asyncio.Lock())
