"""What commits of the Postgres saver write.

Rule: a commit is a list of statements, mostly of one, that ask for no answer before the next, so that a whole group of
commits goes out as one pipeline. The first one locks the thread, and its row count says whether the lease still
holds; each of the others finds its thread by id and token again, and so does nothing where that failed. A commit that
has to look at what is there first has none (`looks.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from psycopg.types.numeric import Int8

from checkpointers.postgres.forms import ROOM, id_bytes, key_of, said_bytes, value_of, write_bytes
from checkpointers.postgres.maps import Heads, Last, Made, Value, keep, mapped, shares_nothing
from checkpointers.rules import concerns_thread, now, strange_item
from flowfn.ports import CheckpointRow, Commit, WriteRow, Writes
from flowfn.postgres.text import to_text

Holds = tuple[str, int | None]
"""The parameters of `HOLDS`."""

HOLDS = "thread.id = $1 AND ($2::bigint IS NULL OR thread.token = $2::bigint)"
"""The thread of a commit, unless its lease was lost. A commit without a lease has no token."""

LOCK = f"SELECT FROM flowfn.thread WHERE {HOLDS} FOR NO KEY UPDATE"

_ADD_THREAD = """
    INSERT INTO flowfn.thread (id, created_at, updated_at) VALUES ($1, $2, $2)
    ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING key"""
"""Creates a thread where there is none, and locks it either way."""

_SET = """
    workflow = coalesce({0}::text, workflow), call = coalesce({1}::text, call), status = coalesce({2}::text, status),
    runs = CASE WHEN {0}::text IS NULL THEN runs ELSE least(runs + 1, 16) END,
    sought = CASE WHEN runs = 16 THEN hashtextextended(coalesce({0}::text, workflow), 0)
        WHEN coalesce({2}::text, status) IN ('running', 'interrupted', 'failed')
        THEN hashtextextended(coalesce({1}::text, call), 0) END,
    owner = CASE WHEN {3}::boolean THEN NULL ELSE owner END, updated_at = {4}, touched = nextval('flowfn.tick')"""
"""What becomes of a thread's row with its run.

