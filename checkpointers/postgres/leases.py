"""Leases in Postgres: who may write to a thread.

Rule: a token is given out in a transaction that holds the row of the thread, and leases end by the server's clock.
No indexed column changes with a lease, so that Postgres updates the row within its page, and no index (a HOT update).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from checkpointers.leases import Held
from checkpointers.rules import now
from flowfn.ports import Lease
from flowfn.postgres.schema import Connection
from flowfn.postgres.text import from_text, to_text

_TAKEN = "taken = CASE WHEN thread.owner IS NULL THEN thread.taken ELSE thread.token END"
"""The last token that was taken away from somebody, forcibly or as dead: a free thread's was given back."""

_TOKEN = "(nextval('flowfn.tick') * 1048576 + floor(random() * 1048576)::bigint)"
"""A new token, above all others. By chance alone it is one that was given out by a server whose last commits are lost,
and whose standby counts anew."""

HELD = "key, id, owner, token, coalesce(expires <= clock_timestamp(), true)"
"""What `Held` takes, of a thread's row."""

_TAKE_FREE = f"""
    INSERT INTO flowfn.thread AS thread (id, token, owner, expires, created_at, updated_at)
    VALUES ($1, {_TOKEN}, $2, clock_timestamp() + make_interval(secs => $3::float8), $4, $4)
    ON CONFLICT (id) DO UPDATE SET
        token = {_TOKEN}, owner = excluded.owner, expires = excluded.expires,
        updated_at = excluded.updated_at, {_TAKEN}
    WHERE thread.owner IS NULL OR $5::boolean
    RETURNING token, thread.xmax = 0"""
"""What it tells besides the token is whether the row is new: one that was there had to be locked."""

_TAKE_ALL_FREE = f"""
    WITH free AS (
        SELECT id FROM flowfn.thread WHERE id = ANY($1::text[]) AND owner IS NULL
        FOR NO KEY UPDATE SKIP LOCKED),
    taken AS (
        UPDATE flowfn.thread SET
            token = {_TOKEN}, owner = $2, updated_at = $4,
            expires = clock_timestamp() + make_interval(secs => $3::float8)
        FROM free WHERE thread.id = free.id RETURNING thread.id, token, false),
    made AS (
        INSERT INTO flowfn.thread (id, token, owner, expires, created_at, updated_at)
        SELECT id, {_TOKEN}, $2, clock_timestamp() + make_interval(secs => $3::float8), $4, $4
        FROM unnest($1::text[]) AS given (id)
        WHERE NOT EXISTS (SELECT FROM flowfn.thread WHERE thread.id = given.id)
        ON CONFLICT DO NOTHING RETURNING id, token, true)
    SELECT * FROM taken UNION ALL SELECT * FROM made"""
"""Takes the threads that are new or free; in the order of their ids, so that no two such statements wait for each
other. Those of which somebody has the row in hand are skipped."""

_TAKE = f"""
    UPDATE flowfn.thread SET
        token = {_TOKEN}, owner = $3, updated_at = $5,
        expires = clock_timestamp() + make_interval(secs => $4::float8), {_TAKEN}
    WHERE id = $1 AND token = $2 AND ($6::text IS NULL OR
        workflow = $6 AND call = $7 AND status IN ('running', 'interrupted', 'failed'))
    RETURNING token"""

_RENEW = """
    UPDATE flowfn.thread SET expires = clock_timestamp() + make_interval(secs => $3::float8)
    FROM unnest($1::text[], $2::bigint[]) AS held (id, token)
    WHERE thread.id = held.id AND thread.token = held.token"""


def take_free(db: Connection, thread: str, owner: str, ttl: float, force: bool) -> Lease | None:
    """Take a thread that is new, that nobody has, or by force; None if somebody has it."""
    found = db.ask(_TAKE_FREE, (to_text(thread), owner, ttl, now(), force))
    return _lease(thread, found.fetchone())


def take_all_free(db: Connection, threads: Iterable[str], owner: str, ttl: float) -> dict[str, Lease]:
    """Take those of some threads that are new or free, by id."""
    found = db.ask(_TAKE_ALL_FREE, (sorted(map(to_text, threads)), owner, ttl, now()))
    leases = (Lease(from_text(id), token, new) for id, token, new in found)
    return {lease.thread: lease for lease in leases}


