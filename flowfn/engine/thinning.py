"""Which values of a checkpoint are stored whole, and which as what changed in them.

Rule: storage grows with what changed, not with what exists (G6), and reading stays bounded: a value is stored
as a delta to the one that its parent checkpoint has, until the parts that it is read from would cost more than
twice what the whole does. What is compared is what is stored, so a value that was changed in place is no trap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from flowfn import delta
from flowfn.ports import CheckpointRow, Versioned

_SMALL = 128
"""Bytes under which a value is stored whole: what a delta needs around it is as much."""
_PART = 256
"""What finding one more part costs, in bytes read."""


class _Stored(NamedTuple):
    """A value as it is stored: its bytes, and what reading it costs."""

    data: bytes
    cost: int


class _Place(NamedTuple):
    """The last checkpoint of a namespace, and its values that are worth a delta."""

    checkpoint: str
    values: dict[str, _Stored]


class Thinning:
    """What one run knows of the values that are stored, by namespace."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}

    def opened(self, row: CheckpointRow) -> CheckpointRow:
        """A loaded checkpoint with its values whole; what follows it may be stored as deltas to them."""
        wholes = _wholes(row.values)
        self._places[row.namespace] = _Place(
            row.id,
            {
                name: _Stored(data, _cost(row.values[name]))
                for name, data in wholes.items()
                if data is not None and len(data) >= _SMALL
            },
        )
        return replace(
            row, values={name: Versioned(held.version, wholes[name]) for name, held in row.values.items()}
        )

    def thinned(self, row: CheckpointRow) -> CheckpointRow:
        """A checkpoint about to be stored, with deltas for the values that changed little since its parent."""
        stored = self._values_of(row.namespace, row.parent)
        for name in stored.keys() - row.versions.keys():
            del stored[name]
        thin = {}
        for name, held in row.values.items():
            data, old = held.value, stored.pop(name, None)
            if data is None or len(data) < _SMALL:
                continue
            change = None if old is None else delta.make(old.data, data)
            cost = 0 if old is None or change is None else old.cost + _PART + len(change)
            if change is not None and cost <= 2 * len(data):
                thin[name] = Versioned(held.version, None, (change,))
            else:
                cost = len(data)
            stored[name] = _Stored(data, cost)
        self._places[row.namespace] = _Place(row.id, stored)
        return replace(row, values={**row.values, **thin}) if thin else row

    def forget(self) -> None:
        """It isn't known what is stored: what comes next is stored whole."""
        self._places.clear()

    def _values_of(self, namespace: str, checkpoint: str | None) -> dict[str, _Stored]:
        """The known values of a checkpoint; none if it isn't the last of its namespace."""
        place = self._places.get(namespace)
        return place.values if place is not None and place.checkpoint == checkpoint else {}


def _wholes(values: Mapping[str, Versioned]) -> dict[str, bytes | None]:
    """The values of channels; what two of them share is put together once."""
    made: dict[Any, bytes | None] = {}
    wholes = {}
    for name, held in values.items():
        parts = held[1:]
        if held.deltas and parts not in made:
            made[parts] = held.whole()
        wholes[name] = made[parts] if held.deltas else held.value
    return wholes


def _cost(held: Versioned) -> int:
    return len(held.value or b"") + sum(_PART + len(change) for change in held.deltas)
