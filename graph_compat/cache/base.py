"""What a cache is for LangGraph's users: values by namespace and key, each with a time to live.

Rule: a cache is given values and keeps bytes; `serde` makes one of the other.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from graph_compat.checkpoint.serde.jsonplus import JsonPlusSerializer

__all__ = ["BaseCache", "FullKey", "Namespace", "ValueT"]

ValueT = TypeVar("ValueT")

Namespace = tuple[str, ...]
FullKey = tuple[Namespace, str]


class BaseCache(ABC, Generic[ValueT]):
    """A cache. One of your own overrides `get`, `set` and `clear`; asyncio callers get those on a thread.

    Where it also overrides `aget`, `aset` and `aclear`, asyncio callers get these on their event loop.

    `serde` has LangGraph's `dumps_typed` and `loads_typed`, or flowfn's `dumps` and `loads`.
    """

    serde: Any = JsonPlusSerializer()

    def __init__(self, *, serde: Any = None) -> None:
        self.serde = self.serde if serde is None else serde

    @abstractmethod
    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """The values that are there, by key."""

    @abstractmethod
    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Keep values, each for so many seconds, or, with None, for ever."""

    @abstractmethod
    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget what is in these namespaces; everything for None."""

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """`get` for asyncio."""
        return await asyncio.to_thread(self.get, keys)

    async def aset(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """`set` for asyncio."""
        await asyncio.to_thread(self.set, pairs)

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """`clear` for asyncio."""
        await asyncio.to_thread(self.clear, namespaces)

    def encoded(self, value: ValueT) -> tuple[str, bytes]:
        """A value as bytes, and what kind of bytes."""
        if hasattr(self.serde, "dumps_typed"):
            kind, data = self.serde.dumps_typed(value)
            return kind, data
        return "", self.serde.dumps(value)

    def decoded(self, kind: str, data: bytes) -> ValueT:
        """The value of `encoded`."""
        found: ValueT = self.serde.loads_typed((kind, data)) if kind else self.serde.loads(data)
        return found
