"""How single checkpoints are forgotten in SQLite.

Rule: a kept checkpoint's map is whole, or differs from that of a kept one; and the values that it is read from
stay. A value's key says whose it is, and so a forgotten checkpoint whose values others are read from leaves a row
without a body, under an id that no checkpoint has, until they are gone too.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from checkpointers.short_forms import long_id
from checkpointers.sqlite.channel_maps import ChannelMap, key_of, span
from checkpointers.sqlite.checkpoints import bases_in, channel_map, columns_of, forget_keys, put
from flowfn.ports import Place

Cursor = sqlite3.Cursor

_LEFT = "left"
"""The `source` of a row that stands for forgotten checkpoints: a name that has no meaning elsewhere."""

_ID, _PARENT, _CHANNELS, _BASE = 3, 4, 10, 11
"""Columns of a checkpoint."""

_NEEDED = """
    WITH RECURSIVE needed (key) AS (
        SELECT (SELECT max(key) FROM value WHERE key <= each.value) FROM json_each(?) AS each
        UNION SELECT (SELECT max(of.key) FROM value AS of WHERE of.key <= value.onto)
        FROM needed JOIN value ON value.key = needed.key WHERE value.onto IS NOT NULL
        UNION SELECT value.beside FROM needed JOIN value ON value.key = needed.key WHERE value.beside > 0)
    SELECT key FROM needed"""
"""The rows that values are read from."""


def places(db: Cursor, thread: str) -> list[Place]:
    """Where each checkpoint of a thread is, the last committed first."""
    found = db.execute(
        "SELECT namespace, checkpoint.id FROM checkpoint JOIN thread ON thread.key = checkpoint.thread"
        " WHERE thread.id = ? AND body IS NOT NULL ORDER BY checkpoint.key DESC",
        (thread,),
    )
    return [(namespace, long_id(id)) for namespace, id in found]


def forget(db: Cursor, thread: int, places: Collection[Place]) -> None:
    """Forget checkpoints of a thread, and of those forgotten before what nobody needs any more."""
    named = {
        (namespace, long_id(id)): key
        for namespace, id, key in db.execute(
            "SELECT namespace, id, key FROM checkpoint WHERE thread = ? AND body IS NOT NULL", (thread,)
        )
    }
    doomed = {named[place] for place in places if place in named}
    forget_keys(db, max(doomed, default=0))
    needed = _needed(db, set(named.values()) - doomed, doomed)
    left = db.execute(
        "SELECT key FROM checkpoint WHERE thread = ? AND body IS NULL AND source = ?", (thread, _LEFT)
    ).fetchall()
    for key in [*doomed, *(key for (key,) in left)]:
        db.execute('DELETE FROM "write" WHERE key BETWEEN ? AND ?', span(key))
        own = {value for (value,) in db.execute("SELECT key FROM value WHERE key BETWEEN ? AND ?", span(key))}
        db.executemany("DELETE FROM value WHERE key = ?", [(value,) for value in own - needed])
        if own & needed:
            db.execute(
                "UPDATE checkpoint SET id = ?, source = ?, parent = NULL, step = NULL, created_at = NULL, body = NULL,"
                " metadata = NULL, channels = NULL, base = NULL, crc = NULL WHERE key = ?",
                (f"{_LEFT} {key}", _LEFT, key),
            )
        else:
            db.execute("DELETE FROM checkpoint WHERE key = ?", (key,))


def _needed(db: Cursor, kept: set[int], doomed: set[int]) -> set[int]:
    """The rows of values that kept checkpoints are read from, which no longer need doomed ones: a map that differs from
    that of one is made whole, and a parent that goes is known by its id again."""
    base_of = bases_in(db)
    values = set()
    for key in kept:
        columns = [*columns_of(db, key)]
        whole = channel_map(columns, base_of).whole()
        values |= {value for place in whole.values() if (value := key_of(place)) is not None}
        if columns[_BASE] in doomed or columns[_PARENT] in doomed:
            if columns[_BASE] in doomed:
                columns[_CHANNELS], columns[_BASE] = ChannelMap(whole).as_bytes(key)[0], None
            if columns[_PARENT] in doomed:
                columns[_PARENT] = columns_of(db, columns[_PARENT])[_ID]
            put(db, columns)
    return {key for (key,) in db.execute(_NEEDED, (json.dumps(sorted(values)),))}
