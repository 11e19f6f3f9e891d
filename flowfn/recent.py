"""The last few things that a process worked out, so that it needn't again.

Rule: whoever asks checks that what was kept is still right. It takes no lock: of two threads that keep something at
once one may go unremembered, and nothing else happens.
"""

from __future__ import annotations

from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Up to `most` things of up to `size` bytes in all; the ones that were kept longest ago go first."""

    def __init__(self, most: int, size: int) -> None:
        self._most = most
        self._size = size
        self._kept: dict[Key, tuple[Value, int]] = {}

    def get(self, key: Key) -> Value | None:
        """What was kept under a key, or None."""
        found = self._kept.get(key)
        return None if found is None else found[0]

    def keep(self, key: Key, value: Value, size: int) -> None:
        """Keep a value of so many bytes in place of the one before."""
        self.drop(key)
        self._kept[key] = value, size
        sizes = {key: size for key, (_, size) in list(self._kept.items())}
        total = sum(sizes.values())
        for oldest, size in sizes.items():
            if len(self._kept) <= self._most and total <= self._size:
                break
            self.drop(oldest)
            total -= size

    def drop(self, key: Key) -> None:
        """Forget what was kept under a key, if anything."""
        self._kept.pop(key, None)
