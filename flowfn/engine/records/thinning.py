"""Which values of a checkpoint are stored whole, and which as what changed in them.

Rule: storage grows with what changed, not with what exists (G6), and reading stays bounded: a value is stored
as a delta to the one that its parent checkpoint has, until the parts that it is read from would cost more than
three times what the whole does. What is compared is what is stored, so a value that was changed in place is no trap.

A process remembers the values that a run has put together or ends on, so that the next one of the thread doesn't put
them together again. They are told by all that they are made of, and never by a name: whoever else wrote, nothing stale
is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flowfn import delta
from flowfn.ports import CheckpointRow, Versioned
from flowfn.python.recent import Recent

Parts = tuple[bytes, tuple[bytes, ...]]
"""What a value is read from: the bytes that it begins as, and the deltas to them, the oldest first."""

_SMALL = 128
"""Bytes under which a value is stored whole: what a delta needs around it is as much."""
_PART = 256
"""What finding one more part costs, in bytes read."""
_PARTS = 3
"""How often as much as the whole the parts of a value may cost to read. With less, a list that grows by 200 bytes at a
time is stored whole now and then, which takes half as much again."""


class _Stored(NamedTuple):
    """A value as it is stored: its bytes, what reading it costs, and what it is read from."""

    data: bytes
    cost: int
    parts: Parts

    def changed(self, data: bytes, *changes: bytes) -> _Stored:
        """What it is after deltas, with the bytes that it has then."""
        value, deltas = self.parts
        cost = self.cost + sum(_PART + len(change) for change in changes)
        return _Stored(data, cost, (value, deltas + changes))


def _whole(data: bytes) -> _Stored:
    """A value that is stored whole."""
    return _Stored(data, len(data), (data, ()))


class _Place(NamedTuple):
    """The last checkpoint of a namespace, and its values that are worth a delta."""

    checkpoint: str
    values: dict[str, _Stored]


_RECENT: Recent[tuple[str, str], Mapping[str, _Stored]] = Recent(most=64, size=1 << 24)
"""By thread and namespace: the values of channels that were put together of parts."""


class Thinning:
    """What one run knows of the values that are stored, by namespace."""

    def __init__(self, thread: str) -> None:
        self._thread = thread
        self._places: dict[str, _Place] = {}

    def opened(self, row: CheckpointRow) -> CheckpointRow:
        """A loaded checkpoint with its values whole; what follows it may be stored as deltas to them."""
        known = _RECENT.get((self._thread, row.namespace)) or {}
        made: dict[tuple[int, int], _Stored] = {}  # what two channels share is put together once
        stored = {}
        for name, (_, value, deltas) in row.values.items():
            if value is not None:
                shared = id(value), id(deltas)
                made[shared] = made.get(shared) or _put_together(value, deltas, known.get(name))
                stored[name] = made[shared]
        self._know(row, {name: one for name, one in stored.items() if len(one.data) >= _SMALL})
        self._remember(row.namespace)
        values = {
            name: Versioned(held.version, stored[name].data if name in stored else None)
            for name, held in row.values.items()
        }
        return row._replace(values=values)

    def thinned(self, row: CheckpointRow) -> CheckpointRow:
        """A checkpoint about to be stored, with deltas for the values that changed little since its parent."""
        stored = self._values_of(row.namespace, row.parent)
        if stored:
            for name in stored.keys() - row.versions.keys():
                del stored[name]
        thin = {}
        made: dict[
            tuple[int, int], tuple[_Stored | None, _Stored]
        ] = {}  # what two channels hold is compared once
        for name, held in row.values.items():
            data, old = held[1], stored.pop(name, None) if stored else None
            if data is None or len(data) < _SMALL:
                continue
            pair = id(old), id(data)
            _, new = made[pair] = made.get(pair) or (old, _after(old, data))
            if new.parts[1]:
                thin[name] = Versioned(held.version, None, new.parts[1][-1:])
            stored[name] = new
        self._know(row, stored)
        return row._replace(values={**row.values, **thin}) if thin else row

    def forget(self) -> None:
        """It isn't known what is stored: what comes next is stored whole."""
        self._places.clear()

    def remember(self) -> None:
        """The run ends: the next one begins with what is stored now."""
        for namespace in [*self._places]:
            self._remember(namespace)

    def _know(self, row: CheckpointRow, values: dict[str, _Stored]) -> None:
        if values:
            self._places[row.namespace] = _Place(row.id, values)
        else:
            self._places.pop(row.namespace, None)

    def _remember(self, namespace: str) -> None:
        place = self._places.get(namespace)
        made = {} if place is None else {name: one for name, one in place.values.items() if one.parts[1]}
        if made:
            size = 2 * sum([len(stored.data) for stored in made.values()])
            _RECENT.keep((self._thread, namespace), made, size)

    def _values_of(self, namespace: str, checkpoint: str | None) -> dict[str, _Stored]:
        """The known values of a checkpoint; none if it isn't the last of its namespace."""
        place = self._places.get(namespace)
        return place.values if place is not None and place.checkpoint == checkpoint else {}


def _after(old: _Stored | None, data: bytes) -> _Stored:
    """How a value is stored after another: as what changed, while reading that doesn't cost too much."""
    change = None if old is None else delta.make(old.data, data)
    if old is not None and change is not None:
        changed = old.changed(data, change)
        if changed.cost <= _PARTS * len(data):
            return changed
    return _whole(data)


def _put_together(value: bytes, deltas: tuple[bytes, ...], known: _Stored | None) -> _Stored:
    """A value that may be a known one, and deltas to it."""
    if known is None or known.parts != (value, deltas[: len(known.parts[1])]):
        known = _whole(value)
    changes = deltas[len(known.parts[1]) :]
    return known.changed(delta.applied(known.data, changes), *changes) if changes else known
