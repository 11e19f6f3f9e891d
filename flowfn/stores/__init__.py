"""Long-term memory: values that outlive threads, found by namespace, key, fields or likeness.

Importing this is cheap: a backend's driver is imported when its store is first named.
"""

from typing import TYPE_CHECKING

from flowfn.python.lazy import lend

if TYPE_CHECKING:
    from flowfn.errors import InvalidFilter, InvalidNamespaceError
    from flowfn.stores.base import BaseStore
    from flowfn.stores.embedding import Embeddings, ensure_embeddings
    from flowfn.stores.items import (
        GetOp,
        IndexConfig,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
    )
    from flowfn.stores.memory import InMemoryStore
    from flowfn.stores.opening import open_store
    from flowfn.stores.postgres import PostgresStore
    from flowfn.stores.sqlite import SqliteStore

__all__ = [
    "BaseStore",
    "Embeddings",
    "GetOp",
    "InMemoryStore",
    "IndexConfig",
    "InvalidFilter",
    "InvalidNamespaceError",
    "Item",
    "ListNamespacesOp",
    "MatchCondition",
    "Op",
    "PostgresStore",
    "PutOp",
    "Result",
    "SearchItem",
    "SearchOp",
    "SqliteStore",
    "TTLConfig",
    "ensure_embeddings",
    "open_store",
]

_HOMES = dict.fromkeys(__all__, ".items") | {
    "BaseStore": ".base",
    "Embeddings": ".embedding",
    "InMemoryStore": ".memory",
    "InvalidFilter": "..errors",
    "InvalidNamespaceError": "..errors",
    "PostgresStore": ".postgres",
    "SqliteStore": ".sqlite",
    "ensure_embeddings": ".embedding",
    "open_store": ".opening",
}

lend(__name__, _HOMES)
