"""How single checkpoints are forgotten in Postgres.

Rule: the thread's row is locked, so that nobody takes the thread meanwhile. The values that a kept checkpoint is read
from stay. A value's key says whose it is, and so a forgotten checkpoint whose values others are read from leaves a row
without a body, under an id that no checkpoint has, until they are gone too.
"""

from __future__ import annotations

from collections.abc import Collection

from checkpointers.housekeeping import Place
from checkpointers.leases import label
from checkpointers.postgres_forms import MAP, OWN, STORED, id_bytes, id_of
from checkpointers.postgres_leases import HELD, held
from checkpointers.rules import busy
from flowfn.postgres.schema import Connection
from flowfn.postgres.text import from_text, to_text

_PLACES = """
    SELECT namespace, id FROM flowfn.checkpoint
    WHERE thread = (SELECT key FROM flowfn.thread WHERE id = $1) AND body IS NOT NULL ORDER BY key DESC"""

_LEFT = "left"
"""The `source` of a row that stands for a forgotten checkpoint."""

_DOOMED = f"""
    SELECT key FROM flowfn.checkpoint
    JOIN unnest($2::text[], $3::bytea[]) AS given (namespace, id) USING (namespace, id) WHERE thread = $1
    UNION SELECT key FROM flowfn.checkpoint WHERE thread = $1 AND body IS NULL AND source = '{_LEFT}'"""

_FORGET_VALUES = f"""
    WITH RECURSIVE needed (key) AS (
        SELECT {STORED} FROM flowfn.checkpoint, {MAP}
        WHERE thread = $1 AND body IS NOT NULL AND checkpoint.key <> ALL($2::bigint[]) AND place LIKE '%:%'
        UNION SELECT other.key FROM needed JOIN flowfn.value USING (key), unnest(ARRAY[onto, beside]) AS other (key)
        WHERE other.key > 0)
    DELETE FROM flowfn.value USING flowfn.checkpoint
    WHERE {OWN} AND checkpoint.key = ANY($2::bigint[]) AND value.key NOT IN (SELECT key FROM needed)"""

_TAKE_AWAY = "UPDATE flowfn.thread SET token = nextval('flowfn.tick') WHERE key = $1"
"""A holder that seemed dead, and comes back, may not go on from what is forgotten."""

_LEAVE = f"""
    UPDATE flowfn.checkpoint SET id = '\\x00'::bytea || int8send(key), source = '{_LEFT}', parent = NULL, step = NULL,
        created_at = NULL, body = NULL, metadata = NULL, channels = NULL, places = NULL
    WHERE key = ANY($1::bigint[]) AND EXISTS (SELECT FROM flowfn.value WHERE {OWN})"""
"""A text has no NUL, and so no id begins with one that isn't as long as a UUID."""

_DELETE = f"""
    DELETE FROM flowfn.checkpoint
    WHERE key = ANY($1::bigint[]) AND NOT EXISTS (SELECT FROM flowfn.value WHERE {OWN})"""


def places(db: Connection, thread: str) -> list[Place]:
    """Where each checkpoint of a thread is, the last committed first."""
    found = db.execute(_PLACES, (to_text(thread),))
    return [(from_text(namespace), id_of(id)) for namespace, id in found]


def forget(db: Connection, thread: str, places: Collection[Place]) -> None:
    """Forget checkpoints of a thread.

    Raises:
        ThreadBusy: a live run holds it.
    """
    with db.transaction():
        row = db.execute(
            f"SELECT {HELD} FROM flowfn.thread WHERE id = $1 FOR NO KEY UPDATE", (to_text(thread),)
        ).fetchone()
        if row is None:
            return
        lease = held(*row)
        if (owner := lease.live_owner()) is not None:
            raise busy(thread, label(owner))
        spaces, ids = [to_text(space) for space, _ in places], [id_bytes(id) for _, id in places]
        doomed = [key for (key,) in db.execute(_DOOMED, (lease.key, spaces, ids))]
        if lease.owner is not None:
            db.execute(_TAKE_AWAY, (lease.key,))
        db.execute("DELETE FROM flowfn.write WHERE checkpoint = ANY($1::bigint[])", (doomed,))
        db.execute(_FORGET_VALUES, (lease.key, doomed))
        db.execute(_LEAVE, (doomed,))
        db.execute(_DELETE, (doomed,))
