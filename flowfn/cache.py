"""A cache in this process's memory."""

from __future__ import annotations

import threading
import time


class MemoryCache:
    """Keeps encoded results until their time is up, they are cleared, or the process ends."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[bytes, float | None]] = {}
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
                    del self._entries[key]
            return None
        return data

    def set(self, key: str, value: bytes, ttl: float | None = None) -> None:
        """Keep bytes under `key`, for `ttl` seconds or for ever."""
        with self._lock:
            self._entries[key] = (value, None if ttl is None else time.time() + ttl)

    def clear(self, prefix: str = "") -> None:
        """Forget every entry whose key begins with `prefix`."""
        with self._lock:
            for key in [key for key in self._entries if key.startswith(prefix)]:
                del self._entries[key]


PROCESS = MemoryCache()
"""Where results are kept that a cache policy asks for and no `cache=` names a place for."""
