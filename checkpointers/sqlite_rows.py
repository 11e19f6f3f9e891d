"""What one transaction of the SQLite saver reads and writes.

Rule: functions on a cursor whose transaction somebody else begins and ends; nothing here waits, locks
or knows of processes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from checkpointers import channel_maps
from checkpointers.channel_maps import EMPTY, ROOM, Bases, ChannelMap, Places, after
from checkpointers.leases import Held
from checkpointers.packing import NOTHING, Other, is_packed, packed
from checkpointers.rules import concerns_thread, lease_lost, merged, now, strange_item
from checkpointers.short_forms import long_id, long_time, short_id, short_time
from checkpointers.sqlite_schema import IS_UNFINISHED
from checkpointers.sqlite_values import Parts, Values, other_among
from flowfn.ports import (
    CheckpointRow,
    Commit,
    Lease,
    Loaded,
    Versioned,
    WriteRow,
    Writes,
)

Cursor = sqlite3.Cursor

_FENCE = """
    SELECT thread.key, thread.token, checkpoint.key FROM thread LEFT JOIN checkpoint
    ON checkpoint.thread = thread.key AND checkpoint.id = ? AND checkpoint.namespace = ?
    WHERE thread.id = ?"""

_ADD_WRITE = """
    INSERT INTO "write" VALUES (
        (SELECT coalesce(max(key), ?) FROM "write" WHERE key BETWEEN ? AND ?) + 1, ?, ?, ?, ?, ?)"""

_ADD_VALUE = """
    INSERT INTO value (key, data, onto, beside) VALUES (
        (SELECT coalesce(max(key), ?) FROM value WHERE key BETWEEN ? AND ?) + 1, ?, ?, ?)"""

_LAST = "(SELECT max(coalesce((SELECT max(key) FROM checkpoint), 0), forgotten) FROM fence)"
"""The last key that a checkpoint was given."""

_PLACE = "SELECT key FROM checkpoint WHERE thread = ? AND id = ? AND namespace = ?"

_AROUND = f"""
    SELECT of.key, of.channels, of.base, whole.channels,
        (SELECT key FROM checkpoint WHERE thread = :thread AND id = :id AND namespace = :namespace), {_LAST}
    FROM fence
    LEFT JOIN checkpoint AS of ON of.key = CASE WHEN :parent IS NULL
        THEN (SELECT key FROM checkpoint WHERE thread = :thread AND namespace = :namespace AND body IS NOT NULL
            ORDER BY key DESC LIMIT 1)
        ELSE (SELECT key FROM checkpoint WHERE thread = :thread AND id = :parent AND namespace = :namespace
            AND body IS NOT NULL) END
    LEFT JOIN checkpoint AS whole ON whole.key = of.base"""
"""What there is around a checkpoint that is put: the one that it shares values with, that one's base, whether its own
id has been named, and the last key."""

_NAMED = f"INSERT INTO checkpoint (key, thread, namespace, id) VALUES ({_LAST} + 1, ?, ?, ?)"

_NEW = "INSERT INTO checkpoint VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

_IS_PUT = f"SELECT body IS NOT NULL, {_LAST} FROM checkpoint WHERE key = ?"

_SETTLE = """
    UPDATE thread SET
        workflow = coalesce(?, workflow), call = coalesce(?, call), status = coalesce(?, status),
        owner = CASE WHEN ? THEN NULL ELSE owner END, updated_at = ?,
        touched = (SELECT max(touched) + 1 FROM thread)
    WHERE key = ?"""

_HELD = """key, id, owner, token,
    coalesce(expires, 0) <= (julianday('now') - 2440587.5) * 86400.0"""
"""What `Held` takes, of a thread's row."""

_LEND = """
    UPDATE thread SET token = ?, owner = ?, expires = ?, updated_at = ?,
        touched = (SELECT max(touched) + 1 FROM thread)
    WHERE key = ?"""

