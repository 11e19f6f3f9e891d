"""A thread as one file: a bug report, a fixture for tests, a way from one database to another.

Rule: the file holds what commits would have made the thread, values as the bytes that the serializer made of them. So
reading one runs nothing and builds nothing; and whatever the file says, importing it makes a thread or raises.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import ormsgpack

from checkpointers.housekeeping import Housekeeping, Item, add_thread, items_of
from flowfn.errors import CorruptDataError, InvalidInput, NewerFormatError, UnknownThread
from flowfn.ports import CheckpointRow, ThreadRow, Versioned, WriteRow, Writes

_BEGINNING = b"flowfn run 1\n"
_NEWER = re.compile(rb"flowfn run ([1-9][0-9]{0,3})\n")
_LARGEST = 1 << 32
"""Bytes that a file may unfold to."""

_PARTS = 7
"""Of a thread's row: who died with it is of the database that it was in."""

_INTEGERS = range(-1 << 63, 1 << 63)
"""What databases hold."""

_STATUSES = ("running", "interrupted", "failed", "cancelled", "done")


class RunFile(NamedTuple):
    """What a file holds."""

    row: ThreadRow
    items: list[Item]


def export_thread(saver: Housekeeping, thread_id: str) -> bytes:
    """A thread as the content of a file, all of its checkpoints and writes. What the saver encrypts is plain in it.

    Raises:
        UnknownThread: there is none of this id.
        DecryptionError: it is encrypted, and the saver has no keys.
    """
    row = saver.thread(thread_id)
    if row is None:
        raise UnknownThread(
            f"There is no thread {thread_id!r} to export. `flowfn ls` lists those that there are."
        )
    items = [_packed(item) for item in items_of(saver, thread_id)]
    return _BEGINNING + zlib.compress(ormsgpack.packb([list(row[:_PARTS]), items]))


def import_thread(saver: Housekeeping, data: bytes, *, thread_id: str | None = None) -> str:
    """Make the thread that a file holds, under its own id or another; returns the id. Nobody holds it.

    Raises:
        CorruptDataError: it is no such file, or a spoilt one.
        InvalidInput: there is a thread of this id.
    """
    found = read(data)
    id = found.row.id if thread_id is None else thread_id
    if not saver.keeps_deltas and any(_has_deltas(item) for item in found.items):
        raise InvalidInput(
            f"{saver!r} keeps values whole, and the file has what changed in some. Import it elsewhere."
        )
    add_thread(saver, id, found.row, found.items)
    return id


def read(data: bytes) -> RunFile:
    """What the content of a file says.

    Raises:
        CorruptDataError: it is no such file, or a spoilt one; `NewerFormatError` if a later flowfn wrote it.
    """
    if (newer := _NEWER.match(data)) and newer[0] != _BEGINNING:
        raise NewerFormatError(
            f"The exported run has format {newer[1].decode()}, and this flowfn reads format 1: import it with the "
            "flowfn that wrote it, or a later one"
        )
    if not data.startswith(_BEGINNING):
        raise CorruptDataError(f"This is no file that `flowfn export` wrote: it begins with {data[:16]!r}")
    try:
        row, items = ormsgpack.unpackb(_unfolded(data[len(_BEGINNING) :]))
        return RunFile(_thread(row), [_unpacked(item) for item in items])
    except (ValueError, TypeError, KeyError, zlib.error) as error:
        raise CorruptDataError(f"The exported run is spoilt ({error}). Export it again.") from error


def _unfolded(data: bytes) -> bytes:
    unfolding = zlib.decompressobj()
    found = unfolding.decompress(data, _LARGEST)
    if not unfolding.eof:
        raise ValueError("it ends early, or unfolds to too much")
    if unfolding.unused_data:
        raise ValueError("something follows it")
    return found


def _thread(row: Sequence[Any]) -> ThreadRow:
    found = ThreadRow(*row)
    texts = (found.id, found.workflow, found.call, found.created_at, found.updated_at)
    if not all(isinstance(text, str) for text in texts) or not found.id or found.status not in _STATUSES:
        raise ValueError(f"{row!r} is no thread")
    return found


def _has_deltas(item: Item) -> bool:
    return isinstance(item, CheckpointRow) and any(held.deltas for held in item.values.values())


def _packed(item: Item) -> list[Any]:
    if isinstance(item, Writes):
        return [item.namespace, item.checkpoint, [list(row) for row in item.rows]]
    values = {channel: [held.version, held.value, *held.deltas] for channel, held in item.values.items()}
    return [
        *(item.namespace, item.id, item.parent, item.step, item.source, item.created_at),
        *(item.body, item.metadata, dict(item.versions), values),
    ]


def _unpacked(item: Sequence[Any]) -> Item:
    if len(item) == 3:
        namespace, checkpoint, rows = item
        _check((namespace, str), (checkpoint, str))
        return Writes(namespace, checkpoint, [_write(row) for row in rows])
    namespace, id, parent, step, source, created_at, body, metadata, versions, values = item
    _check((namespace, str), (id, str), (parent, str | None), (step, int), (source, str), (created_at, str))
    _check((body, bytes), (metadata, bytes), (versions, dict), (values, dict))
    _check(*((name, str) for name in versions), *((version, int) for version in versions.values()))
    held = {channel: _value(*value) for channel, value in values.items()}
    return CheckpointRow(namespace, id, parent, step, source, created_at, body, metadata, versions, held)


def _value(version: Any, value: Any, *deltas: Any) -> Versioned:
    _check((version, int), (value, bytes | None), *((delta, bytes) for delta in deltas))
    return Versioned(version, value, deltas)


def _write(row: Sequence[Any]) -> WriteRow:
    found = WriteRow(*row)
    _check(
        (found.task, str), (found.index, int), (found.channel, str), (found.value, bytes), (found.path, str)
    )
    return found


def _check(*parts: tuple[Any, Any]) -> None:
    for part, kind in parts:
        if not isinstance(part, kind) or (kind is int and part not in _INTEGERS):
            raise ValueError(f"{part!r} stands where {kind} should")
