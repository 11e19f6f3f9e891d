"""What a store holds, and what it can be asked: the nouns of `flowfn.stores`.

Rule: plain data. What an operation means is in `store`, `filters`, `namespaces` and `ranking`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypedDict, final

Namespace = tuple[str, ...]
"""Where an item is: labels from the root on, such as `("users", "ada", "memories")`."""

NamespacePath = tuple[str, ...]
"""Labels to match a namespace with; `"*"` stands for any one label."""

NamespaceMatchType = Literal["prefix", "suffix"]


@dataclass(slots=True, repr=False, unsafe_hash=True)
class Item:
    """A value under its namespace and key.

    `created_at` is when the key was first put, `updated_at` when it was last put; both are in UTC. The value
    is the caller's own copy: changing it changes nothing in the store.
    """

    namespace: Namespace
    key: str
    value: dict[str, Any] = field(hash=False)
    created_at: datetime = field(hash=False)
    updated_at: datetime = field(hash=False)

    def __post_init__(self) -> None:
        self.namespace = tuple(self.namespace)
        if isinstance(self.created_at, str):
            self.created_at = datetime.fromisoformat(self.created_at)
        if isinstance(self.updated_at, str):
            self.updated_at = datetime.fromisoformat(self.updated_at)

    def dict(self) -> dict[str, Any]:
        """As JSON would have it: the namespace as a list, times as ISO strings."""
        return {
            "namespace": list(self.namespace),
            "key": self.key,
            "value": self.value,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.dict().items())
        return f"Item({shown})"


@dataclass(slots=True, repr=False, unsafe_hash=True)
class SearchItem(Item):
    """An item that a search found.

    `score`: how alike it is to the query, from -1 to 1; None where nothing was compared.
    """

    score: float | None = field(default=None, hash=False)

    def dict(self) -> dict[str, Any]:
        """As `Item.dict`, with the score."""
        return {**Item.dict(self), "score": self.score}


class Moved(NamedTuple):
    """An item of another store, on its way. Times are seconds since the epoch, `ttl` in minutes."""

    namespace: Namespace
    key: str
    value: Mapping[str, Any]
    created: float
    updated: float
    ttl: float | None = None
    expires: float | None = None


# -- operations -----------------------------------------------------------------------------------


class GetOp(NamedTuple):
    """The item under a key, or None. `refresh_ttl`: whether its time to live begins anew."""

    namespace: Namespace
    key: str
    refresh_ttl: bool = True


class PutOp(NamedTuple):
    """Keep a value under a key; a value of None deletes it.

    `index`: None for the store's fields, a list of paths to compare with queries, or False: nothing is embedded, and
    the vectors that are there stay if the texts at the store's fields do.
    `ttl`: minutes to live after the last put or refreshing read; None for ever.
    """

    namespace: Namespace
    key: str
    value: Mapping[str, Any] | None
    index: Literal[False] | list[str] | None = None  # type: ignore[assignment]  # shadows tuple.index
    ttl: float | None = None


class SearchOp(NamedTuple):
    """The items of a namespace and of those below it, as `BaseStore.search` describes."""

    namespace_prefix: Namespace
    filter: Mapping[str, Any] | None = None
    limit: int = 10
    offset: int = 0
    query: str | None = None
    refresh_ttl: bool = True


class MatchCondition(NamedTuple):
    """What a namespace must begin or end with."""

    match_type: NamespaceMatchType
    path: NamespacePath


class ListNamespacesOp(NamedTuple):
    """The namespaces that hold items and meet every condition, cut to `max_depth` labels, sorted."""

    match_conditions: tuple[MatchCondition, ...] | None = None
    max_depth: int | None = None
    limit: int = 100
    offset: int = 0


Op = GetOp | PutOp | SearchOp | ListNamespacesOp
Result = Item | list[Item] | list[SearchItem] | list[Namespace] | None


# -- configuration --------------------------------------------------------------------------------


class IndexConfig(TypedDict, total=False):
    """How values are compared with queries.

    `dims`: how many numbers a vector has. `embed`: texts to vectors; see `ensure_embeddings`. `fields`: the
    paths whose texts are embedded; default `["$"]`, the whole value.
    """

    dims: int
    embed: Any
    fields: list[str] | None


class TTLConfig(TypedDict, total=False):
    """How long items live, in minutes.

    `default_ttl`: where a put names none; None for ever. `refresh_on_read`: whether reading begins an item's
    time anew, default True. `omit_expired`: whether reads pass over what has expired and isn't swept yet,
    default False. `sweep_interval_minutes`: how often the sweeper sweeps, default 5.
    """

    refresh_on_read: bool
    omit_expired: bool
    default_ttl: float | None
    sweep_interval_minutes: float | None


@final
class NotProvided:
    """The type of `NOT_PROVIDED`."""

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return "NOT_PROVIDED"


NOT_PROVIDED = NotProvided()
"""Stands for a `ttl` that wasn't given: the store's default applies, where None means for ever."""
