"""What the Postgres saver reads: checkpoints with their values and writes, and listings of threads.

Rule: what belongs together is read by one statement, and so from one state of the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from checkpointers.leases import Listed
from checkpointers.packing import unpacked
from checkpointers.postgres.forms import (
    HAS_VALUE,
    OWN,
    STORED,
    WORDS,
    Places,
    id_bytes,
    key_of,
    places_of,
    row_of,
    said_of,
    value_of,
    writes_of,
)
from checkpointers.postgres.leases import HELD, held
from checkpointers.rules import merged
from flowfn.errors import SerializationError
from flowfn.ports import Loaded, Versioned, WriteRow
from flowfn.postgres.schema import Connection
from flowfn.postgres.text import from_text, to_text
from flowfn.python.recent import Recent

Parts = tuple[bytes, tuple[bytes, ...]]
"""What a value begins as, and the deltas to it, the oldest first; what channels share is made once."""


class Known(NamedTuple):
    """The parts of a value that was read before, and the last of them."""

    last: bytes
    parts: Parts


_NONE: Mapping[int, Known] = {}

Place = tuple[str, str]
"""A thread and a namespace."""

Values = Recent[Place, Mapping[int, Known]]
"""The values that were read of a place the last time, by key: one that grows is read from there. No key returns."""


class Read(NamedTuple):
    """A checkpoint that was read: its key, and of each channel the version and the key of its value."""

    key: int
    places: Places
    loaded: Loaded


def load(db: Connection, thread: str, namespace: str, checkpoint: str | None, values: Values) -> Read | None:
    """A checkpoint with its values and writes, or None. `values` are what was read before."""
    place = thread, namespace
    try:
        found, read = _page(db, 1, thread, namespace, id=checkpoint, known=values.get(place) or {})
    except _Changed:
        found, read = _page(db, 1, thread, namespace, id=checkpoint)
    grown = {key: Known(parts[1][-1], parts) for key, parts in read.items() if parts[1]}
    if grown:
        size = sum(len(parts[0]) + sum(map(len, parts[1])) for _, parts in grown.values())
        values.keep(place, grown, size)
    return found[0] if found else None


def page(
    db: Connection,
    size: int,
    thread: str | None,
    namespace: str | None,
    *,
    end: int,
) -> tuple[list[Loaded], int]:
    """Up to `size` checkpoints put before the one of key `end`, the last first, and the key of the last of them."""
    found, _ = _page(db, size, thread, namespace, end=end)
    return [one.loaded for one in found], found[-1].key if found else 0


def heads(
    db: Connection, size: int, thread: str | None, namespace: str | None, *, end: int
) -> list[tuple[int, Loaded]]:
    """The keys and heads of up to `size` checkpoints put before the one of key `end`, the last first."""
    named = {**_named(thread, namespace, None), "end": end}
    rows = db.ask(_heads_query(tuple(named)), (size, *named.values()), binary=True)
    return [(key, _head(thread, *row)) for key, *row in rows]


def _head(thread: str | None, of: str, namespace: str, id: bytes, said: bytes) -> Loaded:
    row = row_of(namespace, id, said_of(said), versions={})._replace(body=b"")
    return Loaded(from_text(of) if thread is None else thread, row, ())


def those(db: Connection, thread: str | None, namespace: str | None, keys: Sequence[int]) -> list[Loaded]:
    """The checkpoints of these keys that are still there, the last first."""
    found, _ = _page(db, len(keys), thread, namespace, keys=keys)
    return [one.loaded for one in found]


def _page(
    db: Connection,
    size: int,
    thread: str | None,
    namespace: str | None,
    *,
    id: str | None = None,
    end: int | None = None,
    keys: Sequence[int] | None = None,
    known: Mapping[int, Known] = _NONE,
) -> tuple[list[Read], Mapping[int, Parts]]:
    """As `page`, with the values that were read."""
    named = _named(thread, namespace, id)
    if end is not None:
        named["end"] = end
    if keys is not None:
        named["keys"] = [*keys]
    rows: list[tuple[Any, ...]] = []
    parts: dict[int, list[_Part]] = {}
    under: dict[int, list[tuple[int, bytes]]] = {}
    for kind, key, *row in db.ask(_query(tuple(named)), (size, *named.values(), [*known]), binary=True):
        if kind == _CHECKPOINT:
            rows.append((key, *row[_AT:]))
        elif kind == _VALUE:
            parts.setdefault(key, []).append(_Part(*row[:_AT]))
        else:
            under.setdefault(key, []).append((row[0], row[2]))
    values = {head: _put_together(sorted(chain, reverse=True), known) for head, chain in parts.items()}
    rows.sort(reverse=True)
    return [_read(thread, row, values, _written(under.get(row[0], ()))) for row in rows], values


def _written(stored: Iterable[tuple[int, bytes]]) -> list[WriteRow]:
    return merged([row for _, data in sorted(stored) for row in writes_of(data)])


class _Part(NamedTuple):
    """A row of a value's chain, `depth` below what is asked for, and what it is beside."""

    depth: int
    key: int
    data: bytes
    beside: int | None
    other: bytes | None
    others: int | None


