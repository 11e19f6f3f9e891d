"""A cache in this process's memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from flowfn.python.forking import let_go_by_fork
from graph_compat.cache.base import BaseCache, FullKey, Namespace, ValueT

__all__ = ["InMemoryCache"]


class InMemoryCache(BaseCache[ValueT]):
    """Keeps values until their time is up, they are cleared, or the process ends."""

    inline = frozenset({"get", "set"})
    """What an event loop may call itself: a thread between would shuffle the hits of parallel nodes."""

    def __init__(self, *, serde: Any = None) -> None:
        super().__init__(serde=serde)
        self._entries: dict[FullKey, tuple[str, bytes, float | None]] = {}
        self._lock = let_go_by_fork(threading.Lock())

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """The values that are there and whose time isn't up, by key."""
        now = time.time()
        with self._lock:
            for key in keys:
                entry = self._entries.get(key)
                if entry is not None and entry[2] is not None and entry[2] <= now:
                    del self._entries[key]
            found = {key: self._entries[key] for key in keys if key in self._entries}
        return {key: self.decoded(kind, data) for key, (kind, data, _) in found.items()}

    def set(self, keys: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Keep values, each for so many seconds, or, with None, for ever."""
        now = time.time()
        made = {
            key: (*self.encoded(value), None if ttl is None else now + ttl)
            for key, (value, ttl) in keys.items()
        }
        with self._lock:
            self._entries.update(made)

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """`get` for asyncio; it takes no time."""
        return self.get(keys)

    async def aset(self, keys: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """`set` for asyncio; it takes no time."""
        self.set(keys)

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """`clear` for asyncio; it takes no time."""
        self.clear(namespaces)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget what is in these namespaces; everything for None."""
        with self._lock:
            if namespaces is None:
                self._entries.clear()
            else:
                for key in [key for key in self._entries if key[0] in namespaces]:
                    del self._entries[key]
