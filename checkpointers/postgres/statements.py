"""The statements that commits of the Postgres saver write with.

Rule: each locks its thread before it looks at anything else of it, and does nothing where the lease was lost. What a
process writes at once of several threads is one statement, `…_OF_MANY`: its parameters are arrays, and it answers for
each thread whose lease holds with its number. Both kinds are made of the same pieces, and say the same of a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from checkpointers.postgres.forms import ROOM, key_of, value_of

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


# -- the thread -------------------------------------------------------------------------------------

HOLDS = "thread.id = $1 AND ($2::bigint IS NULL OR thread.token = $2::bigint)"
"""The thread of a commit, unless its lease was lost. A commit without a lease has no token."""

LOCK = f"SELECT FROM flowfn.thread WHERE {HOLDS} FOR NO KEY UPDATE"

ADD_THREAD = """
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

SETTLE = f"UPDATE flowfn.thread SET {_SET.format('$3', '$4', '$5', '$6', '$7')} WHERE {HOLDS}"

# -- a new checkpoint -------------------------------------------------------------------------------

NO_KEY = -2
"""Stands for no key: a parameter is always of one type, so that a statement is planned once."""

_CHECKPOINT = {
    "thread": "text",
    "token": "bigint",
    "namespace": "text",
    "id": "bytea",
    "said": "bytea",
    "places": "text",
}
_RUN = {"workflow": "text", "call": "text", "status": "text", "release": "boolean", "now": "text"}
_WRITES = {"under": "bigint", "writes": "bytea"}
"""The parameters by name, with their types: of a checkpoint, what becomes of the run, and a row of writes."""


class Put(NamedTuple):
    """What a statement puts beside a checkpoint: what becomes of the run, a row of writes, and so many values.

    Unless some of these `lean` on stored ones, nothing is looked for: that is a fifth of the statement's cost.
    """

    settles: bool
    adds: bool
    values: int
    lean: bool


def _parameters(put: Put) -> dict[str, str]:
    """Those of a statement, in their order."""
    types = _CHECKPOINT | (_RUN if put.settles else {}) | (_WRITES if put.adds else {})
    for nth in range(put.values):
        types |= {f"onto {nth}": "bigint", f"beside {nth}": "bigint"} if put.lean else {}
        types |= {f"data {nth}": "bytea"}
    return types


@cache
def put_new(put: Put) -> str:
    """Puts a checkpoint that nothing has named before, or fails; with what else there is.

    It locks the thread, and then looks whether something has named its checkpoint. It tells the checkpoint's key.
    """
    types = _parameters(put)
    row = {name: f"${n}::{type}" for n, (name, type) in enumerate(types.items(), 1)}
    fence = f"SELECT thread.key FROM flowfn.thread WHERE {HOLDS} FOR NO KEY UPDATE OF thread"
    if put.settles:
        fence = f"UPDATE flowfn.thread SET {_run(row)} WHERE {HOLDS} RETURNING thread.key"
    return f"""
        WITH fence AS MATERIALIZED ({fence}),
        here AS MATERIALIZED (SELECT fence.key AS thread, nextval('flowfn.tick') AS key FROM fence){_more(row)}
        {_checkpoint(row)} RETURNING key"""


@cache
def put_new_of_many(put: Put) -> str:
    """Does so for each of many threads, with one value at the most, and tells the number of each and the key."""
    types = _parameters(put)
    given, here = _columns("given", types), _columns("here", types)
    holds = f"thread.id = {given['thread']} AND thread.token = {given['token']}"
    fence = f"SELECT thread.key, given.* FROM flowfn.thread, given WHERE {holds} FOR NO KEY UPDATE OF thread"
    if put.settles:
        fence = (
            f"UPDATE flowfn.thread SET {_run(given)} FROM given WHERE {holds} RETURNING thread.key, given.*"
        )
    each = ", ".join(_columns("fence", types).values())
    return f"""
        WITH {_given([*types.values()])}, fence AS MATERIALIZED ({fence}),
        here AS MATERIALIZED (
            SELECT fence.key AS thread, nextval('flowfn.tick') AS key, {each}, fence.nth FROM fence){_more(here)},
        put AS ({_checkpoint(here)}) SELECT nth, key FROM here"""


