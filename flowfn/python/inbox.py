"""A queue to which several threads add, each of whom is told in the order of what they added."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from threading import RLock
from typing import TypeVar

T = TypeVar("T")


class Inbox(deque[T]):
    """A deque. Taking from it asks for no lock."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = RLock()  # one that a signal's handler may take as well

    def add(self, items: Iterable[T], added: Callable[[], None]) -> None:
        """`extend`, and call `added` before another thread adds anything this way."""
        with self._lock:
            self.extend(items)
            added()
