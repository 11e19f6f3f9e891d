"""What commits and leases of the Postgres saver write.

Rule: a commit is a list of statements, mostly of one, that ask for no answer before the next, so that a whole group of
commits goes out as one pipeline. The first one locks the thread, and its row count says whether the lease still
holds; each of the others finds its thread by id and token again, and so does nothing where that failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import count, islice
from typing import Any, NamedTuple

from psycopg.types.numeric import Int8

from checkpointers.packing import NOTHING
from checkpointers.postgres_forms import (
    MAP,
    OWN,
    PLACE,
    ROOM,
    STORED,
    VERSION,
    id_bytes,
    time_bytes,
    value_at,
    write_bytes,
)
from checkpointers.postgres_maps import Heads, Last, bytes_of, keep, mapped, shares_nothing
from checkpointers.rules import concerns_thread, now, strange_item
from flowfn.ports import CheckpointRow, Commit, WriteRow, Writes
from flowfn.postgres.text import to_line, to_text

_HOLDS = "thread.id = $1 AND ($2::bigint IS NULL OR thread.token = $2::bigint)"
"""The thread of a commit, unless its lease was lost. A commit without a lease has no token."""

_LOCK = f"SELECT FROM flowfn.thread WHERE {_HOLDS} FOR NO KEY UPDATE"

_ADD_THREAD = """
    INSERT INTO flowfn.thread (id, created_at, updated_at) VALUES ($1, $2, $2)
    ON CONFLICT (id) DO UPDATE SET id = excluded.id"""
"""Creates a thread where there is none, and locks it either way."""

_SET = """
    workflow = coalesce({}::text, workflow), call = coalesce({}::text, call), status = coalesce({}::text, status),
    owner = CASE WHEN {}::boolean THEN NULL ELSE owner END, updated_at = {}, touched = nextval('flowfn.tick')"""
"""What becomes of a thread's row with its run."""

_SETTLE = f"UPDATE flowfn.thread SET {_SET.format('$3', '$4', '$5', '$6', '$7')} WHERE {_HOLDS}"

_HERE = f"""
    here AS MATERIALIZED (
        SELECT thread.key AS thread, known.key AS known,
            CASE WHEN known.body IS NULL THEN nextval('flowfn.tick') ELSE known.key END AS key
        FROM flowfn.thread LEFT JOIN flowfn.checkpoint AS known
        ON known.thread = thread.key AND namespace = $3::text AND known.id = $4::bytea
        WHERE {_HOLDS})"""
"""The key of a checkpoint: of one that was put before its own, else the next."""

_PUT = f"""
    base AS (
        SELECT key, channels, places FROM flowfn.checkpoint
        WHERE thread = (SELECT thread FROM here) AND namespace = $3::text
            AND ($5::bytea IS NULL OR id = $5::bytea) AND body IS NOT NULL
        ORDER BY key DESC LIMIT 1),
    old AS (
        SELECT channel, {VERSION} AS version, {STORED} AS stored
        FROM base AS checkpoint, {MAP} WHERE place IS NOT NULL),
    given AS (
        SELECT given.*, old.version AS old_version, old.stored,
            CASE WHEN put = 'delta' THEN coalesce(old.stored, 0) END AS onto
        FROM unnest($11::text[], $12::bigint[], $13::text[], $14::bytea[], $15::bigint[])
            WITH ORDINALITY AS given (channel, version, put, data, beside, nth)
        LEFT JOIN old USING (channel)),
    put AS MATERIALIZED (
        SELECT data, onto, beside, row_number() OVER () + {{before}} AS key
        FROM here AS checkpoint, (SELECT DISTINCT data, onto, beside FROM given WHERE data IS NOT NULL) AS different),
    added AS (
        INSERT INTO flowfn.value (key, onto, beside, data)
        SELECT key, onto, CASE WHEN beside > 0 AND NOT EXISTS (
            SELECT FROM flowfn.value WHERE value.key = put.beside) THEN -1 ELSE beside END, data FROM put),
    held AS (
        SELECT channel, version, nth,
            CASE WHEN given.put IS NOT NULL THEN put.key WHEN version = old_version THEN stored END AS stored
        FROM given LEFT JOIN put ON given.data = put.data
            AND coalesce(given.onto, 0) = coalesce(put.onto, 0)
            AND coalesce(given.beside, -1) = coalesce(put.beside, -1))
    INSERT INTO flowfn.checkpoint (
        key, thread, namespace, id, parent, step, source, created_at, body, metadata, channels, places)
    SELECT here.key, here.thread, $3, $4, $5, $6, $7, $8, $9, $10, names, words
    FROM here, LATERAL (
        SELECT coalesce(string_agg(channel || E'\\n', '' ORDER BY nth), '') AS names,
            coalesce(string_agg({PLACE}, ' ' ORDER BY nth), '') AS words FROM held) AS map
    {{conflict}}
    RETURNING key, places"""
