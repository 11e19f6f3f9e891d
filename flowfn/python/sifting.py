"""The first few rows of a kind, of a source that gives its first few and doesn't know the kind."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

Row = TypeVar("Row")
Found = TypeVar("Found")


def sifted(
    read: Callable[[int | None], Sequence[Row]], sift: Callable[[Row], Found | None], limit: int | None
) -> list[Found]:
    """Up to `limit` of what `sift` makes of the rows that `read` gives of as many. What it makes None of doesn't count,
    so `read` may be asked for more."""
    asked = limit
    while True:
        rows = read(asked)
        found = [each for row in rows if (each := sift(row)) is not None]
        if limit is None or asked is None or len(found) >= limit or len(rows) < asked:
            return found[:limit]
        asked = min(2 * asked, sys.maxsize)