class _Changed(Exception):
    """What was read before isn't what is there: the database was restored from another."""


def _put_together(chain: Sequence[_Part], known: Mapping[int, Known]) -> Parts:
    """The parts of a value, of which the first may be the last one of what is known."""
    first, *rest = (unpacked(*part[2:]) for part in chain)
    before = known.get(chain[0].key)
    if before is None:
        return first, tuple(rest)
    if before.last != first:
        raise _Changed
    return before.parts[0], (*before.parts[1], *rest)


_CONDITIONS = {
    "thread": "checkpoint.thread = (SELECT key FROM flowfn.thread WHERE id = {})",
    "namespace": "checkpoint.namespace = {}",
    "end": "checkpoint.key < {}",
    "keys": "checkpoint.key = ANY({}::bigint[])",
}


def _named(thread: str | None, namespace: str | None, id: str | None) -> dict[str, Any]:
    """The parameters of the conditions that are asked for."""
    given = {
        "thread": None if thread is None else to_text(thread),
        "namespace": None if namespace is None else to_text(namespace),
        "id": None if id is None else id_bytes(id),
    }
    return {name: value for name, value in given.items() if value is not None}


_CHECKPOINT, _VALUE, _WRITE = range(3)
_AT = 6
"""Where in a row that was read the columns of a checkpoint begin, behind its kind and key."""

_NOTHING = "NULL::bigint, NULL::bigint, NULL::bytea, NULL::bigint, NULL::bytea, NULL::bigint"


@cache
def _query(named: tuple[str, ...]) -> str:
    """What reads a page: the checkpoints, the parts of their values, and their writes, in any order.

    It tells the ids of threads only where it isn't of one.
    """
    return f"""
        WITH RECURSIVE chosen AS MATERIALIZED ({_chosen(named)}),
        part (thread, namespace, head, depth, key, data, onto, beside) AS (
            SELECT thread, namespace, asked.key, 0, asked.key, held.* FROM (
                SELECT DISTINCT thread, namespace, {STORED} AS key FROM chosen AS checkpoint, {WORDS}
                WHERE {HAS_VALUE}) AS asked,
            LATERAL ({value_of("asked.thread", "asked.namespace", "asked.key")}) AS held
            UNION ALL SELECT thread, namespace, head, depth + 1, part.onto, held.* FROM part,
            LATERAL ({value_of("part.thread", "part.namespace", "part.onto")}) AS held
            WHERE part.key <> ALL(${len(named) + 2}::bigint[]))
        SELECT {_CHECKPOINT}, key, {_NOTHING}, of, namespace, id, said, places FROM chosen
        UNION ALL SELECT {_VALUE}, head, depth, part.key, part.data, part.beside, other.data, other.beside,
            NULL, NULL, NULL, NULL, NULL
            FROM part LEFT JOIN LATERAL ({value_of("part.thread", "part.namespace", "part.beside")}) AS other ON true
        UNION ALL SELECT {_WRITE}, checkpoint, key, NULL, data, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
            FROM flowfn.write WHERE checkpoint = ANY(ARRAY(SELECT key FROM chosen))"""


@cache
def _heads_query(named: tuple[str, ...]) -> str:
    """What reads the heads of a page."""
    return f"SELECT key, of, namespace, id, said FROM ({_chosen(named)}) AS head ORDER BY key DESC"


def _chosen(named: tuple[str, ...]) -> str:
    """What finds the checkpoints of a page, with the id of the thread of each where they aren't of one."""
    numbers = {name: f"${n}" for n, name in enumerate(named, 2)}
    conditions = ["said IS NOT NULL"]
    if id := numbers.pop("id", None):
        thread = f"(SELECT key FROM flowfn.thread WHERE id = {numbers['thread']})"
        conditions.append(f"checkpoint.key = {key_of(thread, numbers['namespace'], id)}")
    conditions += [_CONDITIONS[name].format(number) for name, number in numbers.items()]
    order = "" if "id" in named else "ORDER BY checkpoint.key DESC"
    of, threads = "NULL::text", ""
    if "thread" not in named:
        of, threads = "thread.id", "JOIN flowfn.thread ON thread.key = checkpoint.thread"
    return (
        f"SELECT checkpoint.*, {of} AS of FROM flowfn.checkpoint {threads}"
        f" WHERE {' AND '.join(conditions)} {order} LIMIT $1"
    )


