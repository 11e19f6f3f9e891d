"""How values are kept in a file, and read from it.

Rule: what is shorter than a row takes is in the checkpoint's map itself (`channel_maps.py`), unless a checkpoint is put
with many. The other values that it is put with have keys that follow each other. Those that are small and whole share
rows, each of which has the key of its first value and says how many there are; any other has a row of its own. What was
read of a key once stays right: it never stands for another value. A row's bytes are as `packing` made them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import ormsgpack

from checkpointers.packing import LONG, NOTHING, Other, is_packed, packed, unpacked
from checkpointers.rules import nothing_to_change
from checkpointers.sqlite.channel_maps import ChannelMap, Place, span
from checkpointers.sqlite.checksums import check, checksum
from flowfn.ports import CheckpointRow
from flowfn.python.recent import Recent
from flowfn.sqlite.errors import Damaged

Cursor = sqlite3.Cursor

Parts = tuple[bytes, tuple[bytes, ...]]
"""What a value begins as, and the deltas to it, the oldest first."""

_SMALL = 128
"""Bytes under which a value shares a row: one of its own takes some 20 more, and as long to write as many in one."""

_TINY = 12
"""Bytes up to which a value is its own place: a number, a word, None."""
_MANY = 16
"""From how many values on those that are tiny share rows too: there they are deflated together."""

_ALONE = 1024
"""Bytes from which on a row is deflated by itself: a shorter one gains less than the time in which it is written."""

_COLUMNS = "{0}.key, {0}.data, {0}.onto, {0}.beside, {0}.members, {0}.crc"
_VALUE, _PART, _OTHER = (_COLUMNS.format(name) for name in ("value", "part", "other"))

_ADD = "INSERT INTO value (key, data, onto, beside, members, crc) VALUES (?, ?, ?, ?, ?, ?)"

_NEXT = "SELECT key + coalesce(members, 1) FROM value WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1"

_ROW = f"""
    SELECT {_VALUE}, {_OTHER} FROM value LEFT JOIN value AS other ON other.key = value.beside
    WHERE value.key <= ? ORDER BY value.key DESC LIMIT 1"""

_CHAIN = f"""
    WITH RECURSIVE part (key, data, onto, beside, members, crc) AS (
        SELECT {_VALUE} FROM value WHERE key = ?
        UNION ALL SELECT {_VALUE} FROM part JOIN value
        ON value.key = (SELECT max(of.key) FROM value AS of WHERE of.key <= part.onto))
    SELECT {_PART}, {_OTHER} FROM part LEFT JOIN value AS other ON other.key = part.beside"""

_WHOLE = f"""
    SELECT {_VALUE} FROM value
    WHERE key BETWEEN ? AND ? AND onto IS NULL AND coalesce(beside, 0) = 0 LIMIT 4"""


_Single = tuple[str, bytes, int | bytes | None]
"""A channel, its value or a change, and for a change the key of what it changes, or that itself."""


class _Row(NamedTuple):
    """A row without its checksum: `members` is how many values share it, None for one alone."""

    key: int
    data: bytes
    onto: int | None
    beside: int | None
    members: int | None

    def has(self, key: int) -> bool:
        """Whether the value of a key is in it."""
        return self.key <= key < self.key + (self.members or 1)

    def values(self, data: bytes) -> list[bytes]:
        """The values in it, of its plain bytes."""
        values: list[bytes] = [data] if self.members is None else ormsgpack.unpackb(data)
        return values


# -- writing ----------------------------------------------------------------------------------------


def next_key(db: Cursor, checkpoint: int) -> int:
    """The key of the next value that a checkpoint is put with."""
    first, last = span(checkpoint)
    found = db.execute(_NEXT, (first, last)).fetchone()
    return first + 1 if found is None else int(found[0])


def put(
    db: Cursor, row: CheckpointRow, parent: ChannelMap, first: int, beside: Callable[[], Other]
) -> tuple[dict[str, Place], Other]:
    """Keep the values that a checkpoint is put with under keys from `first` on; the place of each channel, and the row
    that those of its children can be kept beside.

    Two channels that hold the same share a place. `beside` is asked for the row of its parent that rows can be kept
    beside, where there is one to be.

    Raises:
        SaverError: a value is put as a delta, and the parent has none.
    """
    versions = row.versions
    places: dict[str, Place] = {}
    small: dict[bytes, int] = {}
    single: list[_Single] = []
    tiny = _TINY if len(row.values) < _MANY else -1
    for name, (_, value, deltas) in row.values.items():
        if name not in versions:
            continue
        if deltas:
            single.append((name, deltas[0], _changed(parent, row, name)))
        elif value is None:
            places[name] = (versions[name],)
        elif len(value) <= tiny:
            places[name] = versions[name], value
        elif len(value) < _SMALL:
            places[name] = versions[name], small.setdefault(value, first + len(small))
        else:
            single.append((name, value, None))
    rows = _shared_rows(first, [*small]) if small else []
    if single:
        rows += _single_rows(first + len(small), single, versions, places)
    return places, _add(db, rows, beside) if rows else NOTHING


def _single_rows(
    first: int, values: Sequence[_Single], versions: Mapping[str, int], places: dict[str, Place]
) -> list[_Row]:
    """Values, and changes of values, in a row each; `places` gets where they are.

    A value that was its own place gets a row when it is changed.
    """
    keys: dict[tuple[bytes, int | None], int] = {}
    for name, data, onto in values:
        if isinstance(onto, bytes):
            onto = keys.setdefault((onto, None), first + len(keys))
        places[name] = versions[name], keys.setdefault((data, onto), first + len(keys))
    return [_Row(key, data, onto, None, None) for (data, onto), key in keys.items()]


def _changed(parent: ChannelMap, row: CheckpointRow, name: str) -> int | bytes:
    """The key of the value that a delta changes, or that value."""
    old = parent.get(name)
    if old is None or len(old) == 1:
        raise nothing_to_change(row, name)
    return old[1]


def _shared_rows(first: int, values: Sequence[bytes]) -> list[_Row]:
    """Small values in rows that are short enough to be deflated."""
    if len(values) == 1:
        return [_Row(first, values[0], None, None, None)]
    data = ormsgpack.packb(values)
    if len(data) > LONG:
        half = len(values) // 2
        return _shared_rows(first, values[:half]) + _shared_rows(first + half, values[half:])
    return [_Row(first, data, None, None, len(values))]


def _add(db: Cursor, rows: Sequence[_Row], beside: Callable[[], Other]) -> Other:
    """Add rows; the longest that others can be kept beside."""
    other = longest = NOTHING
    if any(map(is_packed, [row.data for row in rows])):
        other = beside()
    kept = []
    for key, plain, onto, _, members in rows:
        data, place = packed(plain, other, _ALONE)
        row = (key, data, onto, place, members)
        kept.append((*row, checksum(row)))
        if not (onto or place) and len(plain) > len(longest.data) and is_packed(plain):
            longest = Other(key, plain)
    db.executemany(_ADD, kept)
    return longest


def other_among(db: Cursor, checkpoint: int) -> Other:
    """The longest row of a checkpoint's values that others can be kept beside."""
    found = []
    for *columns, crc in db.execute(_WHOLE, span(checkpoint)):
        row = _Row(*columns)
        if checksum(columns) == crc and is_packed(data := unpacked(row.data, row.beside, None, None)):
            found.append(Other(row.key, data))
    return max(found, key=lambda one: len(one.data), default=NOTHING)


