"""The rows of threads: what they last ran, and who holds them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from checkpointers.leases import Held, Listed
from checkpointers.rules import now
from checkpointers.sqlite.channel_maps import span
from checkpointers.sqlite.checkpoints import forget_keys
from checkpointers.sqlite.heads import Heads
from checkpointers.sqlite.schema import IS_UNFINISHED
from flowfn.ports import Lease

Cursor = sqlite3.Cursor

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


def thread_key(db: Cursor, id: str) -> int | None:
    """The key of a thread."""
    found = db.execute("SELECT key FROM thread WHERE id = ?", (id,)).fetchone()
    return None if found is None else int(found[0])


def add_thread(db: Cursor, id: str) -> int:
    """Create a thread; returns its key."""
    time = now()
    db.execute(
        "INSERT INTO thread (id, created_at, updated_at, touched)"
        " VALUES (?, ?, ?, (SELECT coalesce(max(touched), 0) + 1 FROM thread))",
        (id, time, time),
    )
    return last_row(db)


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
    heads.lend(id, last_row(db), token)
    return Lease(id, token, new=True)


def _next_token(db: Cursor) -> int:
    db.execute("UPDATE fence SET token = token + 1")
    (token,) = db.execute("SELECT token FROM fence").fetchone()
    return int(token)


def take_back(db: Cursor, lease: Lease) -> None:
    """Free a thread, unless the lease was lost."""
    db.execute("UPDATE thread SET owner = NULL WHERE id = ? AND token = ?", (lease.thread, lease.token))


def give_up(db: Cursor, owner: str, threads: Sequence[str]) -> None:
    """Free those of some threads that an owner has."""
    db.executemany(
        "UPDATE thread SET owner = NULL WHERE id = ? AND owner = ?", [(thread, owner) for thread in threads]
    )


def take_away(db: Cursor, thread: int) -> None:
    """Free a thread of a holder that seems dead: if it comes back, it may not go on from what is forgotten."""
    db.execute("UPDATE thread SET owner = NULL, token = ? WHERE key = ?", (_next_token(db), thread))


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


def listing(db: Cursor, limit: int | None, where: str = "", *values: str) -> list[Listed]:
    """Threads, the last updated first."""
    rows = db.execute(
        "SELECT id, workflow, call, status, created_at, updated_at,"
        " workflow <> '' OR EXISTS (SELECT 1 FROM checkpoint WHERE checkpoint.thread = thread.key),"
        f" {_HELD} FROM thread {where} ORDER BY touched DESC LIMIT ?",
        (*values, -1 if limit is None else limit),
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


def last_row(db: Cursor) -> int:
    """The key of the row that was inserted last."""
    key = db.lastrowid
    assert key is not None
    return key
