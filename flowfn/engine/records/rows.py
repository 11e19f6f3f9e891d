"""A checkpoint as a row and back, its values as bytes.

Rule: a row has the values that changed since the stored one that it was made of; what a commit holds twice is encoded
once.
"""

from __future__ import annotations

import reprlib
from functools import partial
from typing import TYPE_CHECKING, Any

from flowfn.described import RECORD, Body, body_of, metadata_of, numbered, to_body, to_metadata
from flowfn.errors import InvalidInput, NonDeterminismError, SerializationError
from flowfn.futures import Future
from flowfn.ports import CheckpointRow, Deserializer, Serializer, Versioned
from flowfn.pregel.channels import Channel, Unread
from flowfn.pregel.plan import due_in_sight
from flowfn.pregel.program import Program
from flowfn.values import MISSING, Checkpoint

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


Encoded = dict[int, bytes]
"""The bytes of values, by the ids of values that live as long as it: what tasks of a superstep wrote, and the cells of
the checkpoint that they led to."""

_versioned = partial(tuple.__new__, Versioned)
"""Makes one of a tuple of its parts: calling the class costs a Python call more."""


def encode(serde: Serializer, value: Any, owner: str) -> bytes:
    """Bytes of a value.

    Raises:
        SerializationError: it can't be stored; says whose it is and where inside it the trouble lies.
    """
    try:
        return serde.dumps(value)
    except SerializationError as error:
        raise unstorable(error, value, owner) from None


def decode_plain(serde: Deserializer, many: Sequence[bytes]) -> Sequence[Any]:
    """Values that hold nothing but texts, numbers and lists of those: together, where a serializer can."""
    together = getattr(serde, "loads_plain", None)
    return [serde.loads(data) for data in many] if together is None else together(many)


def unstorable(error: SerializationError, value: Any, owner: str) -> SerializationError:
    """What to tell of a value that can't be stored, and whose it is."""
    if isinstance(value, Future):
        return SerializationError(f"{owner} is a Future: return its value, with .result() or await")
    return SerializationError(f"{owner}: {error}", error.path)


def encoded_metadata(serde: Serializer, metadata: Mapping[str, Any]) -> bytes:
    """What a checkpoint's row has of its metadata."""
    said = to_metadata(metadata)
    return b"" if said is None else encode(serde, said, "metadata")


def checkpoint_row(
    serde: Serializer,
    checkpoint: Checkpoint,
    namespace: str,
    program: Program,
    metadata: bytes,
    *,
    whole: bool = False,
    encoded: Encoded | None = None,
) -> CheckpointRow:
    """A checkpoint as a row, with the values that changed since the stored one that it was made of; or `whole`.

    `metadata` is `encoded_metadata` of the checkpoint's, which all of a run share; `encoded` has what was encoded for
    the same commit.
    """
    versions = checkpoint.versions
    names = versions if whole else sorted(checkpoint.touched)  # a result comes before what else is made of it
    changed = {name: versions[name] for name in names if name in versions}
    found = None if program.opaque else due_in_sight(program, checkpoint)
    body = Body(checkpoint.seen, checkpoint.updated, checkpoint.latest, found, program.joint, checkpoint.call)
    return CheckpointRow(
        namespace,
        checkpoint.id,
        checkpoint.parent,
        checkpoint.step,
        checkpoint.source,
        checkpoint.created_at,
        serde.dumps(to_body(body, versions, changed)),
        metadata,
        versions,
        _stored(serde, checkpoint, changed, program, {} if encoded is None else encoded),
    )


def _stored(
    serde: Serializer, checkpoint: Checkpoint, changed: Mapping[str, int], program: Program, encoded: Encoded
) -> dict[str, Versioned]:
    """The values of channels, as bytes; what two of them hold is encoded once."""
    cells, storing, found = checkpoint.values, program.storing, {}
    for name, version in changed.items():
        cell = cells.get(name, MISSING)
        data = None if name in storing else encoded.get(id(cell))
        if data is None and cell is not MISSING:
            data = _bytes(serde, name, cell, program, encoded)
        found[name] = _versioned((version, data, ()))
    return found


