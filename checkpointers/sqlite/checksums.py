"""How a stored row shows that it isn't the one that was written: bit rot, a torn copy, a page in another's place.

Rule: a checksum is of all that a row says, its key included, and who reads a row checks it before anything else. It
guards against accidents; against people, `encrypted` does.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import ormsgpack

from flowfn.sqlite.errors import Damaged

_MIDDLE = 1 << 31

CHANGED = "its bytes have changed since they were written"


def checksum(columns: Sequence[Any]) -> int:
    """What to keep beside the columns of a row: 32 bits with a sign, which SQLite keeps in four bytes."""
    return zlib.crc32(ormsgpack.packb(columns)) - _MIDDLE


def check(columns: Sequence[Any], kept: int | None) -> None:
    """Check the columns of a row that was read.

    Raises:
        Damaged: they aren't what was written.
    """
    if checksum(columns) != kept:
        raise Damaged(CHANGED)
