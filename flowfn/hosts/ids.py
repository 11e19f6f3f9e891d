"""Ids of threads and checkpoints: UUIDs of version 6 (RFC 9562), which sort by the time of their making.

They only name. What came first is told by the order of commits, never by an id: clocks go backwards. But savers that
others wrote sort by them, so that in one process a later one is the greater, and a checkpoint's greater than that of
the one before it, whichever clock that was made by. And what deletes LangGraph's old threads
takes their age from the ids, which are of this version there: from any other it would read a time long ago.

They are made here, as the standard library has none before Python 3.14, and a library for them is a compiled megabyte
beside the twenty of a whole installation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import urandom
from time import time_ns

from flowfn.python.forking import after_fork

_STORE = 256
"""Random parts that are made at once: each by itself would take longer than all the rest of an id."""

_EPOCH = 0x01B21DD213814000
"""Ticks of 100 ns from 1582, where the RFC counts from, to 1970."""

_last = 0
_chances: Iterator[str] = iter(())


def new_id(after: str = "") -> str:
    """A fresh UUID of version 6, as text; a greater one than `after`, if that is one too."""
    global _last
    now = time_ns() // 100 + _EPOCH
    _last = now = now if now > _last else _last + 1
    time = f"{now:015x}"
    made = f"{time[:8]}-{time[8:12]}-6{time[12:]}-{next(_chances, None) or _more()}"
    return made if made > after else _following(after, made)


def _following(before: str, made: str) -> str:
    """An id with the time that follows that of another, which was made by a clock that is ahead of this one."""
    if not _IS_OURS(before):
        return made
    time = f"{int(before[:8] + before[9:13] + before[15:18], 16) + 1:015x}"
    return f"{time[:8]}-{time[8:12]}-6{time[12:]}{made[18:]}"


_IS_OURS = re.compile(r"[0-9a-e][0-9a-f]{7}-[0-9a-f]{4}-6[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch


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
