"""`langgraph.store.memory`: the store in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn import stores
from flowfn.python.lazy import lend
from flowfn.serde import Serde

if TYPE_CHECKING:
    from flowfn.ports import Serializer
    from graph_compat.store.base import BaseStore as BaseStore
    from graph_compat.store.base import GetOp as GetOp
    from graph_compat.store.base import IndexConfig as IndexConfig
    from graph_compat.store.base import Item as Item
    from graph_compat.store.base import ListNamespacesOp as ListNamespacesOp
    from graph_compat.store.base import MatchCondition as MatchCondition
    from graph_compat.store.base import PutOp as PutOp
    from graph_compat.store.base import SearchItem as SearchItem
    from graph_compat.store.base import SearchOp as SearchOp
    from graph_compat.store.base import ensure_embeddings as ensure_embeddings
    from graph_compat.store.base import get_text_at_path as get_text_at_path
    from graph_compat.store.base import tokenize_path as tokenize_path


# What programs also import from here.
lend(
    __name__,
    {
        **dict.fromkeys(
            (
                "BaseStore",
                "GetOp",
                "IndexConfig",
                "Item",
                "ListNamespacesOp",
                "MatchCondition",
                "PutOp",
                "SearchItem",
                "SearchOp",
                "ensure_embeddings",
                "get_text_at_path",
                "tokenize_path",
            ),
            "graph_compat.store.base",
        ),
    },
)


class InMemoryStore(stores.InMemoryStore):
    """LangGraph's in-memory store; its searches give each key where it was first put.

    What it keeps never leaves the process, so it takes instances of classes made inside functions, as databases can't.
    """

    newest_first = False

    def _default_serde(self) -> Serializer:
        return Serde(stays_here=True)


__all__ = ["InMemoryStore"]