_FILL = """
    UPDATE checkpoint SET parent = ?, step = ?, source = ?, created_at = ?, body = ?, metadata = ?,
        channels = ?, base = ? WHERE key = ?"""

_PARENT = """
    CASE typeof(checkpoint.parent) WHEN 'integer' THEN
        (SELECT of.id FROM checkpoint AS of WHERE of.key = checkpoint.parent)
    ELSE checkpoint.parent END"""

_COLUMNS = f"""checkpoint.namespace, checkpoint.id, {_PARENT}, checkpoint.step, checkpoint.source,
    checkpoint.created_at, checkpoint.body, checkpoint.metadata, checkpoint.channels,
    checkpoint.base"""

# -- writing --------------------------------------------------------------------------------------


def apply(db: Cursor, commit: Commit, bases: Bases) -> Exception | None:
    """Write a commit, or say why its lease doesn't allow it."""
    first = commit.items[0] if commit.items else None
    spot = (short_id(first.checkpoint), first.namespace) if isinstance(first, Writes) else (None, None)
    found = db.execute(_FENCE, (*spot, commit.thread)).fetchone()
    lease = commit.lease
    if lease is not None and (found is None or found[1] != lease.token):
        return lease_lost(commit.thread)
    thread, _, place = found or (add_thread(db, commit.thread), 0, None)
    for item in commit.items:
        if isinstance(item, Writes):
            known = place if item is first else None
            _add_writes(db, known or _place(db, thread, item.namespace, item.checkpoint), item.rows)
        elif isinstance(item, CheckpointRow):
            _add_checkpoint(db, thread, item, bases)
        else:
            raise strange_item(item)
    if concerns_thread(commit):
        _settle(db, thread, commit)
    return None


def _add_writes(db: Cursor, checkpoint: int, rows: Iterable[WriteRow]) -> None:
    first, last = span(checkpoint)
    room = (first, first, last)
    db.executemany(_ADD_WRITE, [room + row for row in rows])


def _place(db: Cursor, thread: int, namespace: str, id: str) -> int:
    """The key of a checkpoint; of a new, empty row where nothing has named it yet."""
    named = short_id(id)
    found = db.execute(_PLACE, (thread, named, namespace)).fetchone()
    if found is not None:
        return int(found[0])
    db.execute(_NAMED, (thread, namespace, named))
    return _last_row(db)


def _final_place(db: Cursor, thread: int, namespace: str, id: str) -> int:
    """The key that a checkpoint keeps: the next one, unless it was put before.

    Writes may have named it since, and move with it.
    """
    key = _place(db, thread, namespace, id)
    put, last = db.execute(_IS_PUT, (key,)).fetchone()
    if put or key == last:
        return key
    db.execute("UPDATE checkpoint SET key = ? WHERE key = ?", (last + 1, key))
    shift = (last + 1 - key) * ROOM
    db.execute('UPDATE "write" SET key = key + ? WHERE key BETWEEN ? AND ?', (shift, *span(key)))
    return int(last) + 1


def _add_checkpoint(db: Cursor, thread: int, row: CheckpointRow, bases: Bases) -> None:
    of = None if row.parent is None else short_id(row.parent)
    named = {"thread": thread, "id": short_id(row.id), "namespace": row.namespace, "parent": of}
    found = db.execute(_AROUND, named).fetchone()
    known, last = found[4:]
    parent_key, parent = _parent(*found[:4], bases=bases)
    other = _other(db, parent_key, row)
    if known is None:
        _add_new_checkpoint(db, thread, last + 1, (parent_key, parent), row, other, bases)
        return
    key = _final_place(db, thread, row.namespace, row.id)
    room = span(key)

    def store(value: bytes, onto: int | None) -> int:
        data, beside = packed(value, other)
        db.execute(_ADD_VALUE, (room[0], *room, data, onto, beside))
        return _last_row(db)

    channels, base = after(EMPTY if parent_key == key else parent, row, store).as_bytes(key)
    db.execute(_FILL, (*_described(row, parent_key), channels, base, key))


