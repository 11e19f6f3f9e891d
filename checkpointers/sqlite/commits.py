"""What one commit writes: the checkpoints that it puts, what tasks wrote under them, and how the thread's run stands.

Rule: functions on a cursor whose transaction somebody else begins and ends; nothing here waits, locks
or knows of processes.
"""

from __future__ import annotations

import sqlite3
from functools import partial

from checkpointers.packing import NOTHING, Other
from checkpointers.rules import concerns_thread, lease_lost, now, strange_item
from checkpointers.short_forms import short_id, short_time
from checkpointers.sqlite import channel_maps
from checkpointers.sqlite import values as sqlite_values
from checkpointers.sqlite import writes as sqlite_writes
from checkpointers.sqlite.channel_maps import EMPTY, ROOM, Bases, ChannelMap, after
from checkpointers.sqlite.checkpoints import base_in, channel_map, columns_of, put
from checkpointers.sqlite.heads import Head, Heads, Thread
from checkpointers.sqlite.threads import add_thread, last_row
from flowfn.ports import CheckpointRow, Commit, Writes

Cursor = sqlite3.Cursor

_FENCE = f"""
    SELECT thread.key, thread.token, checkpoint.key, (
        SELECT coalesce(max(key), checkpoint.key * {ROOM}) FROM "write"
        WHERE key BETWEEN checkpoint.key * {ROOM} AND checkpoint.key * {ROOM} + {ROOM - 1})
    FROM thread LEFT JOIN checkpoint
    ON checkpoint.thread = thread.key AND checkpoint.id = ? AND checkpoint.namespace = ?
    WHERE thread.id = ?"""

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

_IS_PUT = f"SELECT body IS NOT NULL, {_LAST} FROM checkpoint WHERE key = ?"

_SETTLE = """
    UPDATE thread SET
        workflow = coalesce(?, workflow), call = coalesce(?, call), status = coalesce(?, status),
        owner = CASE WHEN ? THEN NULL ELSE owner END, updated_at = ?,
        touched = (SELECT max(touched) + 1 FROM thread)
    WHERE key = ?"""


def apply(db: Cursor, commit: Commit, heads: Heads) -> Exception | None:
    """Write a commit, or say why its lease doesn't allow it."""
    lease = commit.lease
    thread = heads.threads.get(commit.thread)
    if thread is None and lease is not None and lease.new:
        thread = heads.taken_up(commit.thread, lease.token)
    if thread is None or (lease is not None and thread.token != lease.token):
        thread = _look_up(db, commit, heads)
    if lease is not None and (thread is None or thread.token != lease.token):
        return lease_lost(commit.thread)
    if thread is None:
        thread = heads.learn(commit.thread, add_thread(db, commit.thread), 0)
    for item in commit.items:
        if isinstance(item, Writes):
            head = thread.heads.get(item.namespace)
            if head is None or head.id != item.checkpoint:
                key = _place(db, heads, thread.key, item.namespace, item.checkpoint)
                head = heads.stand(
                    thread, item.namespace, Head(item.checkpoint, key, sqlite_writes.last(db, key))
                )
            head.written = sqlite_writes.add(db, head.written, item.rows)
        elif isinstance(item, CheckpointRow):
            _add_checkpoint(db, heads, thread, item)
        else:
            raise strange_item(item)
    if concerns_thread(commit):
        _settle(db, thread.key, commit)
    if commit.release:
        heads.leave(commit.thread)
    return None


def _look_up(db: Cursor, commit: Commit, heads: Heads) -> Thread | None:
    """What there is to know of the thread of a commit, and of the checkpoint that it writes under."""
    first = commit.items[0] if commit.items else None
    namespace, id = first[:2] if isinstance(first, Writes) else ("", "")
    found = db.execute(_FENCE, (short_id(id), namespace, commit.thread)).fetchone()
    if found is None:
        return None
    key, token, place, written = found
    thread = heads.learn(commit.thread, key, token)
    if place is not None:
        heads.stand(thread, namespace, Head(id, place, written))
    return thread


def _place(db: Cursor, heads: Heads, thread: int, namespace: str, id: str) -> int:
    """The key of a checkpoint; of a new, empty row where nothing has named it yet."""
    named = short_id(id)
    found = db.execute(_PLACE, (thread, named, namespace)).fetchone()
    if found is not None:
        return int(found[0])
    db.execute(_NAMED, (thread, namespace, named))
    key = heads.last = last_row(db)
    return key


def _final_place(db: Cursor, heads: Heads, thread: int, namespace: str, id: str) -> int:
    """The key that a checkpoint keeps: the next one, unless it was put before.

    Writes may have named it since, and move with it.
    """
    key = _place(db, heads, thread, namespace, id)
    put, last = db.execute(_IS_PUT, (key,)).fetchone()
    if put or key == last:
        return key
    db.execute("UPDATE checkpoint SET key = ? WHERE key = ?", (last + 1, key))
    sqlite_writes.move(db, key, last + 1)
    key = heads.last = int(last) + 1
    return key