def _read(
    thread: str | None, found: tuple[Any, ...], stored: Mapping[int, Parts], writes: list[WriteRow]
) -> Read:
    key, of, namespace, id, said_bytes, words = found
    said = said_of(said_bytes)
    places = places_of(key, said.channels, words)
    try:
        values = {
            channel: Versioned(version, None) if value is None else Versioned(version, *stored[value])
            for channel, (version, value) in places.items()
        }
    except KeyError as error:
        raise SerializationError(
            f"a stored checkpoint is damaged (value {error} is missing): rows of the database were changed"
        ) from None
    versions = {channel: version for channel, (version, _) in places.items()}
    row = row_of(namespace, id, said, versions=versions, values=values)
    return Read(key, places, Loaded(from_text(of) if thread is None else thread, row, writes))


_PLACES_OF_ALL = """
    SELECT coalesce(namespace = $1, false), key FROM flowfn.checkpoint WHERE id = $2::bytea AND said IS NOT NULL"""

_PLACES_OF_THREAD = f"""
    WITH RECURSIVE of AS MATERIALIZED (SELECT key FROM flowfn.thread WHERE id = $3),
    space (name) AS (
        SELECT min(namespace) FROM flowfn.checkpoint WHERE thread = (SELECT key FROM of)
        UNION ALL SELECT (
            SELECT min(namespace) FROM flowfn.checkpoint
            WHERE thread = (SELECT key FROM of) AND namespace > space.name) FROM space WHERE name IS NOT NULL)
    SELECT coalesce(name = $1, false), found.key
    FROM space, LATERAL {key_of("(SELECT key FROM of)", "name", "$2::bytea")} AS found (key)
    WHERE (SELECT said IS NOT NULL FROM flowfn.checkpoint
        WHERE thread = (SELECT key FROM of) AND namespace = name AND checkpoint.key = found.key)"""
"""Asks each of a thread's namespaces."""


def place_of(db: Connection, checkpoint: str, thread: str | None, namespace: str | None) -> int | None:
    """The key of a checkpoint of this id; one of the namespace asked for goes before any other."""
    given = None if namespace is None else to_text(namespace), id_bytes(checkpoint)
    if thread is None:
        found = db.execute(_PLACES_OF_ALL, given)
    else:
        found = db.execute(_PLACES_OF_THREAD, (*given, to_text(thread)))
    return max(found.fetchall(), default=(False, None))[1]


def listing(db: Connection, limit: int | None, where: str = "", *values: str) -> list[Listed]:
    """Threads, the last updated first; `where` names its values from $2 on."""
    rows = db.execute(
        "SELECT id, workflow, call, status, created_at, updated_at, workflow <> ''"
        " OR EXISTS (SELECT FROM flowfn.checkpoint WHERE checkpoint.thread = thread.key),"
        f" {HELD} FROM flowfn.thread {where} ORDER BY touched DESC LIMIT $1",
        (limit, *map(to_text, values)),
    )
    return [(*map(from_text, row[:3]), *row[3:7], held(*row[7:])) for row in rows]


def keep_sources(db: Connection, sources: Mapping[str, bytes]) -> None:
    """Add the texts that aren't there, in an order in which no two processes wait for each other."""
    digests = sorted(sources)
    db.execute(
        "INSERT INTO flowfn.source SELECT * FROM unnest($1::text[], $2::bytea[]) ON CONFLICT DO NOTHING",
        ([to_text(digest) for digest in digests], [sources[digest] for digest in digests]),
    )


def source(db: Connection, digest: str) -> bytes | None:
    """The kept text of a digest."""
    found = db.ask("SELECT data FROM flowfn.source WHERE digest = $1", (to_text(digest),)).fetchone()
    return None if found is None else bytes(found[0])


def delete_thread(db: Connection, id: str) -> None:
    """Forget a thread and all that it alone refers to. The caller ends the transaction."""
    of = "checkpoint.thread = (SELECT key FROM flowfn.thread WHERE id = $1)"
    with db.pipeline():
        db.execute("BEGIN")
        for statement in (
            "SELECT FROM flowfn.thread WHERE id = $1 FOR UPDATE",
            f"DELETE FROM flowfn.value USING flowfn.checkpoint WHERE {OWN} AND {of}",
            f"DELETE FROM flowfn.write WHERE checkpoint IN (SELECT key FROM flowfn.checkpoint WHERE {of})",
            f"DELETE FROM flowfn.checkpoint WHERE {of}",
            "DELETE FROM flowfn.thread WHERE id = $1",
        ):
            db.execute(statement, (to_text(id),))
        db.execute("COMMIT")
