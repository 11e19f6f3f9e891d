"""How ids, places of values, writes, and what a checkpoint says of itself are spelled in Postgres.

- An id of 16 bytes is a UUID. One that has no short spelling (`short_forms.py`) is its text; a text of just 16 bytes
  ends with a NUL, which no text of `flowfn.postgres.text` has in it.
- `said` is what a checkpoint says of itself: a msgpack array of its parent's id, its step, source, time, body and
  metadata, and the names of its channels; deflated with a dictionary of words that are in most of them. Beside an id
  that is a UUID, a parent's is without the beginning that both share, and the time is what went by since that in the
  id.
- `places` is a text with a word for each of those channels: `VERSION` of an empty one, else `VERSION:AGO.NTH`.
  `AGO` says how many keys ago the value's checkpoint was put, or is the negative of its key; `NTH`, which of
  that checkpoint's values it is, and the first goes without it. A word that repeats the one before is left empty. A
  version that is no whole number, as LangGraph's users put them, is an `x` and its msgpack in hexadecimal digits.
- A value's key is its checkpoint's times `ROOM`, plus its number among that one's. The first is in its checkpoint's
  row, the others have their own.
- The writes of a commit are one msgpack array: of each its task, or nil for that of the write before; its index,
  channel, bytes and path.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import ormsgpack

from checkpointers.packing import LONG, MEMORY, WINDOW
from checkpointers.short_forms import long_id, long_time, short_id, short_time
from flowfn.errors import SerializationError
from flowfn.ports import CheckpointRow, WriteRow
from flowfn.postgres.text import from_text, to_text

ROOM = 1 << 20
"""How many values a checkpoint has room for."""

_ID = 16

_PARTS = len(WriteRow._fields)

WORDS = "unnest(string_to_array(places, ' ')) AS held (place)"
"""The words of a checkpoint's places, as rows."""

STORED = f"""
    (CASE WHEN place LIKE '%:-%' THEN 0 ELSE checkpoint.key END
        - split_part(split_part(place, ':', 2), '.', 1)::bigint) * {ROOM}
    + coalesce(nullif(split_part(place, '.', 2), ''), '0')::bigint"""
"""The key of the value at a place, where there is one, of a row of `flowfn.checkpoint`."""

HAS_VALUE = "place LIKE '%:%'"

OWN = f"value.key BETWEEN checkpoint.key * {ROOM} AND checkpoint.key * {ROOM} + {ROOM - 1}"
"""The values that a checkpoint was put with, but for the first."""


def key_of(thread: str, namespace: str, id: str) -> str:
    """SQL for the key of a checkpoint, looked for once, or NULL."""
    return f"(SELECT flowfn.key_of({thread}, {namespace}, {id}))"


def value_of(thread: str, namespace: str, key: str) -> str:
    """SQL for the row of a value: its data, and what it is onto and beside."""
    return f"""
        SELECT data, onto, beside FROM flowfn.checkpoint AS put
        WHERE {key} % {ROOM} = 0 AND put.thread = {thread} AND put.namespace = {namespace}
            AND put.key = {key} / {ROOM} AND put.data IS NOT NULL
        UNION ALL SELECT data, onto, beside FROM flowfn.value WHERE {key} % {ROOM} > 0 AND value.key = {key}"""


def id_bytes(id: str) -> bytes:
    """An id as it is stored."""
    short = short_id(id)
    if isinstance(short, bytes):
        return short
    data = to_text(short).encode()
    return data + b"\0" if len(data) == _ID else data


def id_of(stored: bytes) -> str:
    """The id that was stored."""
    return long_id(stored) if len(stored) == _ID else from_text(stored.removesuffix(b"\0").decode())


class Said(NamedTuple):
    """What a checkpoint says of itself; `parent` and `created_at` are as they are stored, beside its id."""

    parent: bytes | None
    step: int
    source: str
    created_at: int | str
    body: bytes
    metadata: bytes
    channels: Sequence[str]


_COMMON = (
    b"\xa6update\xa4fork\xa9branch:to\xaa__resume__\xa7parents\x80\x92\x80\x90\xa5input\xc4\xa4loop\xc4\x92\x81\x81"
    b"\xa9__start__\x91\xa9__start__\xc4\x00\x93\x92\xa7__end__\xac__previous__\xc4\x00\x93\xa7__end__\xac__previous__\xa9__start__"
)
"""What `said` is deflated with, so that names of flowfn's take two bytes. It is part of the format."""

_ARRAY = 0x90 + len(Said._fields)
"""How `said` begins where it isn't deflated: no deflated data begin so, for their block would be of no type."""


def said_bytes(row: CheckpointRow) -> bytes:
    """What a checkpoint says of itself, as it is stored."""
    id, names = id_bytes(row.id), list(row.versions)
    parent = None if row.parent is None else _beside(id_bytes(row.parent), id)
    created_at = _since_id(row.created_at, id)
    data = _packed([parent, row.step, row.source, created_at, row.body, row.metadata, names])
    if len(data) > LONG:
        return data
    deflating = zlib.compressobj(1, zlib.DEFLATED, WINDOW, MEMORY, zlib.Z_FIXED, _COMMON)
    short = deflating.compress(data) + deflating.flush()
    return short if len(short) < len(data) else data


def _beside(parent: bytes, id: bytes) -> bytes:
    """A parent's id beside that of the checkpoint: a NUL, and that in which it differs from it, if both are UUIDs."""
    if len(parent) == len(id) == _ID:
        same = next((n for n in range(_ID) if parent[n] != id[n]), _ID)
        return b"\0" + parent[same:] if same > 1 else parent
    return parent