def _add_new_checkpoint(
    db: Cursor,
    thread: int,
    key: int,
    before: tuple[int | None, ChannelMap],
    row: CheckpointRow,
    other: Other,
    bases: Bases,
) -> None:
    """A checkpoint that nothing is known of yet: its key is the next one, and its values are the first under it."""
    parent_key, parent = before
    values: dict[tuple[bytes, int | None], int] = {}

    def store(value: bytes, onto: int | None) -> int:
        """Two channels that hold the same share it."""
        return values.setdefault((value, onto), key * ROOM + 1 + len(values))

    made = after(parent, row, store)
    channels, base = made.as_bytes(key)
    if base is not None:
        bases.keep(key, channels, made)
    db.executemany(
        "INSERT INTO value (key, onto, data, beside) VALUES (?, ?, ?, ?)",
        [(place, onto, *packed(value, other)) for (value, onto), place in values.items()],
    )
    db.execute(
        _NEW, (key, thread, row.namespace, short_id(row.id), *_described(row, parent_key), channels, base)
    )


def _described(row: CheckpointRow, parent: int | None) -> tuple[Any, ...]:
    """What a checkpoint says of itself. A parent that is there is known by its key."""
    of = None if row.parent is None else short_id(row.parent) if parent is None else parent
    return (of, row.step, row.source, short_time(row.created_at), row.body, row.metadata)


def _other(db: Cursor, parent: int | None, row: CheckpointRow) -> Other:
    """What values of a checkpoint may be kept beside: one that its parent was put with."""
    given = (held.deltas[0] if held.deltas else held.value for held in row.values.values())
    if parent is None or not any(data is not None and is_packed(data) for data in given):
        return NOTHING
    return other_among(db, span(parent))


def _parent(
    key: int | None, channels: bytes, base: int | None, whole: bytes, *, bases: Bases
) -> tuple[int | None, ChannelMap]:
    """The checkpoint that a new one shares values with: its parent, or the last where it names none."""
    if key is None:
        return None, EMPTY
    if base is None:
        return key, ChannelMap({}, bases.read(key, channels))
    return key, bases.map(key, channels, base, whole)


def channel_map(db: Cursor, key: int, channels: bytes, base: int | None, bases: Bases) -> ChannelMap:
    """A checkpoint's stored map, with its base."""
    if base is None:
        return channel_maps.read(key, channels, None)
    (whole,) = db.execute("SELECT channels FROM checkpoint WHERE key = ?", (base,)).fetchone()
    return channel_maps.read(key, channels, bases.read(base, whole))


def _settle(db: Cursor, thread: int, commit: Commit) -> None:
    workflow, call = commit.begin or (None, None)
    status = commit.status or (commit.begin and "running")
    release = commit.release and commit.lease is not None
    db.execute(_SETTLE, (workflow, call, status, release, now(), thread))


def keep_sources(db: Cursor, sources: Mapping[str, bytes]) -> None:
    """Add the texts that aren't there."""
    db.executemany("INSERT OR IGNORE INTO source VALUES (?, ?)", sources.items())


def source(db: Cursor, digest: str) -> bytes | None:
    """The text of a digest."""
    found = db.execute("SELECT data FROM source WHERE digest = ?", (digest,)).fetchone()
    return None if found is None else found[0]


# -- threads and leases ---------------------------------------------------------------------------


def add_thread(db: Cursor, id: str) -> int:
    """Create a thread; returns its key."""
    time = now()
    db.execute(
        "INSERT INTO thread (id, created_at, updated_at, touched)"
        " VALUES (?, ?, ?, (SELECT coalesce(max(touched), 0) + 1 FROM thread))",
        (id, time, time),
    )
    return _last_row(db)


