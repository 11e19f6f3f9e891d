"""The port's rows in the shapes that any saver written for LangGraph keeps, and back.

Rule: what is read is what was written, whatever the saver's own serializer makes of types. So what JSON has, and
messages of langchain, are put as they are, for other tools to read; all else is put as the bytes of flowfn's
serializer. What LangGraph's shapes have no room for is a channel of its own in each checkpoint, `RECORD`; and each
commit's writes are one pending write, since savers number and sort a task's writes each in its own way.
Questions are put once more as LangGraph puts them, for programs that look for them; no run reads those.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from checkpointers.rules import merged
from checkpointers.tuples import FORMAT, config_of, waiting_tasks
from flowfn.described import RECORD
from flowfn.errors import CorruptDataError, InvalidInput
from flowfn.ports import (
    CheckpointRow,
    Loaded,
    Serializer,
    Status,
    Versioned,
    WriteRow,
    Writes,
    configurable_here,
)
from flowfn.python.unicode import is_unicode
from flowfn.row_channels import QUESTION, RUN_TASK
from flowfn.serde import DEFAULT
from flowfn.values import Interrupt

CALL = "flowfn_call"
"""The key of a checkpoint's metadata under which the call that it belongs to is found."""

_MESSAGES = "langchain_core.messages."
_SCALARS = (str, int, float, bool)
_LONGEST_INT = 1 << 63


class Run(NamedTuple):
    """What a thread's row says of its last run."""

    workflow: str = ""
    call: str = ""
    status: Status = "done"
    created_at: str = ""
    updated_at: str = ""


class Stored(NamedTuple):
    """A checkpoint as a saver has it: its own versions and values, and what flowfn knows of it."""

    row: CheckpointRow
    run: Run
    versions: Mapping[str, Any]
    values: Mapping[str, Any]


class Entry(NamedTuple):
    """What one commit wrote under one checkpoint; `run` is None where it said nothing about it."""

    place: int
    rows: Sequence[WriteRow]
    run: Run | None = None


def to_native(data: bytes, serde: Serializer) -> Any:
    """A value as the saver is given it: itself where any serializer keeps it, else its bytes."""
    value = _read(data, serde)
    return value if _is_plain(value) and serde.dumps(value) == data else data


def _read(data: bytes, serde: Serializer) -> Any:
    """What bytes stand for; themselves where they are sealed, or of a type that this process doesn't know."""
    with suppress(Exception):
        return serde.loads(data)
    return data


def from_native(value: Any, serde: Serializer) -> bytes:
    """The bytes of what a saver gave back."""
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else serde.dumps(value)


def _is_plain(value: Any) -> bool:
    """Whether every saver gives it back as it was."""
    kind = type(value)
    if kind is str:
        return _is_text(value)
    if kind is int:
        return bool(-_LONGEST_INT <= value < _LONGEST_INT)
    if kind is float:
        return not {"e", "n"} & set(repr(value))
    if kind is list:
        return all(map(_is_plain, value))
    if kind is dict:
        return all(_is_key(key) and _is_plain(each) for key, each in value.items())
    module: str = kind.__module__
    return value is None or kind is bool or module.startswith(_MESSAGES)


def _is_key(key: Any) -> bool:
    """Whether a mapping may have it: some serializers take `lc` and names in underscores for types."""
    return type(key) is str and key != "lc" and not key.startswith("__") and _is_text(key)


def _is_text(text: str) -> bool:
    """Whether databases keep it: they have neither NUL nor halves of surrogate pairs."""
    return "\0" not in text and is_unicode(text)


# -- checkpoints ------------------------------------------------------------------------------------


def to_checkpoint(stored: Stored, place: int, version: Any) -> dict[str, Any]:
    """LangGraph's checkpoint; `version` is the record's."""
    row, run = stored.row, stored.run
    record = [
        *(1, place, row.parent, row.step, row.source, row.created_at, row.body, row.metadata),
        *(dict(row.versions), list(run)),
    ]
    return {
        "v": FORMAT,
        "id": row.id,
        "ts": row.created_at,
        "channel_values": {**stored.values, RECORD: DEFAULT.dumps(record)},
        "channel_versions": {**stored.versions, RECORD: version},
        "versions_seen": {},
        "updated_channels": sorted(row.values),
    }


def to_metadata(row: CheckpointRow, run: Run, serde: Serializer) -> dict[str, Any]:
    """The metadata by which users filter a history, as far as JSON has it."""
    known = _read(row.metadata, serde) if row.metadata else None
    kept = known.items() if isinstance(known, dict) else ()
    plain = {
        name: value for name, value in kept if type(value) in _SCALARS and _is_key(name) and _is_plain(value)
    }
    return {"parents": {}, **plain, "source": row.source, "step": row.step, CALL: run.call}