Unfinished runs are sought by their call; but a thread that has had sixteen stays under the name of its workflow,
finished or not: nothing that an index is of changes then. Who seeks looks through those conversations.
"""

_SETTLE = f"UPDATE flowfn.thread SET {_SET.format('$3', '$4', '$5', '$6', '$7')} WHERE {HOLDS}"

_NONE = -2
"""Stands for no key: a parameter is always of one type, so that a statement is planned once."""

_MOST_VALUES = 16
"""Values that one statement puts: placeholders cost less than arrays, as long as they are few."""


@cache
def _put_new(settles: bool, adds: bool, values: int, many: bool = False) -> str:
    """Puts a checkpoint that nothing has named before, or fails; with what becomes of the run, or a row of writes.

    It locks the thread, and then looks whether something has named its checkpoint. It tells the checkpoint's key. With
    `many`, it does so for each of the threads in its parameters, which are arrays then, and tells their numbers too;
    `values` are 1 then, or none.
    """
    types = ["text", "bigint", "text", "bytea", "bytea", "text"]
    types += ["text", "text", "text", "boolean", "text"] * settles + ["bigint", "bytea"] * adds
    types += ["bigint", "bigint", "bytea"] * values
    numbers = iter(range(3, len(types) + 1))

    def given(count: int, of: str = "here") -> list[str]:
        return [f"{of}.p{n}" if many else f"${n}::{types[n - 1]}" for n in islice(numbers, count)]

    described = given(4)
    holds = "thread.id = given.p1 AND thread.token = given.p2" if many else HOLDS
    told, others, also = (", given.*", ", given", "FROM given") if many else ("", "", "")
    fence = f"SELECT thread.key{told} FROM flowfn.thread{others} WHERE {holds} FOR NO KEY UPDATE OF thread"
    if settles:
        row = _SET.format(*given(5, "given"))
        fence = f"UPDATE flowfn.thread SET {row} {also} WHERE {holds} RETURNING thread.key{told}"
    more = []
    if adds:
        writes = ", ".join(given(2))
        more.append(f", wrote AS (INSERT INTO flowfn.write (checkpoint, data) SELECT {writes} FROM here)")
    put = [_value(given(3), described[0]) for _ in range(values)]
    if values > 1:
        rows = " UNION ALL ".join(
            f"SELECT here.key * {ROOM} + {nth}, {value} FROM here" for nth, value in enumerate(put[1:], 1)
        )
        more.append(f", added AS (INSERT INTO flowfn.value (key, onto, beside, data) {rows})")
    each = (", ".join(f"fence.p{n}" for n in range(1, len(types) + 1)) + ", fence.nth") if many else ""
    insert = f"""
        INSERT INTO flowfn.checkpoint (thread, key, ordered, namespace, id, said, places, onto, beside, data)
        SELECT here.thread, here.key, flowfn.follows(here.thread, {", ".join(described[:2])}), {", ".join(described)},
            {put[0] if put else "NULL, NULL, NULL"} FROM here"""
    return f"""
        WITH {_given(types) + "," if many else ""} fence AS MATERIALIZED ({fence}),
        here AS MATERIALIZED (
            SELECT fence.key AS thread, nextval('flowfn.tick') AS key{each and ", " + each} FROM fence){"".join(more)}
        {f", put AS ({insert}) SELECT nth, key FROM here" if many else f"{insert} RETURNING key"}"""


def _given(types: Sequence[str]) -> str:
    """SQL for parameters that are arrays as rows: columns `p1` and so on, and `nth`, which counts from 1."""
    arrays = ", ".join(f"${n}::{type}[]" for n, type in enumerate(types, 1))
    columns = ", ".join(f"p{n}" for n in range(1, len(types) + 1))
    return f"given AS MATERIALIZED (SELECT * FROM unnest({arrays}) WITH ORDINALITY AS given ({columns}, nth))"


def _value(columns: Sequence[str], namespace: str) -> str:
    """SQL for a value: what it is onto and beside, and its data; where what it stands on is gone, it is refused."""
    onto, beside, data = columns

    def there(key: str) -> str:
        stood_on = value_of("here.thread", namespace, key)
        return f"nullif(CASE WHEN {key} > 0 AND NOT EXISTS ({stood_on}) THEN -1 ELSE {key} END, {_NONE})"

    return f"{there(onto)}, {there(beside)}, {data}"


_ADD_WRITES = f"""
    WITH fence AS MATERIALIZED (SELECT FROM flowfn.thread WHERE {HOLDS} FOR NO KEY UPDATE)
    INSERT INTO flowfn.write (checkpoint, data) SELECT $3::bigint, $4::bytea FROM fence"""
"""Adds a row of writes to the checkpoint of a key. It locks the thread first."""

_ADD_MANY_WRITES = f"""
    WITH {_given(["text", "bigint", "bigint", "bytea"])},
    fence AS MATERIALIZED (
        SELECT given.* FROM flowfn.thread, given WHERE thread.id = given.p1 AND thread.token = given.p2
        FOR NO KEY UPDATE OF thread),
    added AS (INSERT INTO flowfn.write (checkpoint, data) SELECT p3, p4 FROM fence)
    SELECT nth FROM fence"""
"""Does so for many threads; it tells the numbers of those whose lease holds."""

_ADD_WRITES_TO = f"""
    WITH fence AS MATERIALIZED (
        SELECT thread.key FROM flowfn.thread WHERE {HOLDS} FOR NO KEY UPDATE),
    known AS MATERIALIZED (SELECT key AS thread, {key_of("key", "$3::text", "$4::bytea")} AS key FROM fence),
    made AS (
        INSERT INTO flowfn.checkpoint (thread, namespace, id) SELECT thread, $3::text, $4::bytea FROM known
        WHERE key IS NULL RETURNING thread, key),
    here AS (SELECT * FROM known WHERE key IS NOT NULL UNION ALL SELECT * FROM made),
    added AS (INSERT INTO flowfn.write (checkpoint, data) SELECT key, $5::bytea FROM here)
    SELECT key, coalesce((
        SELECT said IS NOT NULL FROM flowfn.checkpoint AS put
        WHERE put.thread = here.thread AND put.namespace = $3::text AND put.key = here.key), false) FROM here"""
"""Adds a row of writes to the checkpoint of an id, which is created empty where nothing has named it yet.

