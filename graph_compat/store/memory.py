"""`langgraph.store.memory`: the store in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn import stores
from flowfn.python.lazy import lazily
from flowfn.serde import Serde

if TYPE_CHECKING:
    from flowfn.ports import Serializer


# What programs also import from here.
__getattr__, __dir__ = lazily(
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