# -- reading ----------------------------------------------------------------------------------------


class Values:
    """Reads values, and remembers the last ones, so that one which grows is read from where it was last seen.

    Only what is committed may be read with it: the key of what is undone is given out again.
    """

    def __init__(self) -> None:
        self._recent: Recent[int, tuple[bytes, Parts]] = Recent(most=128, size=1 << 24)

    def read(self, db: Cursor, keys: Mapping[str, int]) -> dict[str, Parts]:
        """What the values of keys begin as, and the deltas to them, by channel; each row is read once.

        Raises:
            Damaged: a value isn't what was written; says of which channel.
        """
        found: dict[str, Parts] = {}
        first = 0
        values: Sequence[Parts] = ()
        for channel, key in sorted(keys.items(), key=itemgetter(1)):
            if not 0 <= key - first < len(values):
                try:
                    first, values = self._row(db, key)
                except Damaged as error:
                    raise Damaged(f"channel {channel!r}: {error}") from error
            found[channel] = values[key - first]
        return found

    def _row(self, db: Cursor, key: int) -> tuple[int, Sequence[Parts]]:
        """The values of the row that has a key, and the key of the first of them."""
        found = db.execute(_ROW, (key,)).fetchone()
        row, data = _checked(found, key)
        if row.onto is None:
            return row.key, [(value, ()) for value in row.values(data)]
        parts = self._known(key, data) or self._chain(db, key)
        self._recent.keep(key, (data, parts), len(parts[0]) + sum(map(len, parts[1])))
        return key, (parts,)

    def _chain(self, db: Cursor, key: int) -> Parts:
        """The parts of a value, the last first, down to one that is known."""
        deltas: list[bytes] = []
        for columns in db.execute(_CHAIN, (key,)):
            row, data = _checked(columns, key)
            if row.onto is None:
                return row.values(data)[key - row.key], tuple(reversed(deltas))
            if (known := self._known(key, data)) is not None:
                self._recent.drop(key)  # few go on from it again
                return known[0], (*known[1], *reversed(deltas))
            deltas.append(data)
            key = row.onto
        raise Damaged("what it changes is missing")

    def _known(self, key: int, last: bytes) -> Parts | None:
        """The parts of a value that was read before; its last one is at hand, and so is looked at."""
        found = self._recent.get(key)
        return found[1] if found is not None and found[0] == last else None


def _checked(columns: Sequence[Any] | None, key: int) -> tuple[_Row, bytes]:
    """The row that has the value of a key, and its plain bytes; `columns` are its own and those of what it is beside.

    Raises:
        Damaged: they aren't what was written, or there is no such row.
    """
    if columns is None or not (row := _Row(*columns[:5])).has(key):
        raise Damaged("its row is missing")
    check(columns[:5], columns[5])
    if not row.beside:
        return row, unpacked(row.data, row.beside, None, None)
    other = _Row(*columns[6:11])
    if other.key is None:
        raise Damaged("the row beside its own is missing")
    check(columns[6:11], columns[11])
    return row, unpacked(row.data, row.beside, other.data, other.beside)
