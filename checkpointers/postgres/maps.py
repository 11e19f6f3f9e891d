"""What the holder of a lease knows of the checkpoints that it put or read last, and the maps it makes of them.

Rule: a checkpoint that shares nothing, or whose parent is known, has its map made here, and so is put by one statement
that reads nothing. Nobody else forgets the parent, or puts values in its place, as long as the lease lasts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from checkpointers.packing import NOTHING, Other, is_packed, packed
from checkpointers.postgres.forms import ROOM, Places, own_word, shared_word, spelled
from checkpointers.rules import nothing_to_change
from flowfn.ports import CheckpointRow, Lease, Versioned
from flowfn.python.recent import Recent

_NONE: Mapping[bytes, int] = {}


class Last(NamedTuple):
    """A checkpoint that was put, or read, under the lease of a token, and what values may be kept beside.

    `places` are None where only its key is known; `small` are values of it that others may share, by their bytes.
    """

    token: int
    id: str
    key: int
    places: Places | None
    other: Other = NOTHING
    small: Mapping[bytes, int] = _NONE


class Heads:
    """Of each namespace the checkpoint that was last put, read or written under.

    It is known to who did that, as long as the lease lasts: under that nobody else forgets it.
    """

    def __init__(self) -> None:
        self.last: Recent[tuple[str, str], Last] = Recent(most=1024, size=1 << 24)

    def find(self, lease: Lease | None, namespace: str, id: str | None) -> Last | None:
        """The checkpoint of an id, if it is the last one and the lease is still the same."""
        found = None if lease is None else self.last.get((lease.thread, namespace))
        if found is None or lease is None or found[:2] != (lease.token, id):
            return None
        return found

    def keep(self, thread: str, namespace: str, last: Last) -> None:
        """A checkpoint is there."""
        size = len(last.other.data) + _PLACE_SIZE * len(last.places or ())
        self.last.keep((thread, namespace), last, size)


_SMALL = 8
"""Bytes of a value that isn't kept again where the parent holds it as well: what triggers nodes is mostly None."""

_ALONE = 96
"""Bytes from which on a value is deflated by itself: a commit takes ten times as long in any case."""

_PLACE_SIZE = 200
"""Bytes that a place takes in memory, about."""


def shares_nothing(row: CheckpointRow) -> bool:
    """Whether a checkpoint is put with all its values, whole."""
    return all((put := row.values.get(channel)) is not None and not put.deltas for channel in row.versions)


class Value(NamedTuple):
    """The row of a value: what it changes, what it is beside, and its bytes."""

    onto: int | None
    beside: int | None
    data: bytes


class Made(NamedTuple):
    """The map of a checkpoint that is put, as words; and the values to add to it, the first one of number `first`.

    `own` has the numbers of its values by channel, `shared` the places of others; others may stand beside `longest`.
    `small` are those of its parent's that it shares.
    """

    words: str
    first: int
    values: Sequence[Value]
    own: dict[str, int]
    shared: Places
    longest: tuple[int, bytes] | None
    small: Mapping[bytes, int]


def mapped(
    row: CheckpointRow,
    base: Places,
    other: Other = NOTHING,
    small: Mapping[bytes, int] = _NONE,
    first: int = 0,
) -> Made:
    """The map of a checkpoint that shares with its base what it isn't put with."""
    values: dict[Value, int] = {}
    own: dict[str, int] = {}
    shared: Places = {}
    fitting: list[tuple[int, int, bytes]] = []
    still: dict[bytes, int] = {}
    words = []
    for channel, version in row.versions.items():
        put = row.values.get(channel)
        old, at = base.get(channel, (None, None))
        if put is not None and put.value is not None and put.value in small:
            still[put.value] = small[put.value]
            shared[channel] = version, small[put.value]
            words.append(shared_word(*shared[channel]))
            continue
        data, beside = _bytes_of(put, other)
        if data is None:
            shared[channel] = version, at if put is None and old == version else None
            words.append(shared_word(*shared[channel]))
            continue
        if put is not None and put.deltas and at is None:
            raise nothing_to_change(row, channel)
        value = Value(at if put is not None and put.deltas else None, beside, data)
        nth = values.setdefault(value, first + len(values))
        own[channel] = nth
        words.append(own_word(version, nth))
        if put is not None and put.value is not None and not beside and is_packed(put.value):
            fitting.append((len(put.value), nth, put.value))
    longest = max(fitting)[1:] if fitting else None
    return Made(spelled(words), first, list(values), own, shared, longest, still)


def keep(heads: Heads, lease: Lease, row: CheckpointRow, made: Made, key: int) -> None:
    """A checkpoint was put under a key."""
    number = key * ROOM
    places = {**made.shared, **{name: (row.versions[name], number + nth) for name, nth in made.own.items()}}
    other = NOTHING if made.longest is None else Other(number + made.longest[0], made.longest[1])
    small = {
        value.data: number + nth
        for nth, value in enumerate(made.values, made.first)
        if value.onto is None and len(value.data) <= _SMALL
    }
    last = Last(lease.token, row.id, key, places, other, {**made.small, **small})
    heads.keep(lease.thread, row.namespace, last)


def _bytes_of(put: Versioned | None, other: Other) -> tuple[bytes | None, int | None]:
    """The bytes to keep of what a channel was given, if it was, and what they are beside."""
    data = None if put is None else put.deltas[0] if put.deltas else put.value
    return (None, None) if data is None else packed(data, other, _ALONE)
