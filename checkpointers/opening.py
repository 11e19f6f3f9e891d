"""From what a user writes as `checkpointer=` to a saver."""

from __future__ import annotations

import os
import weakref
from typing import Any

from checkpointers.base import CheckpointSaver
from checkpointers.memory import MemorySaver
from flowfn.opening import Databases, Opened
from flowfn.ports import Saver

Target = Saver | str | os.PathLike[str] | Any
"""A saver, of flowfn's or of LangGraph's kind; a path; a URL."""


def open_saver(target: Target) -> Saver:
    """The saver that a target names.

    A saver is returned as it is; one that was written for LangGraph, as `ForeignSaver`. A path is SQLite; so is
    `sqlite:///runs.db` (relative), `sqlite:////srv/runs.db` (absolute) and `sqlite:///:memory:`. `postgresql://…`,
    or `postgres://…`, is a Postgres database; `memory://` is a new `MemorySaver`. While a file or database is open
    here, opening it again gives the same saver, so that its leases and its group commit are shared; whoever closes
    it closes it for all.

    Raises:
        InvalidInput: it is no saver, or a URL that names none.
    """
    if isinstance(target, str | os.PathLike) and target != "":
        return _databases.open(target)
    from checkpointers.foreign import adapted, is_foreign

    if is_foreign(target):
        return adapted(target)
    if isinstance(target, CheckpointSaver | Saver):  # a protocol alone answers slowly
        return target
    raise _databases.refusal(target)


def _sqlite(path: str) -> Saver:
    from checkpointers.sqlite import SqliteSaver

    return SqliteSaver(path)


def _postgres(url: str) -> Saver:
    from checkpointers.postgres import PostgresSaver

    return PostgresSaver(url)


_databases: Databases[Saver] = Databases(
    noun="checkpointer",
    expected='Pass a saver, a path such as "runs.db", or a URL such as "sqlite:///runs.db",'
    ' "postgresql://user@host/database" or "memory://".',
    opened=Opened(weakref.WeakValueDictionary()),
    memory=MemorySaver,
    sqlite=_sqlite,
    postgres=_postgres,
)
