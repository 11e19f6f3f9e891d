"""From what a user writes as `store=` to a store."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

from flowfn.errors import InvalidInput
from flowfn.stores.memory import InMemoryStore

if TYPE_CHECKING:
    from flowfn.stores.sqlite import SqliteStore

_open: weakref.WeakValueDictionary[str, SqliteStore] = weakref.WeakValueDictionary()
_opening = threading.Lock()

_EXPECTED = 'Pass a store, a path such as "memory.db", or a URL such as "sqlite:///memory.db" or "memory://".'


def open_store(target: Any) -> Any:
    """The store that a target names.

    A path is SQLite; so is `sqlite:///memory.db` (relative), `sqlite:////srv/memory.db` (absolute) and
    `sqlite:///:memory:`. `memory://` is a new `InMemoryStore`. While a file is open here, opening it again gives the
    same store. Anything else is returned as it is.

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
    raise InvalidInput(f"{target!r} is not a store. {_EXPECTED}")


def _open_sqlite(path: str) -> SqliteStore:
    from flowfn.stores.sqlite import SqliteStore

    if path == ":memory:" or path.startswith("file:"):
        return SqliteStore(path)
    real = os.path.realpath(path)
    with _opening:
        store = _open.get(real)
        if store is None or store.closed:
            store = _open[real] = SqliteStore(path)
        return store