It locks the thread before it looks. It tells the checkpoint's key, and whether it was put, and so keeps the key.
"""

_MOST = 1 << 20
"""Bytes of values that one row of writes has, unless a single one is longer."""


Tell = Callable[[tuple[Any, ...]], None]


class Statement(NamedTuple):
    """SQL, its parameters, and who is told the row that it answers with, if anybody.

    `many` is SQL for several such statements, of threads that differ: its parameters are arrays, and it answers for
    each whose lease holds with its number and that row.
    """

    query: str
    parameters: Sequence[Any]
    tell: Tell | None = None
    many: str | None = None


@dataclass(slots=True)
class Bundle:
    """Commits that are written as one, and fail as one: of one lease, and of writes alone but for the first.

    `statements` of which the first changes or locks a row unless the lease was lost; None where they can't be told
    before a look at what is there.
    """

    commits: list[Commit]
    statements: list[Statement] | None


def bundles(commits: Iterable[Commit], heads: Heads, *, new: bool) -> list[Bundle]:
    """Commits as statements, in their order; tasks of one run that ended together share theirs.

    With `new`, a commit that puts a checkpoint is one statement where it can be, and fails if something has named that
    checkpoint before.
    """
    made: list[Bundle] = []
    for group in _grouped(commits):
        made.append(Bundle(group, _statements(group, heads, new)))
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


def _statements(group: Sequence[Commit], heads: Heads, new: bool) -> list[Statement] | None:
    commit = group[0]
    items = merged_items(item for one in group for item in one.items)
    if any(isinstance(item, CheckpointRow) for item in items):
        single = _single(commit, items, heads) if new else None
        return None if single is None else [single]
    made = [*locking(commit)] if commit.lease is None or not (items or concerns_thread(commit)) else []
    for item in items:
        made += add_writes(commit, item, heads)
    return [*made, *settling(commit)]


def held_by(commit: Commit) -> Holds:
    """Whose lease a commit is under."""
    return to_text(commit.thread), None if commit.lease is None else commit.lease.token


def locking(commit: Commit) -> Iterator[Statement]:
    """What locks a commit's thread, and finds out whether its lease holds."""
    holds = held_by(commit)
    yield Statement(_ADD_THREAD, (holds[0], now())) if commit.lease is None else Statement(LOCK, holds)


def settling(commit: Commit) -> Iterator[Statement]:
    """What becomes of a commit's thread, if anything."""
    if concerns_thread(commit):
        yield Statement(_SETTLE, (*held_by(commit), *_settled(commit)))


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
        if under is None or len(list(_split(writes.rows))) > 1:
            return None
        more += (under.key, write_bytes(writes.rows))
    made = mapped(row, base) if last is None else mapped(row, base, last.other, last.small)
    if len(made.values) > _MOST_VALUES:
        return None
    kind = concerns_thread(commit), bool(before), len(made.values)
    many = _put_new(*kind, many=True) if len(made.values) <= 1 else None
    described = (to_text(row.namespace), id_bytes(row.id), said_bytes(row), made.words)
    values = [part for value in made.values for part in _parts(value)]
    parameters = (*held_by(commit), *described, *more, *values)
    return Statement(_put_new(*kind), parameters, _told(commit, row, made, heads), many)


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


def add_writes(commit: Commit, writes: Writes, heads: Heads) -> Iterator[Statement]:
    """What adds writes under a checkpoint."""
    namespace, id, rows = writes
    holds, lease = held_by(commit), commit.lease
    last = heads.find(lease, namespace, id)

    def tell(told: tuple[int, bool]) -> None:
        key, put = told
        if put and lease is not None:
            heads.keep(lease.thread, namespace, Last(lease.token, id, key, None))

    for some in _split(rows):
        if last is not None:
            yield Statement(_ADD_WRITES, (*holds, last.key, write_bytes(some)), many=_ADD_MANY_WRITES)
        else:
            place = (to_text(namespace), id_bytes(id))
            yield Statement(_ADD_WRITES_TO, (*holds, *place, write_bytes(some)), tell)


def _parts(value: Value) -> tuple[Int8, Int8, bytes]:
    onto, beside, data = value
    return Int8(_NONE if onto is None else onto), Int8(_NONE if beside is None else beside), data


def _split(rows: Sequence[WriteRow]) -> Iterator[Sequence[WriteRow]]:
    """Writes in rows of `_MOST` bytes."""
    first = size = 0
    for number, row in enumerate(rows):
        size += len(row.value)
        if size > _MOST and number > first:
            yield rows[first:number]
            first, size = number, len(row.value)
    yield rows[first:]


def _settled(commit: Commit) -> tuple[Any, ...]:
    """The parameters of what becomes of a thread's row."""
    workflow, call = commit.begin or (None, None)
    status = commit.status or (commit.begin and "running")
    release = commit.release and commit.lease is not None
    return _maybe(workflow), _maybe(call), status, release, now()


def _maybe(name: str | None) -> str | None:
    return None if name is None else to_text(name)
