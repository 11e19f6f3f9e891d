"""From what a user writes as `store=` to a store."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flowfn.errors import InvalidInput
from flowfn.stores.memory import InMemoryStore

if TYPE_CHECKING:
    from flowfn.stores.postgres import PostgresStore
    from flowfn.stores.sqlite import SqliteStore

_open: weakref.WeakValueDictionary[str, SqliteStore | PostgresStore] = weakref.WeakValueDictionary()
_opening = threading.Lock()

_EXPECTED = (
    'Pass a store, a path such as "memory.db", or a URL such as "sqlite:///memory.db",'
    ' "postgresql://user@host/database" or "memory://".'
)


def open_store(target: Any) -> Any:
    """The store that a target names.

    A path is SQLite; so is `sqlite:///memory.db` (relative), `sqlite:////srv/memory.db` (absolute) and
    `sqlite:///:memory:`. `postgresql://…`, or `postgres://…`, is a Postgres database; `memory://` is a new
    `InMemoryStore`. While a file or database is open here, opening it again gives the same store. Anything else is
    returned as it is.

    Raises:
        InvalidInput: a URL that names no store.
    """
    if not isinstance(target, str | os.PathLike):
        return target
    text = os.fspath(target)
    scheme, separator, rest = text.partition("://")
    if not separator:
        return _open_sqlite(text)
    if scheme == "memory" and not rest:
        return InMemoryStore()
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return _open_sqlite(rest[1:])
    if scheme in ("postgresql", "postgres"):
        return _shared(text, _postgres)
    raise InvalidInput(f"{target!r} is not a store. {_EXPECTED}")


def _open_sqlite(path: str) -> Any:
    if path == ":memory:" or path.startswith("file:"):
        return _sqlite(path)
    return _shared(os.path.realpath(path), _sqlite)


def _shared(name: str, make: Callable[[str], SqliteStore | PostgresStore]) -> Any:
    with _opening:
        store = _open.get(name)
        if store is None or store.closed:
            store = _open[name] = make(name)
        return store


def _sqlite(path: str) -> SqliteStore:
    from flowfn.stores.sqlite import SqliteStore

    return SqliteStore(path)


def _postgres(url: str) -> PostgresStore:
    try:
        from flowfn.stores.postgres import PostgresStore
    except ModuleNotFoundError as error:
        raise ImportError(
            f"a Postgres store needs {error.name}: pip install 'flowfn-durable[postgres]'"
        ) from error
    return PostgresStore(url)
