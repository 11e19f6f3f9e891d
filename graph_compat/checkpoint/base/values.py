"""What savers keep, as LangGraph's users know it, and the small functions on it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NotRequired

from typing_extensions import TypedDict

from checkpointers.tuples import SPECIAL, described
from flowfn.config import PLACES
from flowfn.values import MISSING
from graph_compat.checkpoint.base.id import uuid6

ChannelVersions = dict[str, str | int | float]
PendingWrite = tuple[str, str, Any]

WRITES_IDX_MAP = dict(SPECIAL)
"""Channels of which a task has one write, the last, and the index of that."""

EXCLUDED_METADATA_KEYS = set(PLACES)
"""What of a config is no metadata of a checkpoint."""


class CheckpointMetadata(TypedDict, total=False):
    """How a checkpoint came to be."""

    source: Literal["input", "loop", "update", "fork"]
    step: int
    parents: dict[str, str]
    run_id: str
    counters_since_delta_snapshot: dict[str, tuple[int, int]]


class Checkpoint(TypedDict):
    """A state at a point in time."""

    v: int
    id: str
    ts: str
    channel_values: dict[str, Any]
    channel_versions: ChannelVersions
    versions_seen: dict[str, ChannelVersions]
    updated_channels: list[str] | None


if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    class CheckpointTuple(NamedTuple):
        """A checkpoint and what belongs to it, as savers of one's own are annotated."""

        config: RunnableConfig
        checkpoint: Checkpoint
        metadata: CheckpointMetadata
        parent_config: RunnableConfig | None = None
        pending_writes: list[PendingWrite] | None = None

else:
    from checkpointers.tuples import CheckpointTuple


class DeltaChannelHistory(TypedDict):
    """What was written to a channel since `seed`, or ever; the oldest first."""

    writes: list[PendingWrite]
    seed: NotRequired[Any]


def empty_checkpoint() -> Checkpoint:
    """A checkpoint without channels, in the format of LangGraph's version 2."""
    made: Any = {**_blank(2), "pending_sends": []}
    return made  # type: ignore[no-any-return]


def _blank(version: int) -> dict[str, Any]:
    return {
        "v": version,
        "id": str(uuid6(clock_seq=0x3FFE)),
        "ts": datetime.now(UTC).isoformat(),
        "channel_values": {},
        "channel_versions": {},
        "versions_seen": {},
        "updated_channels": None,
    }


def copy_checkpoint(checkpoint: Checkpoint) -> Checkpoint:
    """A copy whose channels and versions may be changed."""
    copied: Any = {
        **checkpoint,
        "channel_values": dict(checkpoint["channel_values"]),
        "channel_versions": dict(checkpoint["channel_versions"]),
        "versions_seen": {node: dict(seen) for node, seen in checkpoint["versions_seen"].items()},
    }
    return copied  # type: ignore[no-any-return]


def create_checkpoint(
    checkpoint: Checkpoint, channels: Mapping[str, Any] | None, step: int, *, id: str | None = None
) -> Checkpoint:
    """A new checkpoint after another one, with the values that the channels have now."""
    versions = checkpoint["channel_versions"]
    values = checkpoint["channel_values"]
    if channels is not None:
        held = {name: channels[name].checkpoint() for name in channels if name in versions}
        values = {name: value for name, value in held.items() if value is not MISSING}
    made: Any = {
        **_blank(2),
        "id": id or str(uuid6(clock_seq=step)),
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": checkpoint["versions_seen"],
        "pending_sends": checkpoint.get("pending_sends", []),
    }
    return made  # type: ignore[no-any-return]


def get_checkpoint_id(config: Mapping[str, Any]) -> str | None:
    """The checkpoint that a config names, if it does."""
    found: str | None = config["configurable"].get("checkpoint_id")
    return found


def get_checkpoint_metadata(config: Mapping[str, Any], metadata: Mapping[str, Any]) -> CheckpointMetadata:
    """The metadata with the scalars of the config by which users filter a history."""
    found: Any = described(config, metadata)
    return found  # type: ignore[no-any-return]


def get_serializable_checkpoint_metadata(
    config: Mapping[str, Any], metadata: Mapping[str, Any]
) -> CheckpointMetadata:
    """`get_checkpoint_metadata` without the writes that LangGraph 0.x kept there."""
    found: Any = {k: v for k, v in described(config, metadata).items() if k != "writes"}
    return found  # type: ignore[no-any-return]


def writes_sort_key(task_path: str, task_id: str = "", idx: int = 0) -> tuple[str, str, int]:
    """What the writes under a checkpoint are sorted by."""
    return task_path, task_id, idx


__all__ = [
    "EXCLUDED_METADATA_KEYS",
    "WRITES_IDX_MAP",
    "ChannelVersions",
    "Checkpoint",
    "CheckpointMetadata",
    "CheckpointTuple",
    "DeltaChannelHistory",
    "PendingWrite",
    "copy_checkpoint",
    "create_checkpoint",
    "empty_checkpoint",
    "get_checkpoint_id",
    "get_checkpoint_metadata",
    "get_serializable_checkpoint_metadata",
    "writes_sort_key",
]
