"""What checkpoints are known to hold, so that sealing the next one reads nothing."""

from __future__ import annotations

import threading
from collections import OrderedDict

from checkpointers.encrypted.places import Tags
from flowfn.python.forking import each_after_fork

_REMEMBERED = 1024

Spot = tuple[str, str, str]
"""Where a checkpoint is: its thread, its namespace and its id."""


class Known:
    """The tags of the checkpoints that were sealed or opened last."""

    def __init__(self) -> None:
        self._tags: OrderedDict[Spot, Tags] = OrderedDict()
        self._renew_lock()
        _renewed_after_fork(self)

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()

    def get(self, spot: Spot) -> Tags | None:
        """What a checkpoint holds."""
        with self._lock:
            return self._tags.get(spot)

    def keep(self, spot: Spot, tags: Tags) -> None:
        """A checkpoint was sealed or opened."""
        with self._lock:
            self._tags[spot] = tags
            self._tags.move_to_end(spot)
            if len(self._tags) > _REMEMBERED:
                self._tags.popitem(last=False)

    def forget(self, thread: str) -> None:
        """A thread's checkpoints were forgotten."""
        with self._lock:
            for spot in [spot for spot in self._tags if spot[0] == thread]:
                del self._tags[spot]


_renewed_after_fork = each_after_fork(Known._renew_lock)
