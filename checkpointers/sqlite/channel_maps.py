"""Where the value of each channel of a checkpoint is: a map, stored whole or by what differs from an earlier one.

A checkpoint's map has a place for every channel, and few of them change from one checkpoint to the next. So a map is
stored as its difference from that of an earlier checkpoint, its base, which is whole: a checkpoint costs what changed
since its base, and reading it reads one more. When a difference has become long, the map is stored whole and becomes
the base of those that follow.

A place is one of

- `(version, key)`: the value is in the row of that key,
- `(version, bytes)`: the value itself, which is shorter than a row,
- `(version,)`: the channel is empty,
- None, in a difference alone: the channel is gone.

Stored, a map is one flat msgpack array: of each channel its name, or in a difference its number in the base, and then

| place | what follows |
|---|---|
| a key | the version, how many checkpoints ago the value was put, and which one of that checkpoint's it was |
| the value itself | the version, its bytes |
| empty | the version, nil |
| gone | nil |

In a difference, neighbours in the base that changed together are a *run*: of one version, each with the key after that
of the one before, or all with the same key. A run is the negative of its length, the parts of its first channel, and
the step from key to key, 1 or 0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import ormsgpack

from flowfn.ports import CheckpointRow
from flowfn.sqlite.errors import Damaged

ROOM = 1 << 32
"""How many values and writes a checkpoint has room for: the distance between the first keys of two."""


def span(checkpoint: int) -> tuple[int, int]:
    """The first and the last key that rows of a checkpoint may have."""
    return checkpoint * ROOM, checkpoint * ROOM + ROOM - 1


Place = tuple[int] | tuple[int, int | bytes]
"""No list: a tuple of numbers is nothing to the garbage collector, and many are kept."""
Places = Mapping[str, Place]

SMALL = 256
"""Bytes that are added to the size of a base: what is whole costs more than its bytes."""


class Base(NamedTuple):
    """A whole map of `size` bytes, the versions in it, the number of the latest, and the numbers of its channels."""

    key: int
    places: Places
    versions: Mapping[str, int]
    numbers: Mapping[str, int]
    size: int
    latest: int

    def map(self) -> ChannelMap:
        """The map of its checkpoint, which others are made of."""
        return ChannelMap({}, self, total=len(self.places))


class ChannelMap(NamedTuple):
    """The map of a checkpoint: `changes` on top of `base`; without one they are the whole map.

    `put` is how many of the changes are the checkpoint's own, `total` how many channels it has, where that is known.
    """

    changes: Mapping[str, Place | None]
    base: Base | None = None
    put: int = 1
    total: int = -1

    def get(self, channel: str) -> Place | None:
        """The place of a channel; None if it has none."""
        if channel in self.changes:
            return self.changes[channel]
        return None if self.base is None else self.base.places.get(channel)

    def whole(self) -> dict[str, Place]:
        """The place of every channel."""
        base = {} if self.base is None else self.base.places
        return {channel: place for channel, place in {**base, **self.changes}.items() if place is not None}

    def as_bytes(self, key: int) -> tuple[bytes, ChannelMap]:
        """What to store under a checkpoint's key, and of which map: whole, where a difference would be long."""
        if self.base is not None:
            data = self.difference(key)
            if not self._is_long(data, self.base):
                return data, self
        places = dict(sorted(self.whole().items()))
        return _packed(places, {}, key), ChannelMap(places, total=len(places))

    @property
    def of(self) -> int | None:
        """The key of the checkpoint whose map it is stored on top of; None if it is stored whole."""
        return None if self.base is None else self.base.key

    def _is_long(self, data: bytes, base: Base) -> bool:
        """Whether the differences since the base are as long together as the base: least is stored in all if the
        map is stored whole then. They have grown evenly, by what each checkpoint put; but for the names of channels
        that the base doesn't have, which each has had, as many as versions went by."""
        since = len(self.changes) / max(self.put, 1)
        if len(data) * since / 2 > base.size + SMALL:
            return True
        named = [name for name in self.changes if name not in base.numbers]
        versions = [place[0] for name in named if (place := self.changes[name]) is not None]
        if not versions:
            return False
        gone_by = _latest(versions) - base.latest - 1
        return sum(map(len, named)) * gone_by > base.size + SMALL

    def difference(self, key: int) -> bytes:
        """The changes alone, as they are stored under a checkpoint's key."""
        return _packed(self.changes, {} if self.base is None else self.base.numbers, key)


EMPTY = ChannelMap({})


class Bases:
    """The whole maps that a process has read last, so that each is worked out once; the last few.

    A key may come to stand for another checkpoint, where a commit is undone: one is known by its bytes.
    """

    SIZE = 64

    def __init__(self) -> None:
        self._known: dict[int, tuple[bytes, Base]] = {}

    def read(self, key: int, data: bytes) -> Base:
        """The whole map that a checkpoint is stored with."""
        found = self._known.get(key)
        if found is not None and found[0] == data:
            return found[1]
        places: Any = _unpacked(data, (), key)
        return self.keep(key, data, places)

    def keep(self, key: int, data: bytes, places: Mapping[str, Any]) -> Base:
        """The whole map that these are the bytes of; `places` are in its order."""
        versions = {channel: place[0] for channel, place in places.items()}
        numbers = {name: n for n, name in enumerate(places)}
        base = Base(key, places, versions, numbers, len(data), _latest(versions.values()))
        self._known[key] = (data, base)
        while len(self._known) > self.SIZE:
            self._known.pop(next(iter(self._known)), None)
        return base


