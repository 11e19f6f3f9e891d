"""From what a user writes as `store=` to a store."""

from __future__ import annotations

import weakref
from typing import Any

from flowfn.opening import Databases, Opened, is_place
from flowfn.stores.memory import InMemoryStore
from flowfn.stores.store import Store


def open_store(target: Any) -> Any:
    """The store that a target names.

    A path is SQLite; so is `sqlite:///memory.db` (relative), `sqlite:////srv/memory.db` (absolute) and
    `sqlite:///:memory:`. `postgresql://…`, or `postgres://…`, is a Postgres database; `memory://` is a new
    `InMemoryStore`. While a file or database is open here, opening it again gives the same store. Anything else is
    returned as it is.

    Raises:
        InvalidInput: a URL that names no store, or what can't be one.
    """
    return _databases.open(target) if is_place(checked_store(target)) else target


def checked_store(target: Any) -> Any:
    """A store, what can be opened as one, or a user's own object: anything but a number, bytes, a class or an empty
    name, which are slips.

    Raises:
        InvalidInput: it is one of these.
    """
    if target == "" if isinstance(target, str) else isinstance(target, int | float | bytes | type):
        raise _databases.refusal(target)
    return target


def _sqlite(path: str) -> Store:
    from flowfn.stores.sqlite import SqliteStore

    return SqliteStore(path)


def _postgres(url: str) -> Store:
    from flowfn.stores.postgres import PostgresStore

    return PostgresStore(url)


_databases: Databases[Store] = Databases(
    noun="store",
    expected='Pass a store, a path such as "memory.db", or a URL such as "sqlite:///memory.db",'
    ' "postgresql://user@host/database" or "memory://".',
    opened=Opened(weakref.WeakValueDictionary()),
    memory=InMemoryStore,
    sqlite=_sqlite,
    postgres=_postgres,
)
