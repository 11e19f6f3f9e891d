"""How ids, times and channel maps are spelled in Postgres.

Rule: 16 bytes are a UUID, and 8 a time in microseconds; what has no short spelling (`short_forms.py`) is its text,
and of these lengths it ends with a NUL, which no text of `flowfn.postgres.text` has in it.

A checkpoint's map is two texts: `channels` has a line for each, and `places` a word: the version, and where there is
a value, behind a colon how many keys ago its checkpoint was put, or the negative of its key, and behind a dot which one
of that checkpoint's it is, unless it's the first. A value's key is its checkpoint's times `ROOM`, plus its number.

The writes of a commit are one msgpack array: of each its task, or nil for that of the write before; its index, channel,
bytes and path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import ormsgpack

from checkpointers.short_forms import long_id, long_time, short_id, short_time
from flowfn.errors import SerializationError
from flowfn.ports import WriteRow
from flowfn.postgres.text import from_text, to_text

ROOM = 1 << 20
"""How many values a checkpoint has room for."""

_ID, _TIME = 16, 8

_PARTS = len(WriteRow._fields)

MAP = "unnest(string_to_array(channels, E'\\n'), string_to_array(places, ' ')) AS held (channel, place)"
"""The rows of a map; the text behind its last line is none."""

VERSION = "split_part(place, ':', 1)::bigint"

STORED = f"""
    CASE WHEN place LIKE '%:%' THEN
        (CASE WHEN place LIKE '%:-%' THEN 0 ELSE checkpoint.key END
            - split_part(split_part(place, ':', 2), '.', 1)::bigint) * {ROOM}
        + coalesce(nullif(split_part(place, '.', 2), ''), '0')::bigint END"""
"""The key of the value at a place of a row of `flowfn.checkpoint`; NULL where there is none."""

OWN = f"value.key BETWEEN checkpoint.key * {ROOM} AND checkpoint.key * {ROOM} + {ROOM - 1}"
"""The values that a checkpoint was put with."""

PLACE = f"""
    version || coalesce(':' || (here.key - stored / {ROOM})
        || CASE stored % {ROOM} WHEN 0 THEN '' ELSE '.' || stored % {ROOM} END, '')"""
"""The word for a value of key `stored` in the map of the checkpoint of key `here.key`."""


def id_bytes(id: str) -> bytes:
    """An id as it is stored."""
    short = short_id(id)
    return short if isinstance(short, bytes) else _text_bytes(short, _ID)


def id_of(stored: bytes) -> str:
    """The id that was stored."""
    return long_id(stored) if len(stored) == _ID else _text_of(stored)


def time_bytes(time: str) -> bytes:
    """A time as it is stored."""
    short = short_time(time)
    return short.to_bytes(_TIME, signed=True) if isinstance(short, int) else _text_bytes(short, _TIME)


def time_of(stored: bytes) -> str:
    """The time that was stored."""
    return long_time(int.from_bytes(stored, signed=True)) if len(stored) == _TIME else _text_of(stored)


def places_of(key: int, channels: str, places: str) -> Iterator[tuple[str, int, int | None]]:
    """Each channel of the checkpoint of this key, its version, and the key of its value, if it has one."""
    words = places.split(" ") if places else []
    for line, word in zip(channels.split("\n"), words, strict=False):
        yield from_text(line), int(word.partition(":")[0]), value_at(key, word)


def value_at(key: int, word: str) -> int | None:
    """The key of the value at a place of the checkpoint of this key; None where there is none."""
    ago, _, nth = word.partition(":")[2].partition(".")
    if not ago:
        return None
    put = -int(ago) if ago[0] == "-" else key - int(ago)
    return put * ROOM + int(nth or 0)


def own_word(version: int, nth: int) -> str:
    """The word for a value that a checkpoint is put with itself."""
    return f"{version}:0.{nth}" if nth else f"{version}:0"


def shared_word(version: int, value: int | None) -> str:
    """The word for a value of another checkpoint, if there is one, whatever the key of the one that shares it."""
    if value is None:
        return str(version)
    put, nth = divmod(value, ROOM)
    return f"{version}:-{put}.{nth}" if nth else f"{version}:-{put}"


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
    try:
        return ormsgpack.packb(packed)
    except TypeError:
        for part in packed:
            if isinstance(part, str):
                part.encode()
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


def _text_bytes(text: str, other: int) -> bytes:
    data = to_text(text).encode()
    return data + b"\0" if len(data) == other else data


def _text_of(stored: bytes) -> str:
    return from_text(stored.removesuffix(b"\0").decode())