def read(key: int, data: bytes, base: Base | None) -> ChannelMap:
    """The map of a checkpoint, as it was stored under its key."""
    return ChannelMap(_unpacked(data, () if base is None else tuple(base.places), key), base)


def key_of(place: Place | None) -> int | None:
    """The key of the value that is at a place; None where there is none, and where it is the value itself."""
    return place[1] if place is not None and len(place) == 2 and isinstance(place[1], int) else None


def _latest(versions: Collection[Any]) -> int:
    """The number of the latest version; 0 where there is none."""
    if {*map(type, versions)} <= {int}:
        return max(versions, default=0)
    return max(map(_number, versions))


def _number(version: float | str) -> int:
    """The number of a version: of a text such as `0002.0.5602`, as LangGraph's savers make them, the first part."""
    first = str(version).partition(".")[0]
    return int(first) if first.isdecimal() else 0


def _packed(changes: Mapping[str, Place | None], numbers: Mapping[str, int], key: int) -> bytes:
    packed: list[Any] = []
    for count, name, place, step in _runs(changes, numbers):
        if place is None:
            packed += (name, None)
        elif len(place) == 1:
            packed += (name, place[0], None)
        elif isinstance(at := place[1], bytes):
            packed += (name, place[0], at)
        else:
            put, nth = divmod(at, ROOM)
            if count == 1:
                packed += (name, place[0], key - put, nth)
            else:
                packed += (-count, name, place[0], key - put, nth, step)
    return ormsgpack.packb(packed)


_MANY = 64
"""Channels under which a difference has no runs: looking for them costs more than they save."""

_Run = tuple[int, str | int, Place | None, int]
"""How many channels are in it, the first one's number or name and place, and the step from key to key."""


def _runs(changes: Mapping[str, Place | None], numbers: Mapping[str, int]) -> list[_Run]:
    """The runs of a difference whose channels mostly changed together; else each channel is one by itself."""
    if len(changes) < _MANY or not numbers:
        return [(1, numbers.get(name, name), place, 1) for name, place in changes.items()]
    runs: list[_Run] = []
    count, last, step, due = 0, 0, 0, -1
    first: str | int = ""
    at: Place | None = None
    for name, place in changes.items():
        number = numbers.get(name, name)
        value = key_of(place)
        if number == due and value is not None and place is not None and at is not None and place[0] == at[0]:
            by = value - last
            if by == step or (count == 1 and by == 0):
                count, last, step, due = count + 1, value, by, due + 1
                continue
        if count:
            runs.append((count, first, at, step))
        count, first, at, step, due = 1, number, place, 1, -1
        if value is not None:
            last = value
            due = number + 1 if isinstance(number, int) else -1
    if count:
        runs.append((count, first, at, step))
    return runs


def _unpacked(data: bytes, names: tuple[str, ...], key: int) -> dict[str, Place | None]:
    """The places in a map.

    Raises:
        Damaged: it is none.
    """
    places: dict[str, Place | None] = {}
    try:
        parts = iter(ormsgpack.unpackb(data))
        for part in parts:
            count = 1
            if isinstance(part, int) and part < 0:
                count, part = -part, next(parts)
            version = next(parts)
            ago = None if version is None else next(parts)
            name = names[part] if isinstance(part, int) else part
            if ago is None or isinstance(ago, bytes):
                places[name] = None if version is None else (version,) if ago is None else (version, ago)
                continue
            at = (key - ago) * ROOM + next(parts)
            places[name] = version, at
            if count > 1:
                step = next(parts)
                for nth in range(1, count):
                    places[names[part + nth]] = version, at + nth * step
    except (TypeError, ValueError, IndexError, StopIteration) as error:
        raise Damaged("where its values are makes no sense") from error
    return places


def after(parent: ChannelMap, row: CheckpointRow, put: Mapping[str, Place]) -> ChannelMap:
    """The map of a checkpoint whose own values are at places, and which shares the rest with its parent."""
    base, versions = parent.base, row.versions
    if base is None:
        return ChannelMap({name: put.get(name) or _shared(parent, name, versions[name]) for name in versions})
    changes: dict[str, Place | None] = {
        name: place
        for name, place in parent.changes.items()
        if name not in put and versions.get(name) == (place and place[0])
    }
    gone = parent.total - len(versions)
    for name in put:
        if parent.changes.get(name) is None and (name in parent.changes or name not in base.places):
            gone += 1
    for name in parent.changes.keys() - changes.keys() - put.keys():
        if name in versions:
            changes[name] = _shared(parent, name, versions[name])
            continue
        gone -= 1
        if name in base.places:
            changes[name] = None
    changes |= put
    if gone:  # channels that only the base has; looking for them goes through all of it
        changes |= dict.fromkeys(base.versions.keys() - versions.keys())
    return ChannelMap(changes, base, len(row.values), len(versions))


def _shared(parent: ChannelMap, name: str, version: int) -> Place:
    """The place of a channel that a checkpoint puts no value of; it's empty where the parent has another version."""
    old = parent.get(name)
    return old if old is not None and old[0] == version else (version,)
