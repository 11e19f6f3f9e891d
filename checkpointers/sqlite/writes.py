"""What tasks wrote, as SQLite keeps it: a row has all that a commit adds under a checkpoint.

Rule: rows are only ever appended, one key behind the other, so that one which is missing between them is noticed; what
they hold is merged when it is read. A row is a msgpack array of groups, each of what one task wrote: the task, its
path, and the indexes, the channels and the bytes of its writes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import ormsgpack

from checkpointers.rules import merged
from checkpointers.sqlite.channel_maps import ROOM, span
from checkpointers.sqlite.checksums import CHANGED, checksum
from flowfn.ports import WriteRow, row_of
from flowfn.sqlite.errors import Damaged

Cursor = sqlite3.Cursor

_of = itemgetter(WriteRow._fields.index("task"), WriteRow._fields.index("path"))

_MOST = 1 << 20
"""Bytes of values that one row has, unless a single one is longer."""

_LAST = 'SELECT max(key) FROM "write" WHERE key BETWEEN ? AND ?'

_ROWS = 'SELECT key, data, crc FROM "write" WHERE key BETWEEN ? AND ? ORDER BY key'


def last(db: Cursor, checkpoint: int) -> int:
    """The key of the last row under a checkpoint; before the first one, that of its place."""
    (key,) = db.execute(_LAST, span(checkpoint)).fetchone()
    return checkpoint * ROOM if key is None else int(key)


def add(db: Cursor, after: int, rows: Sequence[WriteRow]) -> int:
    """Append writes behind the row of a key; the key of the last row then."""
    for data in bundles(rows):
        after += 1
        db.execute('INSERT INTO "write" VALUES (?, ?, ?)', (after, data, checksum((after, data))))
    return after


def read(db: Cursor, checkpoint: int) -> list[WriteRow]:
    """What was written under a checkpoint.

    Raises:
        Damaged: that isn't what is there.
    """
    return merged(writes_in(_rows(db, checkpoint)))


def move(db: Cursor, old: int, new: int) -> None:
    """Have what was written under a checkpoint's key under another one, which has nothing yet."""
    moved = [(key + (new - old) * ROOM, data, key) for key, data in _rows(db, old)]
    db.executemany(
        'UPDATE "write" SET key = ?, crc = ? WHERE key = ?',
        [(place, checksum((place, data)), key) for place, data, key in moved],
    )


def _rows(db: Cursor, checkpoint: int) -> Iterator[tuple[int, bytes]]:
    """The rows under a checkpoint, checked."""
    place = checkpoint * ROOM
    for key, data, crc in db.execute(_ROWS, span(checkpoint)):
        place += 1
        if key != place:
            raise Damaged("what its tasks wrote: rows are missing")
        if checksum((key, data)) != crc:
            raise Damaged(f"what its tasks wrote: {CHANGED}")
        yield key, data


def bundles(rows: Sequence[WriteRow]) -> list[bytes]:
    """Writes as they are stored."""
    if not rows:
        return []
    tasks, indexes, channels, values, paths = zip(*rows, strict=True)
    if len(rows) > 1 and sum(map(len, values)) > _MOST:
        half = len(rows) // 2
        return bundles(rows[:half]) + bundles(rows[half:])
    if tasks.count(tasks[0]) == len(rows) == paths.count(paths[0]):
        return [ormsgpack.packb([(tasks[0], paths[0], indexes, channels, values)])]
    groups = [(*of, *[*zip(*group, strict=True)][1:4]) for of, group in groupby(rows, _of)]
    return [ormsgpack.packb(groups)]


def writes_in(rows: Iterable[tuple[int, bytes]]) -> list[WriteRow]:
    """The writes of rows, by key and data, in their order."""
    return [
        row_of((task, index, channel, value, path))
        for _, data in rows
        for task, path, indexes, channels, values in ormsgpack.unpackb(data)
        for index, channel, value in zip(indexes, channels, values, strict=False)
    ]
