"""Savers and what they keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn.errors import EmptyChannelError
from flowfn.python.lazy import lend
from graph_compat.checkpoint.base.id import uuid6
from graph_compat.checkpoint.base.saver import BaseCheckpointSaver, V
from graph_compat.checkpoint.base.values import (
    EXCLUDED_METADATA_KEYS,
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
    copy_checkpoint,
    create_checkpoint,
    empty_checkpoint,
    get_checkpoint_id,
    get_checkpoint_metadata,
    get_serializable_checkpoint_metadata,
    writes_sort_key,
)
from graph_compat.checkpoint.serde.base import SerializerProtocol, maybe_add_typed_methods
from graph_compat.checkpoint.serde.types import ChannelProtocol

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig as RunnableConfig

    from graph_compat.checkpoint.serde.jsonplus import JsonPlusSerializer as JsonPlusSerializer

__all__ = [
    "ERROR",
    "EXCLUDED_METADATA_KEYS",
    "INTERRUPT",
    "RESUME",
    "SCHEDULED",
    "WRITES_IDX_MAP",
    "BaseCheckpointSaver",
    "ChannelProtocol",
    "ChannelVersions",
    "Checkpoint",
    "CheckpointMetadata",
    "CheckpointTuple",
    "DeltaChannelHistory",
    "EmptyChannelError",
    "PendingWrite",
    "SerializerProtocol",
    "V",
    "copy_checkpoint",
    "create_checkpoint",
    "empty_checkpoint",
    "get_checkpoint_id",
    "get_checkpoint_metadata",
    "get_serializable_checkpoint_metadata",
    "maybe_add_typed_methods",
    "uuid6",
    "writes_sort_key",
]

ERROR, INTERRUPT, RESUME, SCHEDULED = "__error__", "__interrupt__", "__resume__", "__scheduled__"
"""The names of what a task writes beside its channels."""

# What programs also import from here.
lend(
    __name__,
    {
        "JsonPlusSerializer": "graph_compat.checkpoint.serde.jsonplus",
        "RunnableConfig": "langchain_core.runnables",
    },
)