"""Puts a checkpoint under the key that is `here`. It tells its key and its places."""

_AFTER_OWN = f"""coalesce(
    CASE WHEN known = checkpoint.key THEN (SELECT max(key) FROM flowfn.value WHERE {OWN}) END,
    checkpoint.key * {ROOM} - 1)"""
"""The last key of the values that a checkpoint was put with before."""

_FILL = """
    ON CONFLICT (thread, id, namespace) DO UPDATE SET
        key = excluded.key, parent = excluded.parent, step = excluded.step, source = excluded.source,
        created_at = excluded.created_at, body = excluded.body, metadata = excluded.metadata,
        channels = excluded.channels, places = excluded.places"""

_PUT_AGAIN = f"""
    WITH {_HERE},
    moved AS (
        UPDATE flowfn.write SET checkpoint = here.key FROM here
        WHERE checkpoint = here.known AND here.known <> here.key),
    {_PUT.format(before=_AFTER_OWN, conflict=_FILL)}"""
"""Puts a checkpoint, and fills the one that writes have named before: its key is the next one then, and theirs too.

The values of one that was put before stay, for others may be read from them. The thread is locked.
"""

_NONE = -2
"""Stands for no key: a parameter is always of one type, so that a statement is planned once."""

_MOST_VALUES = 16
"""Values that one statement puts: placeholders cost less than arrays, as long as they are few."""


@cache
def _put_new(settles: bool, adds: bool, values: int) -> str:
    """Puts a checkpoint that nothing has named before, or fails; with what becomes of the run, or a row of writes.

    It locks the thread. What it then reads may be as old as the statement, and so it may not find that its checkpoint
    has been named meanwhile: but then it fails. It tells the checkpoint's key.
    """
    numbers = (f"${number}" for number in count(3))
    described = ", ".join(islice(numbers, 10))
    fence = f"SELECT thread.key FROM flowfn.thread WHERE {_HOLDS} FOR NO KEY UPDATE"
    if settles:
        row = _SET.format(*islice(numbers, 5))
        fence = f"UPDATE flowfn.thread SET {row} WHERE {_HOLDS} RETURNING thread.key"
    more = []
    if adds:
        under, data = islice(numbers, 2)
        more.append(f""",
        wrote AS (INSERT INTO flowfn.write (checkpoint, data) SELECT {under}::bigint, {data}::bytea FROM fence)""")
    if values:
        rows = (
            f"({nth}, nullif({next(numbers)}, {_NONE}), nullif({next(numbers)}, {_NONE}), {next(numbers)}::bytea)"
            for nth in range(values)
        )
        more.append(f""",
        added AS (
            INSERT INTO flowfn.value (key, onto, beside, data)
            SELECT here.key * {ROOM} + nth, {_THERE.format("given.onto")}, {_THERE.format("given.beside")}, data
            FROM here, (VALUES {", ".join(rows)}) AS given (nth, onto, beside, data))""")
    return f"""
        WITH fence AS MATERIALIZED ({fence}),
        here AS MATERIALIZED (SELECT key AS thread, nextval('flowfn.tick') AS key FROM fence){"".join(more)}
        INSERT INTO flowfn.checkpoint (
            thread, key, namespace, id, parent, step, source, created_at, body, metadata, channels, places)
        SELECT here.thread, here.key, {described} FROM here RETURNING key"""


_THERE = """
    CASE WHEN {0} > 0 AND NOT EXISTS (SELECT FROM flowfn.value WHERE value.key = {0}) THEN -1 ELSE {0} END"""
"""What a value stands on, unless it is gone: then it is refused."""


_ADD_WRITES = f"""
    WITH fence AS MATERIALIZED (SELECT FROM flowfn.thread WHERE {_HOLDS} FOR NO KEY UPDATE)
    INSERT INTO flowfn.write (checkpoint, data) SELECT $3::bigint, $4::bytea FROM fence"""
