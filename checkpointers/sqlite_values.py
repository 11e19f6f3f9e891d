"""How values are read from a file.

Rule: a row of `value` is never changed, and its key never stands for another one, so that what was read of it once
stays right. Its bytes are as `packing` made them.
"""

from __future__ import annotations

import sqlite3

from checkpointers.packing import NOTHING, Other, is_packed, unpacked
from flowfn.recent import Recent

Cursor = sqlite3.Cursor

Parts = tuple[bytes, tuple[bytes, ...]]
"""What a value begins as, and the deltas to it, the oldest first."""

_ROW = """
    SELECT value.data, value.onto, value.beside, other.data, other.beside
    FROM value LEFT JOIN value AS other ON other.key = value.beside WHERE value.key = ?"""

_CHAIN = """
    WITH RECURSIVE part (key, data, onto, beside) AS (
        SELECT key, data, onto, beside FROM value WHERE key = ?
        UNION ALL SELECT value.key, value.data, value.onto, value.beside
        FROM part JOIN value ON value.key = part.onto)
    SELECT part.key, part.data, part.beside, other.data, other.beside
    FROM part LEFT JOIN value AS other ON other.key = part.beside"""

_WHOLE = """
    SELECT key, data, beside FROM value
    WHERE key BETWEEN ? AND ? AND onto IS NULL AND coalesce(beside, 0) = 0 LIMIT 4"""


def other_among(db: Cursor, span: tuple[int, int]) -> Other:
    """The longest row of a span that others can be kept beside."""
    found = [Other(key, unpacked(data, beside, None, None)) for key, data, beside in db.execute(_WHOLE, span)]
    fitting = [one for one in found if is_packed(one.data)]
    return max(fitting, key=lambda one: len(one.data), default=NOTHING)


class Values:
    """Reads values, and remembers the last ones, so that one which grows is read from where it was last seen.

    Only what is committed may be read with it: the key of what is undone is given out again.
    """

    def __init__(self) -> None:
        self._recent: Recent[int, tuple[bytes, Parts]] = Recent(most=128, size=1 << 24)

    def read(self, db: Cursor, key: int) -> Parts:
        """What a value begins as, and the deltas to it."""
        data, onto, *beside = db.execute(_ROW, (key,)).fetchone()
        last = unpacked(data, *beside)
        if onto is None:
            return last, ()
        parts = self._known(key, last) or self._read(db, key)
        self._recent.keep(key, (last, parts), len(parts[0]) + sum(map(len, parts[1])))
        return parts

    def _read(self, db: Cursor, key: int) -> Parts:
        """The parts of a value, the last first, down to one that is known."""
        parts: list[bytes] = []
        for at, *row in db.execute(_CHAIN, (key,)):
            part = unpacked(*row)
            if (known := self._known(at, part)) is not None:
                self._recent.drop(at)  # few go on from it again
                return known[0], (*known[1], *reversed(parts))
            parts.append(part)
        return parts.pop(), tuple(reversed(parts))

    def _known(self, key: int, last: bytes) -> Parts | None:
        """The parts of a value that was read before; its last one is at hand, and so is looked at."""
        found = self._recent.get(key)
        return found[1] if found is not None and found[0] == last else None
