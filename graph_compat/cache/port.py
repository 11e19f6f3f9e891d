"""A cache of LangGraph's shape as the engine's: bytes by key.

Rule: what the engine calls `NAME:DIGEST` is the key DIGEST in the namespace `(NAME,)`. Of methods that have asyncio
twins of their own the twins are called where an event loop runs, on that loop, as of a saver's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flowfn.errors import CacheError
from flowfn.ports import Cache

if TYPE_CHECKING:
    from checkpointers.foreign.methods import Methods


class CachePort:
    """The engine's side of a cache that has LangGraph's methods, whoever wrote it."""

    def __init__(self, cache: Any) -> None:
        self.cache = cache
        self.inline: frozenset[str] = getattr(cache, "inline", frozenset())
        self._methods = _methods_of(cache)

    def note_loop(self) -> None:
        """Have asyncio methods run on the loop that runs here, if one does."""
        if self._methods is not None:
            self._methods.note_loop()

    def get(self, key: str) -> bytes | None:
        """The bytes kept under a key, or None."""
        full = _parted(key)
        found: dict[Any, bytes] = self._asked("get", [full])
        return found.get(full)

    def set(self, key: str, value: bytes, ttl: float | None = None) -> None:
        """Keep bytes, for so many seconds, or for ever."""
        if ttl is not None and ttl == int(ttl):  # servers of caches take whole seconds
            ttl = int(ttl)
        self._asked("set", {_parted(key): (value, ttl)})

    def clear(self, prefix: str = "") -> None:
        """Forget what is kept for the name that `prefix` ends in a colon after; everything for none."""
        self._asked("clear", [(prefix.removesuffix(":"),)] if prefix else None)

    def clear_names(self, names: Sequence[str]) -> None:
        """Forget what is kept for these names, which the cache is asked for at once."""
        self._asked("clear", [(name,) for name in names])

    def _asked(self, method: str, argument: Any) -> Any:
        try:
            if self._methods is not None:
                return self._methods.call(method, argument)
            return getattr(self.cache, method)(argument)
        except Exception as error:
            cause = error if self._methods is None else error.__cause__ or error
            raise CacheError(f"{type(self.cache).__name__}.{method}: {cause!r}") from cause


def _methods_of(cache: Any) -> Methods | None:
    """The methods of a cache whose asyncio methods are more than the blocking ones on a thread."""
    from graph_compat.cache.base import BaseCache

    if type(cache).aget is BaseCache.aget:
        return None
    from checkpointers.foreign.methods import Methods

    return Methods(cache)


def port_of(cache: Any) -> Cache | Any:
    """What the engine asks: of a cache with LangGraph's methods a port, else the cache itself."""
    return CachePort(cache) if hasattr(cache, "aget") else cache


def clear_names(cache: Cache | CachePort, names: Sequence[str]) -> None:
    """Have a cache, as `port_of` gives it, forget what it keeps for these names."""
    if isinstance(cache, CachePort):
        cache.clear_names(names)
    else:
        for name in names:
            cache.clear(f"{name}:")


def _parted(key: str) -> tuple[tuple[str], str]:
    name, _, digest = key.rpartition(":")
    return (name,), digest
