"""What each piece of a thread is bound to: the place at which it can be opened, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping

from flowfn.encryption.keys import place
from flowfn.ports import CheckpointRow, Versioned, WriteRow

_TAG_BYTES = 16

Tags = Mapping[str, tuple[int, str]]
"""By channel: its version, and the end of its sealed value in hex, "" where it is empty."""


def of_write(namespace: str, checkpoint: str, row: WriteRow) -> bytes:
    """Of a write: its checkpoint, task, index and channel."""
    return place("write", namespace, checkpoint, row.task, str(row.index), row.channel, row.path)


def of_value(namespace: str, channel: str, version: int) -> bytes:
    """Of a value: its channel and version."""
    return place("value", namespace, channel, str(version))


def of_delta(namespace: str, channel: str, version: int, changed: str) -> bytes:
    """Of a delta: its channel, the version that it makes, and the tag of the bytes that it changes."""
    return place("delta", namespace, channel, str(version), changed)


def of_metadata(row: CheckpointRow) -> bytes:
    """Of what a checkpoint's row says beside its state."""
    return place("metadata", row.namespace, row.id)


def of_checkpoint(row: CheckpointRow, tags: Tags) -> bytes:
    """Of a checkpoint: all that its row says, and what each of its channels holds."""
    parent = () if row.parent is None else (row.parent,)
    described = (row.namespace, row.id, str(row.step), row.source, row.created_at, str(len(parent)), *parent)
    held = (part for name, (version, tag) in sorted(tags.items()) for part in (name, str(version), tag))
    return place("checkpoint", *described, *held)


def tags_of(versions: Mapping[str, int], values: Mapping[str, Versioned], shared: Tags) -> Tags:
    """What each channel of a checkpoint holds: put with it, shared at the same version, or nothing."""
    tags: dict[str, tuple[int, str]] = {}
    for channel, version in versions.items():
        held = values.get(channel)
        if held is not None:
            last = held.deltas[-1] if held.deltas else held.value
            tags[channel] = (version, "" if last is None else tag(last))
        elif (old := shared.get(channel)) is not None and old[0] == version:
            tags[channel] = old
        else:
            tags[channel] = (version, "")
    return tags


def tag(sealed: bytes) -> str:
    """What a sealed value is told by: the end of its bytes."""
    return sealed[-_TAG_BYTES:].hex()
