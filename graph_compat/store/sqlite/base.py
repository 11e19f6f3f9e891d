"""How a store in SQLite is configured: as any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn.python.lazy import lend
from flowfn.stores import IndexConfig as SqliteIndexConfig

if TYPE_CHECKING:
    from graph_compat.store.sqlite import SqliteStore as SqliteStore

__all__ = ["SqliteIndexConfig"]

# What programs also import from here.
lend(__name__, {"SqliteStore": "graph_compat.store.sqlite"})