def lease_of(db: Connection, thread: str) -> Held | None:
    """The lease of a thread."""
    found = db.ask(f"SELECT {HELD} FROM flowfn.thread WHERE id = $1", (to_text(thread),)).fetchone()
    return None if found is None else held(*found)


def leases_of(db: Connection, threads: Iterable[str]) -> list[Held]:
    """The leases of some threads."""
    found = db.ask(
        f"SELECT {HELD} FROM flowfn.thread WHERE id = ANY($1::text[])", ([*map(to_text, threads)],)
    )
    return [held(*row) for row in found]


def take(
    db: Connection, seen: Held, owner: str, ttl: float, workflow: str | None = None, call: str | None = None
) -> Lease | None:
    """Take a thread whose lease is still the one seen, and whose run of this call still waits to be continued.

    None if somebody was faster.
    """
    run = (None, None) if workflow is None or call is None else (to_text(workflow), to_text(call))
    found = db.ask(_TAKE, (to_text(seen.thread), seen.token, owner, ttl, now(), *run))
    return _lease(seen.thread, found.fetchone())


UNFINISHED_OF = (
    "WHERE sought IS NOT NULL AND workflow = $2 AND status IN ('running', 'interrupted', 'failed')"
)
"""Which threads' last run is of the workflow that is the second value, and has not ended: those have an index."""


def unfinished(db: Connection, workflow: str, call: str) -> list[Held]:
    """The leases of the threads whose last run of this call waits to be continued, the newest first."""
    rows = db.ask(
        f"SELECT {HELD} FROM flowfn.thread"
        " WHERE sought IN (hashtextextended($1::text, 0), hashtextextended($2::text, 0))"
        " AND workflow = $1 AND call = $2 AND status IN ('running', 'interrupted', 'failed') ORDER BY key DESC",
        (to_text(workflow), to_text(call)),
    )
    return [held(*row) for row in rows]


def next_call(db: Connection, workflow: str, after: str) -> str | None:
    """Of the calls of a workflow's unfinished runs, the first one after `after`; it reads the index of those runs."""
    found = db.ask(
        "SELECT min(call) FROM flowfn.thread WHERE sought IS NOT NULL AND workflow = $1 AND call > $2"
        " AND status IN ('running', 'interrupted', 'failed')",
        (to_text(workflow), to_text(after)),
    ).fetchone()
    return None if found is None or found[0] is None else from_text(found[0])


def take_back(db: Connection, leases: Sequence[Lease]) -> None:
    """Free threads, unless their lease was lost."""
    db.ask(
        "UPDATE flowfn.thread SET owner = NULL FROM unnest($1::text[], $2::bigint[]) AS held (id, token)"
        " WHERE thread.id = held.id AND thread.token = held.token",
        _columns(leases),
    )


def give_up(db: Connection, owner: str, threads: Sequence[str]) -> None:
    """Free those of some threads that an owner has. If there are none, nothing is asked of a server that takes no
    writes."""
    if any(held.owner == owner for held in leases_of(db, threads)):
        db.ask(
            "UPDATE flowfn.thread SET owner = NULL WHERE id = ANY($1::text[]) AND owner = $2",
            ([*map(to_text, threads)], owner),
        )


def given_back(db: Connection, leases: Sequence[Lease]) -> list[Lease]:
    """Those that aren't current any more because they were given back, and that certainly weren't taken away."""
    rows = db.ask(
        "SELECT thread.id, held.token FROM flowfn.thread, unnest($1::text[], $2::bigint[]) AS held (id, token)"
        " WHERE thread.id = held.id AND thread.token > held.token AND thread.taken < held.token",
        _columns(leases),
    )
    return [Lease(from_text(id), token) for id, token in rows]


def renew(db: Connection, leases: Sequence[Lease], ttl: float) -> None:
    """Push the expiry of leases on, unless they were lost."""
    db.ask(_RENEW, (*_columns(leases), ttl))


def held(key: int, id: str, owner: str | None, token: int, expired: bool) -> Held:
    """The lease in a row of `HELD`."""
    return Held(key, from_text(id), owner, token, expired)


def _columns(leases: Sequence[Lease]) -> tuple[list[str], list[int]]:
    return [to_text(lease.thread) for lease in leases], [lease.token for lease in leases]


def _lease(thread: str, found: tuple[Any, ...] | None) -> Lease | None:
    return None if found is None else Lease(thread, *found)
