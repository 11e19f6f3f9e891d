"""How the bytes of a value are kept in a database: as they are, deflated, or deflated beside another's.

Rule: what changed in a value is often what another channel was just given: a value that has a stretch of another one in
it is deflated with that one's bytes, which is most of what deflating is for. How long any other has to be is for the
database to say, whose bytes and microseconds have a price of their own. `beside` says how a row is kept: None, as it
is; 0, deflated alone; else the key of the row that it was deflated with.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from flowfn.errors import SerializationError

_SHORT, LONG = 96, 4096
"""Bytes of what is deflated: shorter gains nothing, and longer takes more time than writing it."""
_STRETCH = 32
"""Bytes that two values have in common only if one holds what the other does, mostly."""
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


def packed(data: bytes, other: Other, alone: int) -> tuple[bytes, int | None]:
    """The bytes to keep, and the row that they stand beside; deflated `alone` are those of this length and more."""
    if not is_packed(data):
        return data, None
    if other.key and _holds_some_of(data, other.data):
        key, deflated = other.key, _deflated(data, other.data)
    elif len(data) >= alone:
        key, deflated = 0, _deflated(data, b"")
    else:
        return data, None
    return (deflated, key) if len(deflated) < len(data) else (data, None)


def _holds_some_of(data: bytes, other: bytes) -> bool:
    """Whether one of three stretches of the other bytes, from all over them, is in some bytes."""
    part = max(0, len(other) - _STRETCH) // 4
    return any(other[at : at + _STRETCH] in data for at in (part, 2 * part, 3 * part))


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
