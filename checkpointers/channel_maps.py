"""Where the value of each channel of a checkpoint is: a map, stored whole or by what differs from an earlier one.

A checkpoint's map has a place for every channel, and few of them change from one to the next. So a map is
stored as its difference from that of an earlier checkpoint, its base, whose own is whole: a checkpoint costs
what changed since its base, and is read with one more. When a difference has become long, the map is stored whole
and becomes the base of those that follow.

A place is `[version, key of value]`, or `[version]` where the channel is empty; None in a difference says that
the channel is gone. Stored, a map is a msgpack array: of each channel its name, or in a difference its number in the
base; its version, or nil where it is gone; how many checkpoints ago its value was put, or nil where it is empty; and
which one of that checkpoint's it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import ormsgpack

from checkpointers.rules import nothing_to_change
from flowfn.ports import CheckpointRow

ROOM = 1 << 32
"""How many values and writes a checkpoint has room for: the distance between the first keys of two."""

Place = list[int]
Places = Mapping[str, Place]

SMALL = 256
"""Bytes that are added to the size of a base: what is whole costs more than its bytes."""


class Base(NamedTuple):
    """A whole map of `size` bytes, the versions in it, and the numbers of its channels."""

    key: int
    places: Places
    versions: Mapping[str, int]
    numbers: Mapping[str, int]
    size: int


class ChannelMap(NamedTuple):
    """The map of a checkpoint: `changes` on top of `base`; without one they are the whole map.

    `put` is how many of the changes are the checkpoint's own.
    """

    changes: Mapping[str, Place | None]
    base: Base | None = None
    put: int = 1

    def get(self, channel: str) -> Place | None:
        """The place of a channel; None if it has none."""
        if channel in self.changes:
            return self.changes[channel]
        return None if self.base is None else self.base.places.get(channel)

    def whole(self) -> dict[str, Place]:
        """The place of every channel."""
        base = {} if self.base is None else self.base.places
        return {channel: place for channel, place in {**base, **self.changes}.items() if place is not None}

    def as_bytes(self, key: int) -> tuple[bytes, int | None]:
        """What to store under a checkpoint's key, and the key of the base; whole, where a difference would be long."""
        if self.base is not None:
            data = self.difference(key)
            if not self._is_long(data, self.base):
                return data, self.base.key
        return _packed(self.whole(), {}, key), None

    def _is_long(self, data: bytes, base: Base) -> bool:
        """Whether the differences since the base are as long together as the base: least is stored in all if the
        map is stored whole then. They have grown evenly, by what each checkpoint put."""
        since = len(self.changes) / max(self.put, 1)
        return len(data) * since / 2 > base.size + SMALL

    def difference(self, key: int) -> bytes:
        """The changes alone, as they are stored under a checkpoint's key."""
        return _packed(self.changes, {} if self.base is None else self.base.numbers, key)


EMPTY = ChannelMap({})


class Bases:
    """The maps that a process has read or written last, so that each is worked out once; the last few.

    A key may come to stand for another checkpoint, where a commit is undone: one is known by its bytes.
    """

    SIZE = 64

    def __init__(self) -> None:
        self._known: dict[int, tuple[bytes, Base]] = {}
        self._maps: dict[int, tuple[bytes, ChannelMap]] = {}

    def keep(self, key: int, data: bytes, made: ChannelMap) -> None:
        """A map was stored under a key: what follows it is made of it."""
        self._maps[key] = (data, made)
        while len(self._maps) > self.SIZE:
            self._maps.pop(next(iter(self._maps)), None)

    def map(self, key: int, data: bytes, base: int, whole: bytes) -> ChannelMap:
        """The map of a checkpoint that is stored as its difference from a base."""
        found = self._maps.get(key)
        if found is not None and found[0] == data and found[1].base is self.read(base, whole):
            return found[1]
        return read(key, data, self.read(base, whole))

    def read(self, key: int, data: bytes) -> Base:
        """The whole map that a checkpoint is stored with."""
        found = self._known.get(key)
        if found is not None and found[0] == data:
            return found[1]
        places: Any = dict(_unpacked(data, (), key))
        versions = {channel: place[0] for channel, place in places.items()}
        base = Base(key, places, versions, {name: n for n, name in enumerate(places)}, len(data))
        self._known[key] = (data, base)
        while len(self._known) > self.SIZE:
            self._known.pop(next(iter(self._known)), None)
        return base


def read(key: int, data: bytes, base: Base | None) -> ChannelMap:
    """The map of a checkpoint, as it was stored under its key."""
    return ChannelMap(dict(_unpacked(data, () if base is None else tuple(base.places), key)), base)


def _packed(changes: Mapping[str, Place | None], numbers: Mapping[str, int], key: int) -> bytes:
    packed: list[Any] = []
    for name, place in changes.items():
        packed.append(numbers.get(name, name))
        if place is None:
            packed.append(None)
        elif len(place) < 2:
            packed += (place[0], None)
        else:
            put, nth = divmod(place[1], ROOM)
            packed += (place[0], key - put, nth)
    try:
        return ormsgpack.packb(packed)
    except TypeError:  # a name with lone surrogates
        return ormsgpack.packb([_encoded(part) if isinstance(part, str) else part for part in packed])


def _unpacked(data: bytes, names: tuple[str, ...], key: int) -> Iterator[tuple[str, Place | None]]:
    parts = iter(ormsgpack.unpackb(data))
    for part in parts:
        name = names[part] if isinstance(part, int) else _decoded(part)
        version = next(parts)
        ago = None if version is None else next(parts)
        if version is None:
            yield name, None
        elif ago is None:
            yield name, [version]
        else:
            yield name, [version, (key - ago) * ROOM + next(parts)]


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _decoded(name: str | bytes) -> str:
    return name if isinstance(name, str) else name.decode("utf-8", "surrogatepass")


Store = Callable[[bytes, int | None], int]
"""Keeps a value, or with a key the delta to the value of that key; returns the key."""


def after(parent: ChannelMap, row: CheckpointRow, store: Store) -> ChannelMap:
    """The map of a checkpoint, which shares with its parent what `row.values` doesn't name.

    Raises:
        SaverError: a value is put as a delta, and the parent has none.
    """
    base, versions = parent.base, row.versions
    if base is None:
        places = {name: _place(name, at, row, parent, store) for name, at in versions.items()}
        return ChannelMap(places)
    changes: dict[str, Place | None] = {
        name: place
        for name, place in parent.changes.items()
        if place is not None and versions.get(name) == place[0] and name not in row.values
    }
    touched = row.values.keys() | (parent.changes.keys() - changes.keys())
    for name in sorted(touched):
        if name in versions:
            changes[name] = _place(name, versions[name], row, parent, store)
    if not base.versions.keys() <= row.versions.keys():
        changes |= dict.fromkeys(base.versions.keys() - row.versions.keys())
    return ChannelMap(changes, base, len(row.values))


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
