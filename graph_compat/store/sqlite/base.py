"""How a store in SQLite is configured: as any other."""

from __future__ import annotations

from flowfn.python.lazy import lazily
from flowfn.stores import IndexConfig as SqliteIndexConfig

__all__ = ["SqliteIndexConfig"]

# What programs also import from here.
__getattr__, __dir__ = lazily(__name__, {"SqliteStore": "graph_compat.store.sqlite"})