def lend(db: Cursor, thread: int, id: str, owner: str, expires: float, *, new: bool = False) -> Lease:
    """Give out the next token for a thread."""
    db.execute("UPDATE fence SET token = token + 1")
    (token,) = db.execute("SELECT token FROM fence").fetchone()
    db.execute(_LEND, (token, owner, expires, now(), thread))
    return Lease(id, token, new)


def take_back(db: Cursor, lease: Lease) -> None:
    """Free a thread, unless the lease was lost."""
    db.execute("UPDATE thread SET owner = NULL WHERE id = ? AND token = ?", (lease.thread, lease.token))


def renew(db: Cursor, lease: Lease, expires: float) -> None:
    """Push a lease's expiry on, unless it was lost."""
    db.execute(
        "UPDATE thread SET expires = ? WHERE id = ? AND token = ?", (expires, lease.thread, lease.token)
    )


def lease_of(db: Cursor, id: str) -> Held | None:
    """The lease of a thread."""
    found = db.execute(f"SELECT {_HELD} FROM thread WHERE id = ?", (id,)).fetchone()
    return None if found is None else Held(*found)


def unfinished(db: Cursor, workflow: str, call: str) -> list[Held]:
    """The leases of the threads whose last run of this call waits to be continued, the newest first."""
    found = db.execute(
        f"SELECT {_HELD} FROM thread WHERE workflow = ? AND call = ? AND {IS_UNFINISHED} ORDER BY key DESC",
        (workflow, call),
    )
    return [Held(*row) for row in found]


def next_call(db: Cursor, workflow: str, after: str) -> str | None:
    """Of the calls of a workflow's unfinished runs, the first one after `after`."""
    found = db.execute(
        f"SELECT min(call) FROM thread WHERE workflow = ? AND call > ? AND {IS_UNFINISHED}", (workflow, after)
    )
    call: str | None = found.fetchone()[0]
    return call


def listing(db: Cursor, limit: int | None, id: str | None = None) -> list[tuple[Any, ...]]:
    """Threads, the last updated first: id, last run and times, whether they hold anything, and their lease."""
    rows = db.execute(
        "SELECT id, workflow, call, status, created_at, updated_at,"
        " workflow <> '' OR EXISTS (SELECT 1 FROM checkpoint WHERE checkpoint.thread = thread.key),"
        f" {_HELD} FROM thread {'' if id is None else 'WHERE id = ?'} ORDER BY touched DESC LIMIT ?",
        (*(() if id is None else (id,)), -1 if limit is None else limit),
    )
    return [(*row[:7], Held(*row[7:])) for row in rows]


def delete_thread(db: Cursor, id: str) -> None:
    """Forget a thread and all that it alone refers to."""
    thread = thread_key(db, id)
    if thread is None:
        return
    keys = db.execute("SELECT key FROM checkpoint WHERE thread = ?", (thread,)).fetchall()
    spans = [span(key) for (key,) in keys]
    db.executemany("DELETE FROM value WHERE key BETWEEN ? AND ?", spans)
    db.executemany('DELETE FROM "write" WHERE key BETWEEN ? AND ?', spans)
    forget_keys(db, max((key for (key,) in keys), default=0))
    db.execute("DELETE FROM checkpoint WHERE thread = ?", (thread,))
    db.execute("DELETE FROM thread WHERE key = ?", (thread,))


def forget_keys(db: Cursor, last: int) -> None:
    """See to it that no key of a checkpoint up to this one is given out again."""
    db.execute("UPDATE fence SET forgotten = max(forgotten, ?)", (last,))


# -- reading --------------------------------------------------------------------------------------


def thread_key(db: Cursor, id: str) -> int | None:
    """The key of a thread."""
    found = db.execute("SELECT key FROM thread WHERE id = ?", (id,)).fetchone()
    return None if found is None else int(found[0])


def load(db: Cursor, id: str, namespace: str, checkpoint: str | None, values: Values) -> Loaded | None:
    """A checkpoint with its values and writes, or None."""
    thread = thread_key(db, id)
    if thread is None:
        return None
    found = _find(db, f"key, {_COLUMNS}", thread, namespace, checkpoint)
    return None if found is None else _loaded(db, id, found, values)


