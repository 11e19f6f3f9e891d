"""Checkpoints as they are read: with their values, and with what tasks wrote under them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import partial
from typing import Any

from checkpointers.short_forms import long_id, long_time, short_id
from checkpointers.sqlite import writes as sqlite_writes
from checkpointers.sqlite.channel_maps import key_of
from checkpointers.sqlite.checkpoints import BaseOf, base_in, bases_in, channel_map
from checkpointers.sqlite.checksums import check
from checkpointers.sqlite.threads import thread_key
from checkpointers.sqlite.values import Values
from flowfn.ports import CheckpointRow, Loaded, Versioned
from flowfn.sqlite.errors import Damaged

Cursor = sqlite3.Cursor

_PARENT = """
    CASE typeof(checkpoint.parent) WHEN 'integer' THEN
        (SELECT of.id FROM checkpoint AS of WHERE of.key = checkpoint.parent)
    ELSE checkpoint.parent END"""

_THREAD = "(SELECT thread.id FROM thread WHERE thread.key = checkpoint.thread)"

_OF = f"checkpoint.*, {_PARENT}"
"""What there is to know of a checkpoint."""


def load(db: Cursor, id: str, namespace: str, checkpoint: str | None, values: Values) -> Loaded | None:
    """A checkpoint with its values and writes, or None."""
    thread = thread_key(db, id)
    if thread is None:
        return None
    where, given = _where(
        thread=thread, namespace=namespace, id=None if checkpoint is None else short_id(checkpoint)
    )
    found = db.execute(
        f"SELECT {_OF} FROM checkpoint WHERE {where} ORDER BY key DESC LIMIT 1", given
    ).fetchone()
    return None if found is None else _loaded(db, id, found, values, partial(base_in, db))


def page(
    db: Cursor, end: int, size: int, thread: int | None, namespace: str | None, values: Values
) -> tuple[list[Loaded], int]:
    """Checkpoints committed before the one of key `end`, the last first, and the key of the last of them."""
    rows = _before(db, end, size, thread, namespace)
    base_of = bases_in(db)
    return [_loaded(db, thread, row, values, base_of) for thread, *row in rows], rows[-1][1] if rows else 0


def heads(
    db: Cursor, end: int, size: int, thread: int | None, namespace: str | None
) -> list[tuple[int, Loaded]]:
    """The keys and heads of checkpoints committed before the one of key `end`, the last first."""
    return [(row[0], _head(thread, row)) for thread, *row in _before(db, end, size, thread, namespace)]


def those(db: Cursor, keys: Sequence[int], values: Values) -> list[Loaded]:
    """The checkpoints of these keys that are still there, the last first."""
    marks = ", ".join("?" * len(keys))
    where, given = _where()
    rows = db.execute(
        f"SELECT {_THREAD}, {_OF} FROM checkpoint WHERE key IN ({marks}) AND {where} ORDER BY key DESC",
        (*keys, *given),
    ).fetchall()
    base_of = bases_in(db)
    return [_loaded(db, thread, row, values, base_of) for thread, *row in rows]


def _before(db: Cursor, end: int, size: int, thread: int | None, namespace: str | None) -> list[Any]:
    """The rows of a page, each behind the id of its thread."""
    where, given = _where(thread=thread, namespace=namespace)
    return db.execute(
        f"SELECT {_THREAD}, {_OF} FROM checkpoint WHERE key IN"  # where keys are sorted, they alone are
        f" (SELECT key FROM checkpoint WHERE key < ? AND {where} ORDER BY key DESC LIMIT ?) ORDER BY key DESC",
        (end, *given, size),
    ).fetchall()


def key_named(db: Cursor, id: str, thread: int | None, namespace: str | None) -> int | None:
    """The key of a checkpoint of this id; one of the namespace asked for goes before any other."""
    where, values = _where(thread=thread, id=short_id(id))
    found = db.execute(f"SELECT namespace = ?, key FROM checkpoint WHERE {where}", (namespace, *values))
    return max(((own or 0, key) for own, key in found), default=(0, None))[1]


def _where(**columns: Any) -> tuple[str, list[Any]]:
    """The condition that a checkpoint was put and has these values; None stands for any."""
    given = {name: value for name, value in columns.items() if value is not None}
    return " AND ".join(["body IS NOT NULL", *(f"{name} = ?" for name in given)]), [*given.values()]


def _head(thread: str, found: Sequence[Any]) -> Loaded:
    """A checkpoint as it is chosen by."""
    *columns, crc, parent = found
    _, _, namespace, id, _, step, source, created_at, _, metadata, _, _ = columns
    try:
        check(columns, crc)
    except Damaged as error:
        raise Damaged(f"thread {thread!r}, checkpoint {long_id(id)!r}: {error}") from None
    upon = None if parent is None else long_id(parent)
    row = CheckpointRow(namespace, long_id(id), upon, step, source, long_time(created_at), b"", metadata, {})
    return Loaded(thread, row, ())


def _loaded(db: Cursor, thread: str, found: Sequence[Any], values: Values, base_of: BaseOf) -> Loaded:
    *columns, crc, parent = found
    key, _, namespace, id, _, step, source, created_at, body, metadata, _, _ = columns
    try:
        check(columns, crc)
        held = channel_map(columns, base_of).whole()
        keys = {channel: value for channel, place in held.items() if (value := key_of(place)) is not None}
        parts = values.read(db, keys)
        writes = sqlite_writes.read(db, key)
    except Damaged as error:
        raise Damaged(f"thread {thread!r}, checkpoint {long_id(id)!r}: {error}") from None
    row = CheckpointRow(
        namespace,
        long_id(id),
        None if parent is None else long_id(parent),
        step,
        source,
        long_time(created_at),
        body,
        metadata,
        {channel: place[0] for channel, place in held.items()},
        {
            channel: Versioned(place[0], *(parts.get(channel) or place[1:] or (None,)))
            for channel, place in held.items()
        },
    )
    return Loaded(thread, row, writes)