def _bytes(serde: Serializer, name: str, cell: Any, program: Program, encoded: Encoded) -> bytes | None:
    """The bytes of what a channel stores of its cell, which `encoded` has then too; None where it stores nothing."""
    stored = program.channels[name].stored(cell) if name in program.storing else cell
    if stored is MISSING:
        return None
    data = encoded.get(id(stored)) if stored is cell else None
    if data is None:
        try:
            data = serde.dumps(stored)
        except SerializationError as error:
            raise _whose(error, stored, serde, name, program) from None
        if stored is cell:
            encoded[id(cell)] = data
    return data


def _whose(
    error: SerializationError, stored: Any, serde: Serializer, name: str, program: Program
) -> SerializationError:
    """What to tell of a channel's value that can't be stored: of an entrypoint's arguments, of which one."""
    if program.lone and name in program.input_channels and isinstance(stored, dict):
        for argument, value in stored.items():
            try:
                serde.dumps(value)
            except SerializationError as inside:
                told = f"argument {argument!r} of {program.name!r}: {inside}"
                return SerializationError(told, error.path)
    return unstorable(error, stored, program.labels.get(name, f"the value of {name!r}"))


def decode_checkpoint(serde: Deserializer, row: CheckpointRow, channels: Mapping[str, Channel]) -> Checkpoint:
    """A checkpoint from its row; channels that the program no longer has are left out.

    Versions that somebody put as text count as numbers, under which the next checkpoint has the values anew: values
    are shared by version.

    Raises:
        InvalidInput: somebody put it by hand, or through another saver, and it can't be gone on from.
        NonDeterminismError: a channel was of another kind when it was stored.
    """
    body = body_of(row, serde)
    versions, seen, put = dict(row.versions), body.seen, frozenset[str]()
    if not {*map(type, versions.values())} <= {int} or RECORD in versions:
        put = frozenset(name for name, version in versions.items() if not isinstance(version, int))
        _check_put(row, put, channels)
        versions, seen = numbered(versions), {node: numbered(of) for node, of in seen.items()}
    values = {
        name: _cell(channels[name], name, serde, data)
        for name, versioned in row.values.items()
        if name in channels and (data := versioned.whole()) is not None
    }
    return Checkpoint(
        row.id,
        row.parent,
        row.step,
        row.source,  # type: ignore[arg-type]
        row.created_at,
        values,
        versions,
        seen,
        None if body.updated is None else tuple(body.updated),
        metadata_of(row, serde),
        body.clock,
        put,
        body.call,
    )


def _check_put(row: CheckpointRow, put: Collection[str], channels: Mapping[str, Channel]) -> None:
    """Refuse what has a meaning to somebody else: the record of a saver around this one, or another library's ways."""
    if RECORD in row.versions:
        raise InvalidInput(
            f"checkpoint {row.id!r} was put through a saver around this one, in its form: go on through that saver"
        )
    for name in put:
        version = row.versions[name]
        if name not in channels:
            raise InvalidInput(
                f"checkpoint {row.id!r} was put with channel {name!r} at version {version!r}, and the program has no "
                "such channel: put it without that one"
            )
        if not str(version).partition(".")[0].isdecimal():
            raise InvalidInput(
                f"checkpoint {row.id!r} was put with {name!r} at version {version!r}, and a version begins with a "
                "number: put it with what the saver's get_next_version() makes"
            )


def _cell(channel: Channel, name: str, serde: Deserializer, stored: bytes) -> Any:
    if channel.lazy:
        return Unread(partial(serde.loads, stored))
    data = serde.loads(stored)
    try:
        return channel.restored(data)
    except (TypeError, ValueError) as error:
        raise NonDeterminismError(
            f"{name!r} was stored as {reprlib.repr(data)}, which no {type(channel).__name__} holds: its "
            "kind was changed under the thread. Give it its kind back, or another name"
        ) from error