def page(
    db: Cursor, end: int, size: int, thread: int | None, namespace: str | None, values: Values
) -> tuple[list[Loaded], int]:
    """Checkpoints committed before the one of key `end`, the last first, and the key of the last of them."""
    where, given = _where(thread=thread, namespace=namespace)
    found = db.execute(
        f"SELECT key FROM checkpoint WHERE key < ? AND {where} ORDER BY key DESC LIMIT ?",
        (end, *given, size),
    )
    keys = [key for (key,) in found]
    return [_load_key(db, key, values) for key in keys], keys[-1] if keys else 0


def _load_key(db: Cursor, key: int, values: Values) -> Loaded:
    """The checkpoint of a key that was just read in the same transaction."""
    found = db.execute(
        f"SELECT thread.id, checkpoint.key, {_COLUMNS} FROM checkpoint"
        " JOIN thread ON thread.key = checkpoint.thread WHERE checkpoint.key = ?",
        (key,),
    ).fetchone()
    return _loaded(db, found[0], found[1:], values)


def key_named(db: Cursor, id: str, thread: int | None, namespace: str | None) -> int | None:
    """The key of a checkpoint of this id; one of the namespace asked for goes before any other."""
    where, values = _where(thread=thread, id=short_id(id))
    found = db.execute(f"SELECT namespace = ?, key FROM checkpoint WHERE {where}", (namespace, *values))
    return max(((own or 0, key) for own, key in found), default=(0, None))[1]


def _find(db: Cursor, columns: str, thread: int, namespace: str, id: str | None) -> Any:
    """Columns of the checkpoint of this id, or of the last one of the namespace."""
    where, values = _where(thread=thread, namespace=namespace, id=None if id is None else short_id(id))
    return db.execute(
        f"SELECT {columns} FROM checkpoint WHERE {where} ORDER BY key DESC LIMIT 1", values
    ).fetchone()


def _where(**columns: Any) -> tuple[str, list[Any]]:
    """The condition that a checkpoint was put and has these values; None stands for any."""
    given = {name: value for name, value in columns.items() if value is not None}
    return " AND ".join(["body IS NOT NULL", *(f"{name} = ?" for name in given)]), [*given.values()]


def _loaded(db: Cursor, thread: str, found: tuple[Any, ...], values: Values) -> Loaded:
    key, namespace, name, parent, step, source, created_at, body, metadata, channels, base = found
    held = channel_map(db, key, channels, base, Bases()).whole()
    row = CheckpointRow(
        namespace,
        long_id(name),
        None if parent is None else long_id(parent),
        step,
        source,
        long_time(created_at),
        body,
        metadata,
        {channel: place[0] for channel, place in held.items()},
        _values(db, held, values),
    )
    return Loaded(thread, row, _writes(db, key))


def _values(db: Cursor, held: Places, values: Values) -> dict[str, Versioned]:
    """The values at places; what channels share is read once."""
    read: dict[int, Parts] = {}
    found = {}
    for channel, (version, *at) in held.items():
        if at and at[0] not in read:
            read[at[0]] = values.read(db, at[0])
        found[channel] = Versioned(version, *read[at[0]]) if at else Versioned(version, None)
    return found


def _writes(db: Cursor, checkpoint: int) -> list[WriteRow]:
    rows = db.execute(
        'SELECT task, idx, channel, data, path FROM "write" WHERE key BETWEEN ? AND ? ORDER BY key',
        span(checkpoint),
    )
    return merged(map(WriteRow._make, rows))


def span(checkpoint: int) -> tuple[int, int]:
    """The first and the last key that writes of a checkpoint may have."""
    return checkpoint * ROOM, checkpoint * ROOM + ROOM - 1


def _last_row(db: Cursor) -> int:
    key = db.lastrowid
    assert key is not None
    return key
