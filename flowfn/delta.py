"""What changed between two encoded values, as bytes: a list or dict that grew costs its new part.

Rule: bytes are compared, never objects, so that a value which was changed in place is stored as it is now,
and it doesn't matter how deep inside it the change lies. A delta is a msgpack array: the lengths of the old
value and of the new one, then edits in order, each `at, cut, insert`: replace `cut` bytes at `at` of the
new value as far as it is made.

`make` gives up early rather than search long: what looks altogether different is stored whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import ormsgpack

from flowfn.errors import SerializationError

_ANCHOR = 32
"""Bytes that must agree for two places to be taken for the same."""
_WINDOW = 1 << 16
"""How far away the same place is looked for: what was put in or taken out is at most as large."""
_SKIPS = (0, 1, 2, 3, 4, 5, 8, 16, 32, 64, 256, 1024, 4096)
"""How many bytes may have been replaced: a container's header has up to 5, a text any number."""
_COUNTS = (1, 2, 3, 4)
"""How many bytes of a container's count change at most, where it takes as many as before: looked at first, since a list
that grows begins so, and no search has to fail before."""
_EDITS = 16


def make(old: bytes, new: bytes) -> bytes | None:
    """The delta that turns `old` into `new`; None where it would save less than half of `new`."""
    start = _same(old, 0, len(old), new, 0, len(new))
    end = _same_before(old, new, min(len(old), len(new)) - start)
    edits = _edits(old, len(old) - end, new, len(new) - end, start, len(new) // 2)
    return None if edits is None else ormsgpack.packb([len(old), len(new), *edits])


def _edits(old: bytes, old_end: int, new: bytes, new_end: int, start: int, room: int) -> list[Any] | None:
    """The edits that turn one stretch into another, both from `start` on; None if they put in more than `room`.

    Nothing is cut out to be looked at: of a long conversation that would cost more than all the looking.
    """
    edits: list[Any] = []
    here = there = start
    while here < old_end or there < new_end:
        enough = len(edits) < 3 * _EDITS
        after, then = _realigned(old, here, old_end, new, there, new_end) if enough else (old_end, new_end)
        room -= then - there
        if room < 0:
            return None
        edits += (there, after - here, new[there:then])
        same = _same(old, after, old_end, new, then, new_end)
        here, there = after + same, then + same
    return edits


def applied(value: bytes, deltas: Iterable[bytes]) -> bytes:
    """The value after deltas, the oldest first.

    Raises:
        SerializationError: a delta isn't one, or was made for another value.
    """
    made: bytes | bytearray = value
    for delta in deltas:
        try:
            old, new, *edits = ormsgpack.unpackb(delta)
            fits = len(made) == old
            # One copy where there is one delta; what many change is changed in place.
            made = _joined(value, edits) if made is value else _changed(made, edits)
        except (TypeError, ValueError) as error:
            raise SerializationError(f"a stored change of a value is damaged: {error}") from None
        if not fits or len(made) != new:
            raise SerializationError(
                f"a stored change is of a value of {old} bytes, and comes after one of {len(value)}: rows of the "
                "database are missing or were changed"
            )
    return bytes(made)


def _joined(value: bytes, edits: list[Any]) -> bytes:
    """A value after edits, of its own stretches and of theirs."""
    pieces: list[bytes | memoryview] = []
    rest, made = memoryview(value), 0
    for at, cut, insert in _triples(edits):
        if at < made or cut < 0:
            raise ValueError("its edits are in no order")
        pieces += rest[: at - made], insert
        rest = rest[at - made + cut :]
        made = at + len(insert)
    return b"".join([*pieces, rest])


def _changed(value: bytes | bytearray, edits: list[Any]) -> bytearray:
    """A value after edits, made one by one; a bytearray is changed in place."""
    made = value if isinstance(value, bytearray) else bytearray(value)
    for at, cut, insert in _triples(edits):
        made[at : at + cut] = insert
    return made


def _triples(edits: list[Any]) -> Iterator[tuple[int, int, bytes]]:
    """Edits, each as where it is, what it cuts, and what it puts in."""
    rest = iter(edits)
    return zip(rest, rest, rest, strict=True)


def _same(old: bytes, here: int, old_end: int, new: bytes, there: int, new_end: int) -> int:
    """How many bytes are the same from two places on, before both ends."""
    most = min(old_end - here, new_end - there)
    view = memoryview(old)[here : here + most]
    if new.startswith(view, there):
        return most
    same, step = 0, _ANCHOR
    while new.startswith(view[same : same + step], there + same):
        same += step
        step *= 2
    while step := step // 2:
        if new.startswith(view[same : same + step], there + same):
            same += step
    return same


def _same_before(old: bytes, new: bytes, most: int) -> int:
    """How many bytes are the same before both ends, up to `most`."""
    view = memoryview(old)[len(old) - most :]
    if new.endswith(view):
        return most
    same, step = 0, _ANCHOR
    while new.endswith(view[max(0, most - same - step) : most - same], 0, len(new) - same):
        same += step
        step *= 2
    while step := step // 2:
        if new.endswith(view[max(0, most - same - step) : most - same], 0, len(new) - same):
            same += step
    return same


def _realigned(old: bytes, here: int, old_end: int, new: bytes, there: int, new_end: int) -> tuple[int, int]:
    """The next places that agree, one of which is near; the ends where there are none."""
    if here == old_end or there == new_end:
        return old_end, new_end
    for skip in _COUNTS:
        anchor = old[here + skip : min(here + skip + _ANCHOR, old_end)]
        if len(anchor) == _ANCHOR and new.startswith(anchor, there + skip, new_end):
            return here + skip, there + skip
    for skip in _SKIPS:
        anchor = old[here + skip : min(here + skip + _ANCHOR, old_end)]
        near = min(there + _WINDOW, new_end)
        if len(anchor) == _ANCHOR and (found := new.find(anchor, there, near)) >= 0:
            return here + skip, found
        anchor = new[there + skip : min(there + skip + _ANCHOR, new_end)]
        near = min(here + _WINDOW, old_end)
        if len(anchor) == _ANCHOR and (found := old.find(anchor, here, near)) >= 0:
            return found, there + skip
    return old_end, new_end
