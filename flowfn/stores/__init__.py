"""Long-term memory: values that outlive threads, found by namespace, key, fields or likeness.

Importing this is cheap: a backend's driver is imported when its store is first named.
"""

from typing import TYPE_CHECKING, Any

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

_HOMES = {
    "BaseStore": "flowfn.stores.base",
    "Embeddings": "flowfn.stores.embedding",
    "InMemoryStore": "flowfn.stores.memory",
    "InvalidFilter": "flowfn.errors",
    "InvalidNamespaceError": "flowfn.errors",
    "PostgresStore": "flowfn.stores.postgres",
    "SqliteStore": "flowfn.stores.sqlite",
    "ensure_embeddings": "flowfn.stores.embedding",
    "open_store": "flowfn.stores.opening",
}
"""Where a name is; all others are in `items`."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = _HOMES.get(name, "flowfn.stores.items")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted(globals().keys() | set(__all__))
