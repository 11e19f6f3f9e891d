"""Threads in this process's memory."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import checkpointers
from graph_compat.checkpoint.base.saver import BaseCheckpointSaver, OwnSaver
from graph_compat.checkpoint.base.values import Checkpoint, CheckpointMetadata, CheckpointTuple
from graph_compat.checkpoint.serde.base import OwnSerde
from graph_compat.left_out import left_out

__all__ = ["Checkpoint", "CheckpointMetadata", "CheckpointTuple", "InMemorySaver", "MemorySaver"]


class InMemorySaver(OwnSaver, checkpointers.MemorySaver, BaseCheckpointSaver[str]):  # type: ignore[misc]
    """Keeps threads until the process ends; so it takes instances of classes made inside functions, as databases can't.

    `factory` makes LangGraph's dicts, which are none here: anything but the default is refused.
    """

    def __init__(self, *, serde: Any = None, factory: type[defaultdict[Any, Any]] = defaultdict) -> None:
        if factory is not defaultdict:
            raise NotImplementedError(f"factory={factory!r} is left out: {_FILES}")
        super().__init__(serde=OwnSerde(stays_here=True) if serde is None else serde)

    async def __aenter__(self) -> InMemorySaver:
        return self

    async def __aexit__(self, *raised: Any) -> None:
        self.close()


MemorySaver = InMemorySaver

_FILES = "to keep threads in a file, use graph_compat.checkpoint.sqlite.SqliteSaver"

__getattr__ = left_out(__name__, {"PersistentDict": _FILES})
