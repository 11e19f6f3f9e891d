"""Ids of checkpoints, which sort by the time of their making."""

from __future__ import annotations

import secrets
import threading
import time
import uuid

from flowfn.python.forking import let_go_by_fork

__all__ = ["UUID", "uuid6"]

_EPOCH = 0x01B21DD213814000
"""100-nanosecond intervals from 1582, where UUIDs count from, to 1970."""

_lock = let_go_by_fork(threading.Lock())
_last = 0


class UUID(uuid.UUID):
    """A UUID of version 6: its text sorts by its time."""

    @property
    def subsec(self) -> int:
        """The 100-nanosecond intervals of its second."""
        return self.time % 10_000_000

    @property
    def time(self) -> int:
        """The 100-nanosecond intervals since 1582 of its making."""
        return (self.time_low << 28) | (self.time_mid << 12) | (self.time_hi_version & 0xFFF)


def uuid6(node: int | None = None, clock_seq: int | None = None) -> UUID:
    """A new UUID of version 6, later than those that this process made before.

    `node` (48 bits) and `clock_seq` (14 bits) are random unless given.
    """
    global _last
    with _lock:
        _last = stamp = max(time.time_ns() // 100 + _EPOCH, _last + 1)
    node = secrets.randbits(48) if node is None else node
    clock_seq = secrets.randbits(14) if clock_seq is None else clock_seq
    high = (stamp >> 12 << 16) | 6 << 12 | stamp & 0xFFF
    low = 0b10 << 62 | (clock_seq & 0x3FFF) << 48 | node & (1 << 48) - 1
    return UUID(int=high << 64 | low)
