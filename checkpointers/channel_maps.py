"""Where the value of each channel of a checkpoint is: a map, stored whole or by what differs from an earlier one.

A checkpoint's map has a place for every channel, and few of them change from one to the next. So a map is
stored as its difference from that of an earlier checkpoint, its base, whose own is whole: a checkpoint costs
what changed since its base, and is read with one more. When a quarter of the map differs, it is stored whole
and becomes the base of those that follow.

A place is `[version, key of value]`, or `[version]` where the channel is empty; None in a difference says that
the channel is gone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from checkpointers.rules import nothing_to_change
from flowfn.ports import CheckpointRow

Place = list[int]
Places = Mapping[str, Place]

SMALL = 16
"""Channels that a difference may have whatever the size of its base."""


class Base(NamedTuple):
    """A whole map, and the versions in it."""

    key: int
    places: Places
    versions: Mapping[str, int]


class ChannelMap(NamedTuple):
    """The map of a checkpoint: `changes` on top of `base`; without one they are the whole map."""

    changes: Mapping[str, Place | None]
    base: Base | None = None

    def get(self, channel: str) -> Place | None:
        """The place of a channel; None if it has none."""
        if channel in self.changes:
            return self.changes[channel]
        return None if self.base is None else self.base.places.get(channel)

    def whole(self) -> dict[str, Place]:
        """The place of every channel."""
        base = {} if self.base is None else self.base.places
        return {channel: place for channel, place in {**base, **self.changes}.items() if place is not None}

    def as_text(self) -> tuple[str, int | None]:
        """What to store: the changes, and the key of the base."""
        return json.dumps(self.changes, separators=(",", ":")), None if self.base is None else self.base.key


EMPTY = ChannelMap({})


class Bases:
    """The whole maps that a process has read, so that each is worked out once; the last few.

    A key may come to stand for another checkpoint: one is known by its text.
    """

    SIZE = 64

    def __init__(self) -> None:
        self._known: dict[int, tuple[str, Base]] = {}

    def read(self, key: int, text: str) -> Base:
        """The whole map that a checkpoint is stored with."""
        found = self._known.get(key)
        if found is not None and found[0] == text:
            return found[1]
        places: Places = json.loads(text)
        base = Base(key, places, {channel: place[0] for channel, place in places.items()})
        self._known[key] = (text, base)
        while len(self._known) > self.SIZE:
            self._known.pop(next(iter(self._known)), None)
        return base


Store = Callable[[bytes, int | None], int]
"""Keeps a value, or with a key the delta to the value of that key; returns the key."""


def after(parent: ChannelMap, row: CheckpointRow, store: Store) -> ChannelMap:
    """The map of a checkpoint, which shares with its parent what `row.values` doesn't name.

    Raises:
        SaverError: a value is put as a delta, and the parent has none.
    """
    base = parent.base
    if base is None:
        places = {name: _place(name, at, row, parent, store) for name, at in row.versions.items()}
        return ChannelMap(places)
    touched = row.values.keys() | parent.changes.keys()
    changes: dict[str, Place | None] = {
        name: _place(name, row.versions[name], row, parent, store)
        for name in sorted(touched)
        if name in row.versions
    }
    if not base.versions.keys() <= row.versions.keys():
        changes |= dict.fromkeys(base.versions.keys() - row.versions.keys())
    made = ChannelMap(changes, base)
    return made if 4 * len(changes) <= len(base.places) + SMALL else ChannelMap(made.whole())


def _place(name: str, version: int, row: CheckpointRow, parent: ChannelMap, store: Store) -> Place:
    put = row.values.get(name)
    if put is None:
        old = parent.get(name)
        return old if old is not None and old[0] == version else [version]
    if put.deltas:
        old = parent.get(name)
        if old is None or len(old) < 2:
            raise nothing_to_change(row, name)
        return [version, store(put.deltas[0], old[1])]
    return [version] if put.value is None else [version, store(put.value, None)]
