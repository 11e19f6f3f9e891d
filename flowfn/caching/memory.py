"""A cache in this process's memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from flowfn.caching.budgets import bytes_budget, seconds_budget
from flowfn.python.forking import each_after_fork


class MemoryCache:
    """Keeps encoded results until their time is up, they are cleared, or the process ends.

    `max_bytes` bounds what it keeps, and the entry that was kept first goes first; `max_age`, in seconds or as a
    `timedelta`, bounds how long. Without them nothing goes by itself.
    """

    inline = frozenset({"get", "set"})

    def __init__(self, *, max_bytes: int | None = None, max_age: float | timedelta | None = None) -> None:
        self.max_bytes = bytes_budget(max_bytes)
        self.max_age = seconds_budget(max_age)
        self._entries: dict[str, tuple[bytes, float | None]] = {}
        self._size = 0
        self._renew_lock()
        _renewed_after_fork(self)

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        """The bytes kept under `key`, or None."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        data, until = entry
        if until is not None and until <= time.time():
            with self._lock:
                if self._entries.get(key) is entry:
                    self._drop(key)
            return None
        return data

    def set(self, key: str, value: bytes, ttl: float | None = None) -> None:
        """Keep bytes under `key`, for `ttl` seconds or for ever."""
        lasting = min(filter(None, (ttl, self.max_age)), default=None)
        with self._lock:
            if key in self._entries:
                self._drop(key)
            self._entries[key] = (value, None if lasting is None else time.time() + lasting)
            self._size += len(value)
            while self.max_bytes is not None and self._size > self.max_bytes:
                self._drop(next(iter(self._entries)))

    def clear(self, prefix: str = "") -> None:
        """Forget every entry whose key begins with `prefix`."""
        with self._lock:
            for key in [key for key in self._entries if key.startswith(prefix)]:
                self._drop(key)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """The keys that begin with `prefix`, the one that was kept first first."""
        with self._lock:
            found = [key for key in self._entries if key.startswith(prefix)]
        return iter(found)

    def _drop(self, key: str) -> None:
        self._size -= len(self._entries.pop(key)[0])

    def __reduce__(self) -> Any:
        """Another process gets one of its own: memory isn't shared."""
        return _like, (self.max_bytes, self.max_age)


def _like(max_bytes: int | None, max_age: float | None) -> MemoryCache:
    return MemoryCache(max_bytes=max_bytes, max_age=max_age)


_renewed_after_fork = each_after_fork(MemoryCache._renew_lock)

PROCESS = MemoryCache()
"""Where results are kept that a cache policy asks for and nobody names a place for."""
