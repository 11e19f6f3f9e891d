"""Commits, as the statements that the Postgres saver sends for them.

Rule: a commit is a list of statements, mostly of one, that ask for no answer before the next, so that a whole group of
commits goes out as one pipeline. The first one locks the thread, and its row count says whether the lease still
holds; each of the others finds its thread by id and token again, and so does nothing where that failed. A commit that
has to look at what is there first has none (`looks.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.types.numeric import Int8

from checkpointers.postgres.forms import id_bytes, said_bytes, write_bytes
from checkpointers.postgres.maps import Heads, Last, Made, Value, keep, mapped, shares_nothing
from checkpointers.postgres.statements import (
    ADD_THREAD,
    ADD_WRITES,
    ADD_WRITES_OF_MANY,
    ADD_WRITES_TO,
    LOCK,
    NO_KEY,
    SETTLE,
    Put,
    Statement,
    Tell,
    put_new,
    put_new_of_many,
)
from checkpointers.rules import concerns_thread, now, strange_item
from flowfn.ports import CheckpointRow, Commit, WriteRow, Writes
from flowfn.postgres.text import to_text

Holds = tuple[str, int | None]
"""The parameters of `HOLDS`."""

_MOST_VALUES = 16
"""Values that one statement puts: placeholders cost less than arrays, as long as they are few."""

_MOST = 1 << 20
"""Bytes of values that one row of writes has, unless a single one is longer."""


@dataclass(slots=True)
class Bundle:
    """Commits that are written as one, and fail as one: of one lease, and of writes alone but for the first.

    `statements` of which the first changes or locks a row unless the lease was lost; None where they can't be told
    before a look at what is there.
    """

    commits: list[Commit]
    statements: list[Statement] | None


def bundles(commits: Sequence[Commit], heads: Heads, *, new: bool) -> list[Bundle]:
    """Commits as statements, in their order; tasks of one run that ended together share theirs.

    With `new`, a commit that puts a checkpoint is one statement where it can be, and fails if something has named that
    checkpoint before.
    """
    return [Bundle(group, _statements(group, heads, new)) for group in _grouped(commits)]


def _grouped(commits: Sequence[Commit]) -> list[list[Commit]]:
    """Neighbours that write under one lease, and nothing else."""
    groups = [[commits[0]]]
    for commit in commits[1:]:
        group = groups[-1]
        if _adds_writes(commit) and _adds_writes(group[0]) and commit.lease == group[0].lease:
            group.append(commit)
        else:
            groups.append([commit])
    return groups


def _adds_writes(commit: Commit) -> bool:
    return (
        commit.lease is not None
        and not concerns_thread(commit)
        and all(isinstance(item, Writes) for item in commit.items)
    )


def _statements(group: Sequence[Commit], heads: Heads, new: bool) -> list[Statement] | None:
    commit = group[0]
    items = merged_items([item for one in group for item in one.items])
    if CheckpointRow in map(type, items):
        single = _single(commit, items, heads) if new else None
        return None if single is None else [single]
    settles = concerns_thread(commit)
    made = [locking(commit)] if commit.lease is None or not (items or settles) else []
    for item in items:
        made += add_writes(commit, item, heads)
    if settles:
        made.append(settling(commit))
    return made


def held_by(commit: Commit) -> Holds:
    """Whose lease a commit is under."""
    return to_text(commit.thread), None if commit.lease is None else commit.lease.token


def locking(commit: Commit) -> Statement:
    """What locks a commit's thread, and finds out whether its lease holds."""
    holds = held_by(commit)
    return Statement(ADD_THREAD, (holds[0], now())) if commit.lease is None else Statement(LOCK, holds)


def settling(commit: Commit) -> Statement:
    """What becomes of a commit's thread."""
    return Statement(SETTLE, (*held_by(commit), *_settled(commit)))