"""Adds a row of writes to the checkpoint of a key. It locks the thread first."""

_ADD_WRITES_TO = f"""
    WITH fence AS MATERIALIZED (
        SELECT thread.key FROM flowfn.thread WHERE {_HOLDS} FOR NO KEY UPDATE),
    known AS MATERIALIZED (
        SELECT key, body IS NOT NULL AS put FROM flowfn.checkpoint
        WHERE thread = (SELECT key FROM fence) AND namespace = $3::text AND id = $4::bytea),
    made AS (
        INSERT INTO flowfn.checkpoint (thread, namespace, id) SELECT key, $3::text, $4::bytea FROM fence
        WHERE NOT EXISTS (SELECT FROM known)
        ON CONFLICT (thread, id, namespace) DO UPDATE SET id = excluded.id RETURNING key, body IS NOT NULL AS put),
    here AS (SELECT * FROM known UNION ALL SELECT * FROM made),
    added AS (INSERT INTO flowfn.write (checkpoint, data) SELECT key, $5::bytea FROM here)
    SELECT key, put FROM here"""
"""Adds a row of writes to the checkpoint of an id, which is created empty where nothing has named it yet.

It locks the thread first. Should it wait for that, it may not see a checkpoint that was created meanwhile, and finds it
by the conflict instead. It tells the checkpoint's key, and whether it was put, and so keeps the key.
"""

_MOST = 1 << 20
"""Bytes of values that one row of writes has, unless a single one is longer."""


class Statement(NamedTuple):
    """SQL, its parameters, and who is told the row that it answers with, if anybody."""

    query: str
    parameters: Sequence[Any]
    tell: Callable[[tuple[Any, ...]], None] | None = None


@dataclass(slots=True)
class Bundle:
    """Commits that are written as one, and fail as one: of one lease, and of writes alone but for the first.

    `statements` of which the first changes or locks a row unless the lease was lost.
    """

    commits: list[Commit]
    statements: list[Statement]


def bundles(commits: Iterable[Commit], heads: Heads, *, new: bool) -> list[Bundle]:
    """Commits as statements, in their order; tasks of one run that ended together share theirs.

    With `new`, a commit that puts a checkpoint is one statement where it can be, and fails if something has named that
    checkpoint before.
    """
    made: list[Bundle] = []
    for group in _grouped(commits):
        made.append(Bundle(group, list(_statements(group, heads, new))))
    return made


def _grouped(commits: Iterable[Commit]) -> Iterator[list[Commit]]:
    """Neighbours that write under one lease, and nothing else."""
    group: list[Commit] = []
    for commit in commits:
        if group and not (_adds_writes(commit) and _adds_writes(group[0]) and commit.lease == group[0].lease):
            yield group
            group = []
        group.append(commit)
    if group:
        yield group


def _adds_writes(commit: Commit) -> bool:
    return (
        commit.lease is not None
        and not concerns_thread(commit)
        and all(isinstance(item, Writes) for item in commit.items)
    )


def _statements(group: Sequence[Commit], heads: Heads, new: bool) -> Iterator[Statement]:
    commit = group[0]
    holds = (to_text(commit.thread), None if commit.lease is None else commit.lease.token)
    items = _merged([item for one in group for item in one.items])
    if new and (single := _single(holds, commit, items, heads)) is not None:
        yield single
        return
    first = items[0] if items else None
    if commit.lease is None:
        yield Statement(_ADD_THREAD, (holds[0], now()))
    elif isinstance(first, CheckpointRow) or (first is None and not concerns_thread(commit)):
        yield Statement(_LOCK, holds)
    for item in items:
        if isinstance(item, Writes):
            yield from _add_writes(holds, commit, item, heads)
        elif isinstance(item, CheckpointRow):
            yield _put(holds, commit, item, heads)
        else:
            raise strange_item(item)
    if concerns_thread(commit):
        yield Statement(_SETTLE, (*holds, *_settled(commit)))


