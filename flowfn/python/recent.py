"""The last few things that a process worked out, so that it needn't again.

Rule: whoever asks checks that what was kept is still right. Nobody waits: of two threads that keep something at once
one goes unremembered, and nothing else happens. Only who has all forgotten does, for it has to be.
"""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

from flowfn.python.forking import let_go_by_fork

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Up to `most` things of up to `size` bytes in all; the ones that were kept longest ago go first."""

    def __init__(self, most: int, size: int) -> None:
        self._most = most
        self._size = size
        self._kept: dict[Key, tuple[Value, int]] = {}
        self._sum = 0
        self._lock = let_go_by_fork(threading.Lock())

    def get(self, key: Key) -> Value | None:
        """What was kept under a key, or None."""
        found = self._kept.get(key)
        return None if found is None else found[0]

    def keep(self, key: Key, value: Value, size: int) -> None:
        """Keep a value of so many bytes in place of the one before."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._take_out(key)
            self._kept[key] = value, size
            self._sum += size
            while len(self._kept) > self._most or self._sum > self._size:
                self._take_out(next(iter(self._kept)))
        finally:
            self._lock.release()

    def drop(self, key: Key) -> None:
        """Forget what was kept under a key, if anything."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._take_out(key)
        finally:
            self._lock.release()

    def forget(self) -> None:
        """Forget all that was kept before this is called."""
        with self._lock:
            self._kept.clear()
            self._sum = 0

    def _take_out(self, key: Key) -> None:
        found = self._kept.pop(key, None)
        if found is not None:
            self._sum -= found[1]
