"""`langgraph.store.base`: the base class, items, operations, and what an index is made of."""

from flowfn.errors import InvalidNamespaceError
from flowfn.stores import BaseStore
from flowfn.stores.embedding import AEmbeddingsFunc, Embeddings, EmbeddingsFunc, ensure_embeddings
from flowfn.stores.items import (
    NOT_PROVIDED,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    NamespaceMatchType,
    NamespacePath,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from flowfn.stores.namespaces import checked
from flowfn.stores.paths import get_text_at_path, tokenize_path

__all__ = [
    "NOT_PROVIDED",
    "AEmbeddingsFunc",
    "BaseStore",
    "Embeddings",
    "EmbeddingsFunc",
    "GetOp",
    "IndexConfig",
    "InvalidNamespaceError",
    "Item",
    "ListNamespacesOp",
    "MatchCondition",
    "NamespaceMatchType",
    "NamespacePath",
    "NotProvided",
    "Op",
    "PutOp",
    "Result",
    "SearchItem",
    "SearchOp",
    "TTLConfig",
    "ensure_embeddings",
    "get_text_at_path",
    "tokenize_path",
    "validate_op_namespace",
]


def validate_op_namespace(op: Op) -> None:
    """Refuse an operation whose namespace has a label that none may have.

    Raises:
        InvalidNamespaceError: says which.
    """
    checked(op.namespace_prefix if isinstance(op, SearchOp) else getattr(op, "namespace", ()))


def _ensure_ttl(config: TTLConfig | None, ttl: float | NotProvided | None) -> float | None:
    """The minutes that an item lives, for stores that others wrote: as given, else as the store says."""
    if isinstance(ttl, NotProvided):
        return None if config is None else config.get("default_ttl")
    return ttl
