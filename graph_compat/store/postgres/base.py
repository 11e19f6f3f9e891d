"""How a store in Postgres is configured.

Rule: values are compared by their cosine, exactly. What only speeds an approximate comparison up is taken and makes no
difference; another measure would find other items, and is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

from flowfn.errors import InvalidInput
from flowfn.python.lazy import lend
from flowfn.stores import IndexConfig

if TYPE_CHECKING:
    from graph_compat.store.postgres import PostgresStore as PostgresStore

__all__ = ["ANNIndexConfig", "HNSWConfig", "IVFFlatConfig", "PoolConfig", "PostgresIndexConfig", "by_cosine"]

VectorType = Literal["vector", "halfvec"]

# What programs also import from here.
lend(__name__, {"PostgresStore": "graph_compat.store.postgres"})


class PoolConfig(TypedDict, total=False):
    """How many connections a store may have; `min_size` and `kwargs` are of no concern here."""

    min_size: int
    max_size: int | None
    kwargs: dict[str, Any]


class ANNIndexConfig(TypedDict, total=False):
    """An approximate index of pgvector's; there is none here."""

    kind: Literal["hnsw", "ivfflat", "flat"]
    vector_type: VectorType


class HNSWConfig(ANNIndexConfig, total=False):
    """One that is a graph: `m` neighbours a vector, of `ef_construction` that were looked at."""

    kind: Literal["hnsw"]  # type: ignore[misc]  # narrower than its base's, as in LangGraph
    m: int
    ef_construction: int


class IVFFlatConfig(ANNIndexConfig, total=False):
    """One that is `nlist` clusters."""

    kind: Literal["ivfflat"]  # type: ignore[misc]  # narrower than its base's, as in LangGraph
    nlist: int


class PostgresIndexConfig(IndexConfig, total=False):
    """An `IndexConfig` with what pgvector is told."""

    ann_index_config: ANNIndexConfig
    distance_type: Literal["l2", "inner_product", "cosine"]


def by_cosine(index: PostgresIndexConfig | None) -> PostgresIndexConfig | None:
    """The index, which says nothing else than that values are compared by their cosine.

    Raises:
        InvalidInput: it does.
    """
    distance = "cosine" if index is None else index.get("distance_type", "cosine")
    if distance != "cosine":
        raise InvalidInput(
            f"index has distance_type={distance!r}, and values are compared by their cosine here. Leave it out: "
            "what is found is in the same order if the vectors have the length 1, as those of most models have; "
            "scores are other numbers."
        )
    return index
