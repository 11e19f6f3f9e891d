"""How the bytes of values are kept in a file, and read.

Rule: a row of `value` is never changed, and its key never stands for another one, so that what was read of it once
stays right. What changed in a value is often what another channel was just given: a row is deflated with the bytes of
another one, `beside` it, where that makes it shorter. 0 stands for none.
"""

from __future__ import annotations

import sqlite3
import zlib
from typing import NamedTuple

from flowfn.errors import SerializationError
from flowfn.recent import Recent

Cursor = sqlite3.Cursor

Parts = tuple[bytes, tuple[bytes, ...]]
"""What a value begins as, and the deltas to it, the oldest first."""

_SHORT, _LONG = 96, 4096
"""Bytes of what is deflated: shorter gains nothing, and longer takes more time than writing it."""
_WINDOW, _MEMORY = -13, 5
"""For zlib: a window that holds both rows, and tables that are cleared in microseconds."""

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


class Other(NamedTuple):
    """A row that others may be kept beside: it stands beside none itself."""

    key: int
    data: bytes


NOTHING = Other(0, b"")


def other_among(db: Cursor, span: tuple[int, int]) -> Other:
    """The longest row of a span that others can be kept beside."""
    found = [Other(key, _plain(data, beside)) for key, data, beside in db.execute(_WHOLE, span)]
    fitting = [one for one in found if _SHORT <= len(one.data) <= _LONG]
    return max(fitting, key=lambda one: len(one.data), default=NOTHING)


def is_packed(data: bytes) -> bool:
    """Whether bytes are of a length that is deflated."""
    return _SHORT <= len(data) <= _LONG


def packed(data: bytes, other: Other) -> tuple[bytes, int | None]:
    """The bytes to keep, and the row that they stand beside."""
    if not is_packed(data):
        return data, None
    best = _deflated(data, other.data)
    key = other.key
    if key and 2 * len(best) > len(data) and len(alone := _deflated(data, b"")) <= len(best):
        best, key = alone, 0
    return (best, key) if len(best) < len(data) else (data, None)


def _deflated(data: bytes, other: bytes) -> bytes:
    given = (other,) if other else ()
    deflating = zlib.compressobj(1, zlib.DEFLATED, _WINDOW, _MEMORY, zlib.Z_DEFAULT_STRATEGY, *given)
    return deflating.compress(data) + deflating.flush()


def _plain(data: bytes, beside: int | None, other: bytes = b"") -> bytes:
    """The bytes that were kept."""
    if beside is None:
        return data
    inflating = zlib.decompressobj(_WINDOW, other) if other else zlib.decompressobj(_WINDOW)
    try:
        plain = inflating.decompress(data, _LONG + 1)
    except zlib.error as error:
        raise _damaged(str(error)) from None
    if not inflating.eof or len(plain) > _LONG:
        raise _damaged("it doesn't end where it should")
    return plain


def _damaged(why: str) -> SerializationError:
    return SerializationError(
        f"a stored value is damaged ({why}): rows of the database are missing or were changed"
    )


class Values:
    """Reads values, and remembers the last ones, so that one which grows is read from where it was last seen.

    Only what is committed may be read with it: the key of what is undone is given out again.
    """

    def __init__(self) -> None:
        self._recent: Recent[int, tuple[bytes, Parts]] = Recent(most=128, size=1 << 24)

    def read(self, db: Cursor, key: int) -> Parts:
        """What a value begins as, and the deltas to it."""
        data, onto, *beside = db.execute(_ROW, (key,)).fetchone()
        last = _beside(data, *beside)
        if onto is None:
            return last, ()
        parts = self._known(key, last) or self._read(db, key)
        self._recent.keep(key, (last, parts), len(parts[0]) + sum(map(len, parts[1])))
        return parts

    def _read(self, db: Cursor, key: int) -> Parts:
        """The parts of a value, the last first, down to one that is known."""
        parts: list[bytes] = []
        for at, *row in db.execute(_CHAIN, (key,)):
            part = _beside(*row)
            if (known := self._known(at, part)) is not None:
                self._recent.drop(at)  # few go on from it again
                return known[0], (*known[1], *reversed(parts))
            parts.append(part)
        return parts.pop(), tuple(reversed(parts))

    def _known(self, key: int, last: bytes) -> Parts | None:
        """The parts of a value that was read before; its last one is at hand, and so is looked at."""
        found = self._recent.get(key)
        return found[1] if found is not None and found[0] == last else None


def _beside(data: bytes, beside: int | None, other: bytes | None, others: int | None) -> bytes:
    """The bytes of a row, which may stand beside another."""
    if not beside:
        return _plain(data, beside)
    if other is None:
        raise _damaged("the one beside it is missing")
    return _plain(data, beside, _plain(other, others))
