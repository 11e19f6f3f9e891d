"""How single checkpoints are forgotten in Postgres.

Rule: the thread's row is locked, so that nobody takes the thread meanwhile. The values that a kept checkpoint is read
from stay. A value's key says whose it is, and so a forgotten checkpoint whose values others are read from leaves a row
that says nothing, under an id that no checkpoint has unless it's needed for the order, until they are gone too.
"""

from __future__ import annotations

from collections.abc import Collection

from checkpointers.leases import label
from checkpointers.postgres.forms import HAS_VALUE, ROOM, STORED, WORDS, id_bytes, id_of, key_of, value_of
from checkpointers.postgres.leases import HELD, held
from checkpointers.rules import busy
from flowfn.ports import Place
from flowfn.postgres.schema import Connection
from flowfn.postgres.text import from_text, to_text

_PLACES = """
    SELECT namespace, id FROM flowfn.checkpoint
    WHERE thread = (SELECT key FROM flowfn.thread WHERE id = $1) AND said IS NOT NULL ORDER BY key DESC"""

_IS_LEFT = "(ordered OR length(id) = 9 AND substr(id, 1, 1) = '\\x00')"
"""Of a row that says nothing, if it stands for a forgotten checkpoint: a text has no NUL, and a UUID another length."""

_DOOMED = f"""
    SELECT found.key FROM unnest($2::text[], $3::bytea[]) AS given (namespace, id),
        LATERAL {key_of("$1", "given.namespace", "given.id")} AS found (key)
    WHERE found.key IS NOT NULL
    UNION SELECT key FROM flowfn.checkpoint WHERE thread = $1 AND said IS NULL AND {_IS_LEFT}"""

_NEEDED = f"""
    WITH RECURSIVE needed (namespace, key) AS (
        SELECT namespace, {STORED} FROM flowfn.checkpoint, {WORDS}
        WHERE thread = $1 AND said IS NOT NULL AND checkpoint.key <> ALL($2::bigint[]) AND {HAS_VALUE}
        UNION SELECT namespace, other.key FROM needed,
            LATERAL ({value_of("$1", "needed.namespace", "needed.key")}) AS held,
            unnest(ARRAY[onto, beside]) AS other (key)
        WHERE other.key > 0)
    SELECT DISTINCT key FROM needed WHERE key / {ROOM} = ANY($2::bigint[])"""
"""The values of forgotten checkpoints that others are read from."""

_TAKE_AWAY = """
    UPDATE flowfn.thread SET taken = token, token = nextval('flowfn.tick'), owner = NULL WHERE id = $1"""
"""A holder that seemed dead, and comes back, may not go on from what is forgotten, and won't give the thread back."""

_FORGET_VALUES = f"""
    DELETE FROM flowfn.value USING unnest($1::bigint[]) AS gone (key)
    WHERE value.key BETWEEN gone.key * {ROOM} AND gone.key * {ROOM} + {ROOM - 1} AND value.key <> ALL($2::bigint[])"""

_FORGET = "DELETE FROM flowfn.checkpoint WHERE thread = $1 AND key = ANY($2::bigint[])"

_LEAVE = f"""
    UPDATE flowfn.checkpoint SET
        id = CASE WHEN ordered THEN id ELSE '\\x00'::bytea || int8send(key) END, said = NULL, places = NULL,
        onto = CASE WHEN key * {ROOM} = ANY($3::bigint[]) THEN onto END,
        beside = CASE WHEN key * {ROOM} = ANY($3::bigint[]) THEN beside END,
        data = CASE WHEN key * {ROOM} = ANY($3::bigint[]) THEN data END
    WHERE thread = $1 AND key = ANY($2::bigint[])"""


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
            db.execute(_TAKE_AWAY, (to_text(thread),))
        db.execute("DELETE FROM flowfn.write WHERE checkpoint = ANY($1::bigint[])", (doomed,))
        needed = [key for (key,) in db.execute(_NEEDED, (lease.key, doomed))]
        left = {key // ROOM for key in needed}
        db.execute(_FORGET_VALUES, (doomed, needed))
        db.execute(_FORGET, (lease.key, [key for key in doomed if key not in left]))
        db.execute(_LEAVE, (lease.key, [*left], needed))