def _single(
    holds: tuple[str, int | None], commit: Commit, items: Sequence[Any], heads: Heads
) -> Statement | None:
    """A commit that puts a checkpoint, after writes under one that is known perhaps, as one statement.

    None if it's another one, or if it isn't known what the checkpoint shares.
    """
    *before, row = items or (None,)
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
        if under is None or len(list(_split(writes.rows))) > 1:
            return None
        more += (under.key, write_bytes(writes.rows))
    made = mapped(row, base, NOTHING if last is None else last.other)
    if len(made.values) > _MOST_VALUES:
        return None
    query = _put_new(concerns_thread(commit), bool(before), len(made.values))
    described = (to_text(row.namespace), id_bytes(row.id), *_described(row), made.channels, made.words)
    values = [
        part
        for onto, beside, data in made.values
        for part in (_key_or_none(onto), _key_or_none(beside), data)
    ]
    tell = partial(keep, heads, commit.lease, row, made)
    return Statement(query, (*holds, *described, *more, *values), tell)


def _merged(items: Iterable[Any]) -> list[Any]:
    """Items in their order, where writes of one checkpoint that follow each other are one item."""
    merged: list[Any] = []
    rows: list[WriteRow] = []
    for item in items:
        last = merged[-1] if merged else None
        if not isinstance(item, Writes):
            merged.append(item)
        elif isinstance(last, Writes) and last[:2] == item[:2]:
            rows += item.rows
        elif item.rows:
            rows = [*item.rows]
            merged.append(item._replace(rows=rows))
    return merged


def _add_writes(
    holds: tuple[str, int | None], commit: Commit, writes: Writes, heads: Heads
) -> Iterator[Statement]:
    namespace, id, rows = writes
    lease = commit.lease
    last = heads.find(lease, namespace, id)

    def tell(told: tuple[int, bool]) -> None:
        key, put = told
        if put and lease is not None:
            heads.keep(lease.thread, namespace, Last(lease.token, id, key, None))

    for some in _split(rows):
        if last is not None:
            yield Statement(_ADD_WRITES, (*holds, last.key, write_bytes(some)))
        else:
            place = (to_text(namespace), id_bytes(id))
            yield Statement(_ADD_WRITES_TO, (*holds, *place, write_bytes(some)), tell)


def _key_or_none(key: int | None) -> Int8:
    return Int8(_NONE if key is None else key)


def _split(rows: Sequence[WriteRow]) -> Iterator[Sequence[WriteRow]]:
    """Writes in rows of `_MOST` bytes."""
    first = size = 0
    for number, row in enumerate(rows):
        size += len(row.value)
        if size > _MOST and number > first:
            yield rows[first:number]
            first, size = number, len(row.value)
    yield rows[first:]


def _put(holds: tuple[str, int | None], commit: Commit, row: CheckpointRow, heads: Heads) -> Statement:
    """A checkpoint, whose channels are the ones that it changes, and those that it shares with its base."""
    lease = commit.lease
    last = heads.find(lease, row.namespace, row.parent)
    put = [row.values.get(channel) for channel in row.versions]
    kept = [bytes_of(one, NOTHING if last is None else last.other) for one in put]
    given: tuple[list[Any], ...] = (
        [to_line(channel) for channel in row.versions],
        list(row.versions.values()),
        [None if one is None else "delta" if one.deltas else "whole" for one in put],
        [data for data, _ in kept],
        [beside for _, beside in kept],
    )

    def tell(told: tuple[int, str]) -> None:
        key, words = told
        if lease is not None:
            at = [value_at(key, word) for word in words.split(" ")] if words else []
            places = dict(zip(row.versions, zip(row.versions.values(), at, strict=True), strict=True))
            heads.keep(lease.thread, row.namespace, Last(lease.token, row.id, key, places))

    return Statement(
        _PUT_AGAIN, (*holds, to_text(row.namespace), id_bytes(row.id), *_described(row), *given), tell
    )


def _described(row: CheckpointRow) -> tuple[Any, ...]:
    """What a checkpoint says of itself, behind its id."""
    return (
        None if row.parent is None else id_bytes(row.parent),
        row.step,
        to_text(row.source),
        time_bytes(row.created_at),
        row.body,
        row.metadata,
    )


def _settled(commit: Commit) -> tuple[Any, ...]:
    """The parameters of what becomes of a thread's row."""
    workflow, call = commit.begin or (None, None)
    status = commit.status or (commit.begin and "running")
    release = commit.release and commit.lease is not None
    return _maybe(workflow), _maybe(call), status, release, now()


def _maybe(name: str | None) -> str | None:
    return None if name is None else to_text(name)
