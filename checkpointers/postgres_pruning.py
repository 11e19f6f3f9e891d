"""How single checkpoints are forgotten in Postgres.

Rule: the thread's row is locked, so that nobody takes the thread meanwhile. A value that a kept checkpoint is read from
becomes its own.
"""

from __future__ import annotations

from collections.abc import Collection

from checkpointers.housekeeping import Place
from checkpointers.leases import label
from checkpointers.postgres_leases import HELD, held
from checkpointers.rules import busy
from flowfn.postgres.schema import Connection
from flowfn.postgres.text import from_text, to_text

_PLACES = """
    SELECT namespace, id FROM flowfn.checkpoint
    WHERE thread = (SELECT key FROM flowfn.thread WHERE id = $1) AND place IS NOT NULL ORDER BY place DESC"""

_DOOMED = """
    SELECT key FROM flowfn.checkpoint
    JOIN unnest($2::text[], $3::text[]) AS given (namespace, id) USING (namespace, id) WHERE thread = $1"""

_TAKE_OVER = """
    WITH RECURSIVE needed (key, heir) AS (
        SELECT stored.key, checkpoint.key FROM flowfn.checkpoint, unnest(stored) AS stored (key)
        WHERE thread = $1 AND checkpoint.key <> ALL($2::bigint[]) AND stored.key IS NOT NULL
        UNION SELECT value.onto, heir FROM needed JOIN flowfn.value USING (key) WHERE onto IS NOT NULL)
    UPDATE flowfn.value SET checkpoint = heir
    FROM (SELECT key, max(heir) AS heir FROM needed GROUP BY key) AS heirs
    WHERE value.key = heirs.key AND value.checkpoint = ANY($2::bigint[])"""


def places(db: Connection, thread: str) -> list[Place]:
    """Where each checkpoint of a thread is, the last committed first."""
    found = db.execute(_PLACES, (to_text(thread),))
    return [(from_text(namespace), from_text(id)) for namespace, id in found]


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
        spaces, ids = [to_text(space) for space, _ in places], [to_text(id) for _, id in places]
        doomed = [key for (key,) in db.execute(_DOOMED, (lease.key, spaces, ids))]
        db.execute(_TAKE_OVER, (lease.key, doomed))
        for table in ("value", "write"):
            db.execute(f"DELETE FROM flowfn.{table} WHERE checkpoint = ANY($1::bigint[])", (doomed,))
        db.execute("DELETE FROM flowfn.checkpoint WHERE key = ANY($1::bigint[])", (doomed,))