def _single(commit: Commit, items: Sequence[Any], heads: Heads) -> Statement | None:
    """A commit that puts a checkpoint, after writes under one that is known perhaps, as one statement.

    None if it's another one, or if it isn't known what the checkpoint shares.
    """
    *before, row = items
    if commit.lease is None or not isinstance(row, CheckpointRow) or len(before) > 1:
        return None
    last = heads.find(commit.lease, row.namespace, row.parent)
    base = {} if shares_nothing(row) else None if last is None else last.places
    if base is None:
        return None
    more: tuple[Any, ...] = _settled(commit) if concerns_thread(commit) else ()
    if before:
        (writes,) = before
        under = heads.find(commit.lease, *writes[:2]) if isinstance(writes, Writes) else None
        if under is None or len(_split(writes.rows)) > 1:
            return None
        more += (under.key, write_bytes(writes.rows))
    made = mapped(row, base) if last is None else mapped(row, base, last.other, last.small)
    if len(made.values) > _MOST_VALUES:
        return None
    lean = any(value.onto is not None or value.beside is not None for value in made.values)
    put = Put(concerns_thread(commit), bool(before), len(made.values), lean)
    many = put_new_of_many(put) if len(made.values) <= 1 else None
    described = (to_text(row.namespace), id_bytes(row.id), said_bytes(row), made.words)
    values = [part for value in made.values for part in (_parts(value) if lean else (value.data,))]
    parameters = (*held_by(commit), *described, *more, *values)
    return Statement(put_new(put), parameters, _told(commit, row, made, heads), many)


def _told(commit: Commit, row: CheckpointRow, made: Made, heads: Heads) -> Tell:
    lease = commit.lease
    assert lease is not None

    def tell(told: tuple[Any, ...]) -> None:
        keep(heads, lease, row, made, told[0])

    return tell


def merged_items(items: Iterable[Any]) -> list[Any]:
    """Items in their order, where writes of one checkpoint that follow each other are one item."""
    merged: list[Any] = []
    rows: list[WriteRow] = []
    for item in items:
        last = merged[-1] if merged else None
        if not isinstance(item, Writes):
            if not isinstance(item, CheckpointRow):
                raise strange_item(item)
            merged.append(item)
        elif isinstance(last, Writes) and last[:2] == item[:2]:
            rows += item.rows
        elif item.rows:
            rows = [*item.rows]
            merged.append(Writes(*item[:2], rows))
    return merged


def add_writes(commit: Commit, writes: Writes, heads: Heads) -> list[Statement]:
    """What adds writes under a checkpoint."""
    namespace, id, rows = writes
    holds, lease = held_by(commit), commit.lease
    last = heads.find(lease, namespace, id)
    if last is not None:
        return [
            Statement(ADD_WRITES, (*holds, last.key, write_bytes(some)), None, ADD_WRITES_OF_MANY)
            for some in _split(rows)
        ]

    def tell(told: tuple[int, bool]) -> None:
        key, put = told
        if put and lease is not None:
            heads.keep(lease.thread, namespace, Last(lease.token, id, key, None))

    place = (to_text(namespace), id_bytes(id))
    return [Statement(ADD_WRITES_TO, (*holds, *place, write_bytes(some)), tell) for some in _split(rows)]


def _parts(value: Value) -> tuple[Int8, Int8, bytes]:
    onto, beside, data = value
    return Int8(NO_KEY if onto is None else onto), Int8(NO_KEY if beside is None else beside), data


def _split(rows: Sequence[WriteRow]) -> list[Sequence[WriteRow]]:
    """Writes in rows of `_MOST` bytes."""
    parts = []
    first = size = 0
    for number, row in enumerate(rows):
        size += len(row.value)
        if size > _MOST and number > first:
            parts.append(rows[first:number])
            first, size = number, len(row.value)
    parts.append(rows[first:] if first else rows)
    return parts


def _settled(commit: Commit) -> tuple[Any, ...]:
    """The parameters of what becomes of a thread's row."""
    workflow, call = commit.begin or (None, None)
    status = commit.status or (commit.begin and "running")
    release = commit.release and commit.lease is not None
    return _maybe(workflow), _maybe(call), status, release, now()


def _maybe(name: str | None) -> str | None:
    return None if name is None else to_text(name)
