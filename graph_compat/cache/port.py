"""A cache of LangGraph's shape as the engine's: bytes by key.

Rule: what the engine calls `NAME:DIGEST` is the key DIGEST in the namespace `(NAME,)`.
"""

from __future__ import annotations

from typing import Any

from flowfn.errors import CacheError
from flowfn.ports import Cache


class CachePort:
    """The engine's side of a cache that has LangGraph's methods, whoever wrote it."""

    def __init__(self, cache: Any) -> None:
        self.cache = cache
        self.inline: frozenset[str] = getattr(cache, "inline", frozenset())

    def get(self, key: str) -> bytes | None:
        """The bytes kept under a key, or None."""
        full = _parted(key)
        found: dict[Any, bytes] = self._asked("get", [full])
        return found.get(full)

    def set(self, key: str, value: bytes, ttl: float | None = None) -> None:
        """Keep bytes, for so many seconds, or for ever."""
        self._asked("set", {_parted(key): (value, ttl)})

    def clear(self, prefix: str = "") -> None:
        """Forget what is kept for the name that `prefix` ends in a colon after; everything for none."""
        self._asked("clear", [(prefix.removesuffix(":"),)] if prefix else None)

    def _asked(self, method: str, argument: Any) -> Any:
        try:
            return getattr(self.cache, method)(argument)
        except Exception as error:
            raise CacheError(f"{type(self.cache).__name__}.{method}: {error!r}") from error


def port_of(cache: Any) -> Cache | Any:
    """What the engine asks: of a cache with LangGraph's methods a port, else the cache itself."""
    return CachePort(cache) if hasattr(cache, "aget") else cache


def _parted(key: str) -> tuple[tuple[str], str]:
    name, _, digest = key.rpartition(":")
    return (name,), digest