def _parent_of(kept: bytes, id: bytes) -> bytes:
    """The parent's id that was kept beside an id. No text begins with a NUL."""
    if kept[:1] == b"\0" and len(kept) <= _ID - 1:
        return id[: _ID + 1 - len(kept)] + kept[1:]
    return kept


def _since_id(time: str, id: bytes) -> int | str:
    """A time beside an id: microseconds since the one that a UUID begins with, if they are few."""
    short = short_time(time)
    if isinstance(short, str):
        return short
    since = short - _time_in(id)
    if abs(since) < _FEW:
        return since
    return time if abs(short) < _FEW else short


def _time_of(kept: int | str, id: bytes) -> str:
    """The time that was kept beside an id."""
    return long_time(kept + _time_in(id) if isinstance(kept, int) and abs(kept) < _FEW else kept)


def _time_in(id: bytes) -> int:
    """Microseconds since 1970 in an id, if it is a UUID of version 6, or 7, as flowfn's own once were."""
    if len(id) != _ID:
        return 0
    begin = int.from_bytes(id[:6])
    return (begin * _TICKS - _EPOCH) // 10 if id[6] >> 4 == 6 else begin * 1000


_TICKS = 1 << 12
"""Ticks of 100 ns in what a UUID of version 6 begins with."""

_EPOCH = 0x01B21DD213814000
"""Ticks from 1582, where they are counted from, to 1970."""


_FEW = 1 << 31
"""Microseconds: more aren't taken for a distance."""


def said_of(stored: bytes) -> Said:
    """What was stored.

    Raises:
        SerializationError: these are other bytes.
    """
    try:
        if stored[0] != _ARRAY:
            inflating = zlib.decompressobj(WINDOW, _COMMON)
            stored = inflating.decompress(stored, LONG)
            if not inflating.eof:
                raise ValueError("it doesn't end where it should")
        return Said(*ormsgpack.unpackb(stored))
    except (ValueError, TypeError, IndexError, zlib.error) as error:
        raise SerializationError(
            f"a stored checkpoint is damaged ({error}): rows of the database were changed"
        ) from None


def row_of(namespace: str, id: bytes, said: Said, **rest: Any) -> CheckpointRow:
    """The checkpoint that said so."""
    return CheckpointRow(
        from_text(namespace),
        id_of(id),
        None if said.parent is None else id_of(_parent_of(said.parent, id)),
        said.step,
        said.source,
        _time_of(said.created_at, id),
        said.body,
        said.metadata,
        **rest,
    )


Places = dict[str, tuple[Any, int | None]]
"""Of each channel of a checkpoint the version and the key of its value, if it has one."""


def places_of(key: int, channels: Sequence[str], places: str) -> Places:
    """The places of the checkpoint of this key."""
    found: Places = {}
    before: tuple[Any, int | None] = 0, None
    for channel, word in zip(channels, places.split(" "), strict=bool(channels)):
        if word:
            version = word.partition(":")[0]
            before = _unspelled(version) if version[0] == "x" else int(version), value_at(key, word)
        found[channel] = before
    return found


def spelled(words: Iterable[str]) -> str:
    """Words of places as a text."""
    said = []
    before = None
    for word in words:
        said.append("" if word == before else word)
        before = word
    return " ".join(said)


def value_at(key: int, word: str) -> int | None:
    """The key of the value at a place of the checkpoint of this key; None where there is none."""
    ago, _, nth = word.partition(":")[2].partition(".")
    if not ago:
        return None
    put = -int(ago) if ago[0] == "-" else key - int(ago)
    return put * ROOM + int(nth or 0)


def own_word(version: Any, nth: int) -> str:
    """The word for a value that a checkpoint is put with itself."""
    spelled = version if type(version) is int else _spelled(version)
    return f"{spelled}:0.{nth}" if nth else f"{spelled}:0"


def shared_word(version: Any, value: int | None) -> str:
    """The word for a value of another checkpoint, if there is one, whatever the key of the one that shares it."""
    spelled = version if type(version) is int else _spelled(version)
    if value is None:
        return str(spelled)
    put, nth = divmod(value, ROOM)
    return f"{spelled}:-{put}.{nth}" if nth else f"{spelled}:-{put}"


def _spelled(version: float | str) -> str:
    """A version without colons, dots and spaces."""
    return f"x{ormsgpack.packb(version).hex()}"


def _unspelled(version: str) -> Any:
    return ormsgpack.unpackb(bytes.fromhex(version[1:]))


def write_bytes(rows: Iterable[WriteRow]) -> bytes:
    """Writes as they are stored.

    Raises:
        UnicodeEncodeError: there is a lone surrogate in a name.
    """
    packed: list[Any] = []
    before = None
    for task, index, channel, value, path in rows:
        packed += (None if task == before else task, index, channel, value, path)
        before = task
    return _packed(packed)


def _packed(parts: Sequence[Any]) -> bytes:
    try:
        return ormsgpack.packb(parts)
    except TypeError:
        for part in parts:
            for name in part if isinstance(part, list) else [part]:
                if isinstance(name, str):
                    name.encode()
        raise


def writes_of(stored: bytes) -> Iterator[WriteRow]:
    """The writes that were stored.

    Raises:
        SerializationError: these are other bytes.
    """
    try:
        parts = ormsgpack.unpackb(stored)
        before = ""
        for task, *rest in zip(*[iter(parts)] * _PARTS, strict=True):
            before = before if task is None else task
            yield WriteRow(before, *rest)
    except (ValueError, TypeError) as error:
        raise SerializationError(f"a stored write is damaged: {error}") from None
