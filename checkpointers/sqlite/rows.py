"""What one transaction of the SQLite saver reads and writes.

Rule: functions on a cursor whose transaction somebody else begins and ends; nothing here waits, locks
or knows of processes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from checkpointers.leases import Held
from checkpointers.packing import NOTHING, Other
from checkpointers.rules import concerns_thread, lease_lost, now, strange_item
from checkpointers.short_forms import long_id, long_time, short_id, short_time
from checkpointers.sqlite import channel_maps
from checkpointers.sqlite import values as sqlite_values
from checkpointers.sqlite import writes as sqlite_writes
from checkpointers.sqlite.channel_maps import EMPTY, ROOM, Bases, ChannelMap, after, key_of, span
from checkpointers.sqlite.checksums import check, checksum
from checkpointers.sqlite.heads import Head, Heads, Thread
from checkpointers.sqlite.schema import IS_UNFINISHED
from checkpointers.sqlite.values import Values
from flowfn.ports import (
    CheckpointRow,
    Commit,
    Lease,
    Loaded,
    Versioned,
    Writes,
)
from flowfn.sqlite.errors import Damaged

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

_NEW = "INSERT INTO checkpoint VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

_PUT_AGAIN = _NEW.replace("INSERT", "INSERT OR REPLACE")

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

_LEND_NEW = """
    INSERT INTO thread (id, created_at, updated_at, token, owner, expires, touched)
    VALUES (?, ?, ?, ?, ?, ?, (SELECT coalesce(max(touched), 0) + 1 FROM thread))"""

_PARENT = """
    CASE typeof(checkpoint.parent) WHEN 'integer' THEN
        (SELECT of.id FROM checkpoint AS of WHERE of.key = checkpoint.parent)
    ELSE checkpoint.parent END"""

_OF = f"checkpoint.*, {_PARENT}"
"""What there is to know of a checkpoint."""

# -- writing --------------------------------------------------------------------------------------


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
    key = heads.last = _last_row(db)
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
    if parent == key:
        shared = EMPTY
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
        whole = channel_map(db, columns, Bases()).whole()
        put(db, (*columns[:10], ChannelMap(whole).as_bytes(other)[0], None))
    return bool(found)


def put(db: Cursor, columns: Sequence[Any], *, again: bool = True) -> None:
    """Store the columns of a checkpoint with their checksum, in place of what there is under its key."""
    db.execute(_PUT_AGAIN if again else _NEW, (*columns, checksum(columns)))


def _parent(
    key: int | None, channels: bytes, base: int | None, whole: bytes, *, bases: Bases
) -> tuple[int | None, ChannelMap]:
    """The checkpoint that a new one shares values with: its parent, or the last where it names none."""
    if key is None:
        return None, EMPTY
    if base is None:
        return key, bases.read(key, channels).map()
    return key, channel_maps.read(key, channels, bases.read(base, whole))


def channel_map(db: Cursor, columns: Sequence[Any], bases: Bases) -> ChannelMap:
    """The map of a checkpoint of these columns, with its base."""
    key, channels, base = columns[0], *columns[10:12]
    if base is None:
        return channel_maps.read(key, channels, None)
    whole = columns_of(db, base)
    return channel_maps.read(key, channels, bases.read(base, whole[10]))


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


def lend(db: Cursor, thread: int, id: str, owner: str, expires: float) -> Lease:
    """Give out the next token for a thread."""
    token = _next_token(db)
    db.execute(_LEND, (token, owner, expires, now(), thread))
    return Lease(id, token)


def lend_new(db: Cursor, id: str, owner: str, expires: float, heads: Heads) -> Lease:
    """Create a thread for whoever is to have it."""
    heads.begin(db, trusting=True)
    token, time = _next_token(db), now()
    db.execute(_LEND_NEW, (id, time, time, token, owner, expires))
    heads.lend(id, _last_row(db), token)
    return Lease(id, token, new=True)


def _next_token(db: Cursor) -> int:
    db.execute("UPDATE fence SET token = token + 1")
    (token,) = db.execute("SELECT token FROM fence").fetchone()
    return int(token)


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
    where, given = _where(
        thread=thread, namespace=namespace, id=None if checkpoint is None else short_id(checkpoint)
    )
    found = db.execute(
        f"SELECT {_OF} FROM checkpoint WHERE {where} ORDER BY key DESC LIMIT 1", given
    ).fetchone()
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
        f"SELECT thread.id, {_OF} FROM checkpoint"
        " JOIN thread ON thread.key = checkpoint.thread WHERE checkpoint.key = ?",
        (key,),
    ).fetchone()
    return _loaded(db, found[0], found[1:], values)


def key_named(db: Cursor, id: str, thread: int | None, namespace: str | None) -> int | None:
    """The key of a checkpoint of this id; one of the namespace asked for goes before any other."""
    where, values = _where(thread=thread, id=short_id(id))
    found = db.execute(f"SELECT namespace = ?, key FROM checkpoint WHERE {where}", (namespace, *values))
    return max(((own or 0, key) for own, key in found), default=(0, None))[1]


def _where(**columns: Any) -> tuple[str, list[Any]]:
    """The condition that a checkpoint was put and has these values; None stands for any."""
    given = {name: value for name, value in columns.items() if value is not None}
    return " AND ".join(["body IS NOT NULL", *(f"{name} = ?" for name in given)]), [*given.values()]


def _loaded(db: Cursor, thread: str, found: tuple[Any, ...], values: Values) -> Loaded:
    *columns, crc, parent = found
    key, _, namespace, id, _, step, source, created_at, body, metadata, _, _ = columns
    try:
        check(columns, crc)
        held = channel_map(db, columns, Bases()).whole()
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


def _last_row(db: Cursor) -> int:
    key = db.lastrowid
    assert key is not None
    return key