def from_tuple(found: Any, serde: Serializer) -> Stored:
    """What a saver has, from its tuple.

    Raises:
        InvalidInput: somebody else put the checkpoint.
        CorruptDataError: the saver didn't give back what it was given.
    """
    where, checkpoint = found.config["configurable"], found.checkpoint
    values, versions = dict(checkpoint["channel_values"]), dict(checkpoint["channel_versions"])
    record, _ = values.pop(RECORD, None), versions.pop(RECORD, None)
    if record is None:
        raise InvalidInput(
            f"Checkpoint {checkpoint['id']!r} of thread {where['thread_id']!r} was not written by flowfn through this "
            "saver. Use another thread_id; or go on through the saver inside it, if that wrote the thread; or take a "
            "thread of LangGraph's SqliteSaver or PostgresSaver over with `flowfn import-langgraph`"
        )
    _, _, parent, step, source, created_at, body, metadata, numbers, run = _loaded(record)
    held = {
        channel: Versioned(number, from_native(values[channel], serde) if channel in values else None)
        for channel, number in numbers.items()
    }
    row = CheckpointRow(
        where.get("checkpoint_ns", ""), checkpoint["id"], parent, step, source, created_at, body, metadata,
        numbers, held,
    )  # fmt: skip
    return Stored(row, Run(*run), versions, values)


def _loaded(record: Any) -> Any:
    """What was put under `RECORD`."""
    if not isinstance(record, bytes | bytearray | memoryview):
        raise CorruptDataError(f"The saver was given bytes, and gives back {type(record).__name__}")
    return DEFAULT.loads(bytes(record))


def from_foreign(found: Any, serde: Serializer) -> Loaded:
    """A stored checkpoint and its writes, the port's way."""
    rows = [row for entry in entries(found) for row in entry.rows]
    thread = str(found.config["configurable"]["thread_id"])
    return Loaded(thread, from_tuple(found, serde).row, merged(rows))


# -- writes -----------------------------------------------------------------------------------------


def to_entry(entry: Entry) -> bytes:
    """The pending write that an entry is."""
    run = None if entry.run is None else list(entry.run)
    return DEFAULT.dumps([entry.place, [list(row) for row in entry.rows], run])


def questions(thread: str, writes: Writes, serde: Serializer) -> Iterator[tuple[str, tuple[str, Any]]]:
    """The tasks of nodes that wait as a run stops, each with its questions as LangGraph's programs have them."""
    for row in writes.rows:
        if row.channel == QUESTION and row.task == RUN_TASK and (kind := _kind_of_questions()) is not None:
            asked = _read(row.value, serde)
            if type(asked) is list:  # and isn't sealed
                for task, channel, each in waiting_tasks(thread, writes.namespace, writes.checkpoint, asked):
                    yield task, (channel, [kind(value=one.value, id=one.id) for one in each])


def _kind_of_questions() -> type[Any] | None:
    """The class that the serializers of this process's savers know; None where its module isn't loaded."""
    if "langgraph" not in sys.modules:
        return Interrupt
    return getattr(sys.modules.get("langgraph.types"), "Interrupt", None)


def entries(found: Any) -> list[Entry]:
    """What was written under a checkpoint, in the order of the commits."""
    read = [_loaded(data) for _, channel, data in found.pending_writes or () if channel == RECORD]
    return sorted(
        (
            Entry(place, [WriteRow(*row) for row in rows], None if run is None else Run(*run))
            for place, rows, run in read
        ),
        key=lambda entry: entry.place,
    )


def last_place(found: Any) -> int:
    """The place of what was written last, of a checkpoint and what is under it."""
    places: list[int] = [_loaded(found.checkpoint["channel_values"][RECORD])[1]]
    return max(places + [entry.place for entry in entries(found)])


def run_of(found: Any, serde: Serializer) -> Run:
    """What the thread's row says, from the tuple of its last checkpoint."""
    said = [entry.run for entry in entries(found) if entry.run is not None]
    return said[-1] if said else from_tuple(found, serde).run


def foreign_config(thread: str, namespace: str | None, checkpoint: str | None) -> dict[str, Any]:
    """The config that points there, with what the call under way says besides; what is None isn't said."""
    given = {**configurable_here.get(), **config_of(thread, "", "")["configurable"]}
    given |= {"checkpoint_ns": namespace, "checkpoint_id": checkpoint}
    return {"configurable": {name: value for name, value in given.items() if value is not None}}