def _add_checkpoint(db: Cursor, heads: Heads, thread: Thread, row: CheckpointRow) -> None:
    """Put a checkpoint. One whose parent was put last is taken for a new one, as all are that a run goes on to; so is
    the first one of a namespace, where all that there are of the thread are known.
    """
    head, last = thread.heads.get(row.namespace), heads.last
    if last is None or not heads.trusting:
        _look_and_put(db, heads, thread, row)
    elif head is None and thread.whole and row.parent is None:
        head = heads.stand(thread, row.namespace, Head(row.id, last + 1, (last + 1) * ROOM))
        _put_at(db, heads, thread.key, row, head, None, EMPTY)
    elif head is not None and head.channels is not None and head.id == row.parent:
        parent, shared = head.key, head.channels
        head.id, head.key, head.written = row.id, last + 1, (last + 1) * ROOM
        _put_at(db, heads, thread.key, row, head, parent, shared)
    else:
        _look_and_put(db, heads, thread, row)


def _look_and_put(db: Cursor, heads: Heads, thread: Thread, row: CheckpointRow) -> None:
    """Put a checkpoint of which nothing is known: it may have been named or put before."""
    of = None if row.parent is None else short_id(row.parent)
    around = {"thread": thread.key, "id": short_id(row.id), "namespace": row.namespace, "parent": of}
    *found, known, heads.last = db.execute(_AROUND, around).fetchone()
    if known is None:
        key = (heads.last or 0) + 1
        head = Head(row.id, key, key * ROOM)
    else:
        if _make_independent(db, thread.key, known):
            found = db.execute(_AROUND, around).fetchone()[:4]
        key = _final_place(db, heads, thread.key, row.namespace, row.id)
        head = Head(row.id, key, sqlite_writes.last(db, key))
    parent, shared = _parent(*found, bases=heads.bases)
    if parent == key:  # put again, under no other: it keeps what it had, and its map can't be its own base
        shared = ChannelMap(shared.whole())
    _put_at(db, heads, thread.key, row, head, parent, shared, again=known is not None)
    heads.stand(thread, row.namespace, head)


def _put_at(
    db: Cursor,
    heads: Heads,
    thread: int,
    row: CheckpointRow,
    head: Head,
    parent: int | None,
    shared: ChannelMap,
    *,
    again: bool = False,
) -> None:
    """Put a checkpoint where `head` says. What it doesn't put itself it shares with the map of that of key `parent`."""
    key = head.key
    first = sqlite_values.next_key(db, key) if again else key * ROOM + 1
    places, own = sqlite_values.put(db, row, shared, first, partial(_beside, db, heads, parent))
    if not again:
        heads.can_be_beside(key, own)
    made = after(shared, row, places)
    channels, stored = made.as_bytes(key)
    of = row.parent and (short_id(row.parent) if parent is None else parent)
    described = (row.step, row.source, short_time(row.created_at), row.body, row.metadata)
    put(db, (key, thread, row.namespace, short_id(row.id), of, *described, channels, stored.of), again=again)
    head.channels = (
        stored if stored.base is not None else heads.bases.keep(key, channels, stored.changes).map()
    )
    if heads.last is None or key > heads.last:
        heads.last = key


def _beside(db: Cursor, heads: Heads, parent: int | None) -> Other:
    """The row of its parent's values that a checkpoint's can be kept beside."""
    if parent is None:
        return NOTHING
    known = heads.others.pop(parent, None)
    return sqlite_values.other_among(db, parent) if known is None else known


def _make_independent(db: Cursor, thread: int, key: int) -> bool:
    """Have no map differ from that of a checkpoint, which is to be put again; whether one did."""
    found = db.execute("SELECT key FROM checkpoint WHERE thread = ? AND base = ?", (thread, key)).fetchall()
    for (other,) in found:
        columns = columns_of(db, other)
        whole = channel_map(columns, partial(base_in, db)).whole()
        put(db, (*columns[:10], ChannelMap(whole).as_bytes(other)[0], None))
    return bool(found)


def _parent(
    key: int | None, channels: bytes, base: int | None, whole: bytes, *, bases: Bases
) -> tuple[int | None, ChannelMap]:
    """The checkpoint that a new one shares values with: its parent, or the last where it names none."""
    if key is None:
        return None, EMPTY
    if base is None:
        return key, bases.read(key, channels).map()
    return key, channel_maps.read(key, channels, bases.read(base, whole))


def _settle(db: Cursor, thread: int, commit: Commit) -> None:
    workflow, call = commit.begin or (None, None)
    status = commit.status or (commit.begin and "running")
    release = commit.release and commit.lease is not None
    db.execute(_SETTLE, (workflow, call, status, release, now(), thread))