Row = Mapping[str, str]
"""Of each parameter SQL for what it is in one row."""


def _columns(table: str, types: Mapping[str, str]) -> Row:
    """Parameters that are columns of a table, which began as `given`."""
    return {name: f"{table}.p{n}" for n, name in enumerate(types, 1)}


def _given(types: Sequence[str]) -> str:
    """SQL for parameters that are arrays as rows: columns `p1` and so on, and `nth`, which counts from 1."""
    arrays = ", ".join(f"${n}::{type}[]" for n, type in enumerate(types, 1))
    columns = ", ".join(f"p{n}" for n in range(1, len(types) + 1))
    return f"given AS MATERIALIZED (SELECT * FROM unnest({arrays}) WITH ORDINALITY AS given ({columns}, nth))"


def _run(row: Row) -> str:
    """SQL for what becomes of the thread's row."""
    return _SET.format(*(row[name] for name in _RUN))


def _more(row: Row) -> str:
    """SQL for what is put beside the checkpoint: a row of writes under another one, and all values but the first."""
    more = ""
    if "writes" in row:
        writes = f"SELECT {row['under']}, {row['writes']} FROM here"
        more += f", wrote AS (INSERT INTO flowfn.write (checkpoint, data) {writes})"
    values = _values(row)
    if len(values) > 1:
        rows = " UNION ALL ".join(
            f"SELECT here.key * {ROOM} + {nth}, {value} FROM here" for nth, value in enumerate(values[1:], 1)
        )
        more += f", added AS (INSERT INTO flowfn.value (key, onto, beside, data) {rows})"
    return more


def _checkpoint(row: Row) -> str:
    """SQL that puts the checkpoint, with its first value."""
    namespace, id, said, places = (row[name] for name in ("namespace", "id", "said", "places"))
    first = (*_values(row), "NULL, NULL, NULL")[0]
    return f"""
        INSERT INTO flowfn.checkpoint (thread, key, ordered, namespace, id, said, places, onto, beside, data)
        SELECT here.thread, here.key, flowfn.follows(here.thread, {namespace}, {id}),
            {namespace}, {id}, {said}, {places}, {first} FROM here"""


def _values(row: Row) -> list[str]:
    """SQL for each of the values."""
    count = sum(name.startswith("data ") for name in row)
    return [
        f"{_leant_on(row, f'onto {nth}')}, {_leant_on(row, f'beside {nth}')}, {row[f'data {nth}']}"
        for nth in range(count)
    ]


def _leant_on(row: Row, name: str) -> str:
    """SQL for the key of the value that another one leans on, if it does; where that is gone, it is refused."""
    if name not in row:
        return "NULL::bigint"
    key = row[name]
    stored = value_of("here.thread", row["namespace"], key)
    return f"nullif(CASE WHEN {key} > 0 AND NOT EXISTS ({stored}) THEN -1 ELSE {key} END, {NO_KEY})"


# -- writes -----------------------------------------------------------------------------------------

ADD_WRITES = f"""
    WITH fence AS MATERIALIZED (SELECT FROM flowfn.thread WHERE {HOLDS} FOR NO KEY UPDATE)
    INSERT INTO flowfn.write (checkpoint, data) SELECT $3::bigint, $4::bytea FROM fence"""
"""Adds a row of writes to the checkpoint of a key. It locks the thread first."""

ADD_WRITES_OF_MANY = f"""
    WITH {_given(["text", "bigint", "bigint", "bytea"])},
    fence AS MATERIALIZED (
        SELECT given.* FROM flowfn.thread, given WHERE thread.id = given.p1 AND thread.token = given.p2
        FOR NO KEY UPDATE OF thread),
    added AS (INSERT INTO flowfn.write (checkpoint, data) SELECT p3, p4 FROM fence)
    SELECT nth FROM fence"""
"""Does so for many threads; it tells the numbers of those whose lease holds."""

ADD_WRITES_TO = f"""
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
