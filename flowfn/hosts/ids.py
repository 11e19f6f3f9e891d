"""Ids of threads and checkpoints: UUIDs of version 7 (RFC 9562), which sort by the time of their making.

They only name. What came first is told by the order of commits, never by an id: clocks go backwards. But savers that
others wrote sort by them, so that in one process a later one is the greater.

They are made here, as the standard library has none before Python 3.14, and a library for them is a compiled megabyte
beside the twenty of a whole installation.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import urandom
from time import time_ns

from flowfn.python.forking import after_fork

_STORE = 256
"""Random parts that are made at once: each by itself would take longer than all the rest of an id."""

_TICKS = 12
"""Bits of a time that tell parts of a millisecond, as the RFC's method 3 has it."""

_last = 0
_chances: Iterator[str] = iter(())


def new_id() -> str:
    """A fresh UUID of version 7, as text."""
    global _last
    now = (time_ns() << _TICKS) // 1_000_000
    _last = now = now if now > _last else _last + 1
    time = f"{now:015x}"
    return f"{time[:8]}-{time[8:12]}-7{time[12:]}-{next(_chances, None) or _more()}"


def _more() -> str:
    """Fill the store of random parts, and take one."""
    global _chances
    digits = urandom(8 * _STORE).hex()
    made = [digits[start : start + 16] for start in range(0, len(digits), 16)]
    first, *others = [f"{'89ab'[int(part[0], 16) % 4]}{part[1:4]}-{part[4:]}" for part in made]
    _chances = iter(others)
    return first


def _forget() -> None:
    global _chances
    _chances = iter(())


after_fork(_forget)  # or a child would give the random parts that its parent gives
