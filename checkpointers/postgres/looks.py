"""Commits that have to look at what is there before they put a checkpoint.

Rule: the thread is locked first, so that what is found stays as it is until the commit is made. So is put what a saver
that holds no lease is given; a checkpoint whose parent the holder hasn't put or read itself; one that something has
named before; and one of many values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from checkpointers.packing import NOTHING
from checkpointers.postgres.commits import add_writes, locking, merged_items, settling
from checkpointers.postgres.forms import OWN, ROOM, Places, id_bytes, key_of, places_of, said_bytes, said_of
from checkpointers.postgres.maps import Heads, Made, keep, mapped, shares_nothing
from checkpointers.postgres.statements import HOLDS, Statement
from checkpointers.rules import concerns_thread
from flowfn.errors import SaverError
from flowfn.ports import CheckpointRow, Commit, Writes
from flowfn.postgres.schema import Connection
from flowfn.postgres.text import to_text

Tell = Callable[[], None]

_LOOK = f"""
    WITH of AS MATERIALIZED (SELECT key FROM flowfn.thread WHERE {HOLDS})
    SELECT of.key, checkpoint.key, said IS NOT NULL,
        coalesce((SELECT max(value.key) FROM flowfn.value WHERE {OWN}) % {ROOM}, 0), nextval('flowfn.tick')
    FROM of LEFT JOIN flowfn.checkpoint ON checkpoint.thread = (SELECT key FROM of)
        AND checkpoint.namespace = $3::text
        AND checkpoint.key = {key_of("(SELECT key FROM of)", "$3::text", "$4::bytea")}"""

_BASE = f"""
    SELECT key, said, places FROM flowfn.checkpoint
    WHERE thread = $1 AND namespace = $2 AND key = {key_of("$1", "$2", "$3")} AND said IS NOT NULL"""

_LAST = """
    SELECT key, said, places FROM flowfn.checkpoint
    WHERE thread = $1 AND namespace = $2 AND said IS NOT NULL ORDER BY key DESC LIMIT 1"""

_PUT = """
    INSERT INTO flowfn.checkpoint (thread, key, ordered, namespace, id, said, places, onto, beside, data)
    VALUES ($1, $2, flowfn.follows($1, $3, $4), $3, $4, $5, $6, $7, $8, $9)"""

_FILL = """
    UPDATE flowfn.checkpoint SET key = $2, said = $4, places = $5, onto = coalesce($6, onto),
        beside = coalesce($7, beside), data = coalesce($8, data)
    WHERE thread = $1 AND namespace = $3 AND key = $9"""
"""Fills a checkpoint that writes have named before, or puts it again: its first value stays then."""

_ADD_VALUES = """
    INSERT INTO flowfn.value (key, onto, beside, data)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[])"""

_MOVE_WRITES = "UPDATE flowfn.write SET checkpoint = $2 WHERE checkpoint = $1"


class _Spot(NamedTuple):
    """Where a checkpoint is put: its thread's key, its own, the one that it had, and the number of its first value."""

    thread: int
    key: int
    former: int | None
    first: int


def write(db: Connection, commit: Commit, heads: Heads) -> Callable[[], bool]:
    """Write a commit in the transaction that is open.

    What it returns is to be called once that is committed: it tells the heads what is there, and if the lease held.
    """
    tells: list[Tell] = []
    if db.execute(*locking(commit)[:2]).fetchone() is None:
        return lambda: False
    for item in merged_items(commit.items):
        if isinstance(item, Writes):
            tells += [_sent(db, statement) for statement in add_writes(commit, item, heads)]
        else:
            tells.append(_put(db, commit, item, heads))
    if concerns_thread(commit):
        tells.append(_sent(db, settling(commit)))

    def heard() -> bool:
        for tell in tells:
            tell()
        return True

    return heard


def _sent(db: Connection, statement: Statement) -> Tell:
    answer, tell = db.execute(*statement[:2]), statement.tell

    def told() -> None:
        if tell is not None and (row := answer.fetchone()) is not None:
            tell(row)

    return told


def _put(db: Connection, commit: Commit, row: CheckpointRow, heads: Heads) -> Tell:
    spot = _spot(db, commit, row)
    base = {} if shares_nothing(row) else _base(db, spot, row)
    if base is None and commit.lease is not None and row.parent is not None:
        raise _set_back(commit, row)
    made = mapped(row, base or {}, NOTHING, first=spot.first)
    if spot.former is not None and spot.former != spot.key:
        db.execute(_MOVE_WRITES, (spot.former, spot.key))
    first: tuple[Any, ...] = (None, None, None)
    values = [*made.values]
    if values and not spot.first:
        first = values.pop(0)
    thread, key, namespace, said = spot.thread, spot.key, to_text(row.namespace), said_bytes(row)
    if spot.former is None:
        db.execute(_PUT, (thread, key, namespace, id_bytes(row.id), said, made.words, *first))
    else:
        db.execute(_FILL, (thread, key, namespace, said, made.words, *first, spot.former))
    if values:
        number = spot.key * ROOM + max(spot.first, 1)
        columns = ([*column] for column in zip(*values, strict=True))
        db.execute(_ADD_VALUES, ([number + nth for nth in range(len(values))], *columns))
    return lambda: _known(heads, commit, row, made, spot.key)


def _known(heads: Heads, commit: Commit, row: CheckpointRow, made: Made, key: int) -> None:
    if commit.lease is not None:
        keep(heads, commit.lease, row, made, key)


def _spot(db: Connection, commit: Commit, row: CheckpointRow) -> _Spot:
    """The key of a checkpoint: of one that was put before its own, else the next."""
    token = None if commit.lease is None else commit.lease.token
    where = (to_text(commit.thread), token, to_text(row.namespace), id_bytes(row.id))
    ((thread, former, put, last, following),) = db.execute(_LOOK, where).fetchall()
    return _Spot(thread, former, former, last + 1) if put else _Spot(thread, following, former, 0)


def _set_back(commit: Commit, row: CheckpointRow) -> SaverError:
    """Why a run can't put what it comes to: others' leases would have kept them from taking the parent away."""
    return SaverError(
        f"Thread {commit.thread!r} has no checkpoint {row.parent!r} any more, from which this run went on: the database"
        " was set back to an earlier state, by a failover or a backup. Call the workflow again: it goes on from what is"
        " there, and does what is missing once more."
    )


def _base(db: Connection, spot: _Spot, row: CheckpointRow) -> Places | None:
    """The places of the checkpoint that a new one shares its values with; None if it isn't there."""
    where = (spot.thread, to_text(row.namespace))
    if row.parent is None:
        found = db.execute(_LAST, where).fetchone()
    else:
        found = db.execute(_BASE, (*where, id_bytes(row.parent))).fetchone()
    if found is None:
        return None
    key, said, places = found
    return places_of(key, said_of(said).channels, places)
