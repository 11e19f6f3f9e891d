"""The row of one checkpoint, by its key."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from checkpointers.sqlite import channel_maps
from checkpointers.sqlite.channel_maps import Base, Bases, ChannelMap
from checkpointers.sqlite.checksums import check, checksum
from flowfn.sqlite.errors import Damaged

Cursor = sqlite3.Cursor

_NEW = "INSERT INTO checkpoint VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

_PUT_AGAIN = _NEW.replace("INSERT", "INSERT OR REPLACE")


def put(db: Cursor, columns: Sequence[Any], *, again: bool = True) -> None:
    """Store the columns of a checkpoint with their checksum, in place of what there is under its key."""
    db.execute(_PUT_AGAIN if again else _NEW, (*columns, checksum(columns)))


BaseOf = Callable[[int], Base]
"""The whole map that is stored under a key."""


def base_in(db: Cursor, key: int) -> Base:
    """Looks a whole map up."""
    return Bases().read(key, columns_of(db, key)[10])


def bases_in(db: Cursor) -> BaseOf:
    """Looks many up, each once: for as long as one state of the database is seen."""
    return lru_cache(Bases.SIZE)(partial(base_in, db))


def channel_map(columns: Sequence[Any], base_of: BaseOf) -> ChannelMap:
    """The map of a checkpoint of these columns, with its base."""
    key, channels, base = columns[0], *columns[10:12]
    return channel_maps.read(key, channels, None if base is None else base_of(base))


def columns_of(db: Cursor, key: int) -> tuple[Any, ...]:
    """All columns of the checkpoint of a key but for its checksum.

    Raises:
        Damaged: they aren't what was written.
    """
    found = db.execute("SELECT * FROM checkpoint WHERE key = ?", (key,)).fetchone()
    if found is None:
        raise Damaged("a row that it is read from is missing")
    check(found[:-1], found[-1])
    return tuple(found[:-1])


def forget_keys(db: Cursor, last: int) -> None:
    """See to it that no key of a checkpoint up to this one is given out again."""
    db.execute("UPDATE fence SET forgotten = max(forgotten, ?)", (last,))
