"""From what a user writes as `checkpointer=` to a saver."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from checkpointers.base import CheckpointSaver
from checkpointers.memory import MemorySaver
from flowfn.ports import Saver

if TYPE_CHECKING:
    from checkpointers.postgres import PostgresSaver
    from checkpointers.sqlite import SqliteSaver

Target = Saver | str | os.PathLike[str] | Any
"""A saver, of flowfn's or of LangGraph's kind; a path; a URL."""

_open: weakref.WeakValueDictionary[str, SqliteSaver | PostgresSaver] = weakref.WeakValueDictionary()
_opening = threading.Lock()

_EXPECTED = (
    'Pass a saver, a path such as "runs.db", or a URL such as "sqlite:///runs.db",'
    ' "postgresql://user@host/database" or "memory://".'
)


def open_saver(target: Target) -> Saver:
    """The saver that a target names.

    A saver is returned as it is; one that was written for LangGraph, as `ForeignSaver`. A path is SQLite; so is
    `sqlite:///runs.db` (relative), `sqlite:////srv/runs.db` (absolute) and `sqlite:///:memory:`. `postgresql://…`,
    or `postgres://…`, is a Postgres database; `memory://` is a new `MemorySaver`. While a file or database is open
    here, opening it again gives the same saver, so that its leases and its group commit are shared; whoever closes
    it closes it for all. Anything else is a `TypeError`.
    """
    if isinstance(target, str | os.PathLike):
        return _open_url(os.fspath(target))
    from checkpointers.foreign import adapted, is_foreign

    if is_foreign(target):
        return adapted(target)
    if isinstance(target, CheckpointSaver | Saver):  # a protocol alone answers slowly
        return target
    raise TypeError(f"{target!r} is not a checkpointer. {_EXPECTED}")


def _open_url(target: str) -> Saver:
    scheme, separator, rest = target.partition("://")
    if not separator:
        return _open_sqlite(target)
    if scheme == "memory" and not rest:
        return MemorySaver()
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return _open_sqlite(rest[1:])
    if scheme in ("postgresql", "postgres"):
        return _shared(target, _postgres)
    raise TypeError(f"{target!r} is not a checkpointer. {_EXPECTED}")


def _open_sqlite(path: str) -> Saver:
    if path == ":memory:" or path.startswith("file:"):
        return _sqlite(path)
    return _shared(os.path.realpath(path), lambda _: _sqlite(path))


def _shared(name: str, make: Callable[[str], SqliteSaver | PostgresSaver]) -> Saver:
    with _opening:
        saver = _open.get(name)
        if saver is None or saver.closed:
            saver = _open[name] = make(name)
        return cast(Saver, saver)


def _sqlite(path: str) -> SqliteSaver:
    from checkpointers.sqlite import SqliteSaver

    return SqliteSaver(path)


def _postgres(url: str) -> PostgresSaver:
    try:
        from checkpointers.postgres import PostgresSaver
    except ModuleNotFoundError as error:
        raise ImportError(
            f"a Postgres checkpointer needs {error.name}: pip install 'flowfn-durable[postgres]'"
        ) from error
    return PostgresSaver(url)
