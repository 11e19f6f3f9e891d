"""How the bytes of a value are kept in a database: as they are, deflated, or deflated beside another's.

Rule: what changed in a value is often what another channel was just given: a value is deflated with the bytes of
another one, where that makes it shorter. `beside` says how a row is kept: None, as it is; 0, deflated alone; else the
key of the row that it was deflated with.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from flowfn.errors import SerializationError

_SHORT, LONG = 96, 4096
"""Bytes of what is deflated: shorter gains nothing, and longer takes more time than writing it."""
WINDOW, MEMORY = -13, 5
"""For zlib: a window that holds both rows, and tables that are cleared in microseconds."""


class Other(NamedTuple):
    """A row that others may be kept beside: it stands beside none itself."""

    key: int
    data: bytes


NOTHING = Other(0, b"")


def is_packed(data: bytes) -> bool:
    """Whether bytes are of a length that is deflated."""
    return _SHORT <= len(data) <= LONG


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
    deflating = zlib.compressobj(1, zlib.DEFLATED, WINDOW, MEMORY, zlib.Z_DEFAULT_STRATEGY, *given)
    return deflating.compress(data) + deflating.flush()


def _plain(data: bytes, beside: int | None, other: bytes = b"") -> bytes:
    """The bytes that were kept."""
    if beside is None:
        return data
    inflating = zlib.decompressobj(WINDOW, other) if other else zlib.decompressobj(WINDOW)
    try:
        plain = inflating.decompress(data, LONG + 1)
    except zlib.error as error:
        raise _damaged(str(error)) from None
    if not inflating.eof or len(plain) > LONG:
        raise _damaged("it doesn't end where it should")
    return plain


def _damaged(why: str) -> SerializationError:
    return SerializationError(
        f"a stored value is damaged ({why}): rows of the database are missing or were changed"
    )


def unpacked(data: bytes, beside: int | None, other: bytes | None, others: int | None) -> bytes:
    """The bytes of a row, which may stand beside another."""
    if not beside:
        return _plain(data, beside)
    if other is None:
        raise _damaged("the one beside it is missing")
    return _plain(data, beside, _plain(other, others))
