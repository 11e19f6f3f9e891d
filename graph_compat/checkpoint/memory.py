"""Threads in this process's memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, MutableMapping
from typing import Any, NoReturn

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

    @property
    def storage(self) -> Storage:
        """The threads, as programs look at them that were written before a saver could delete one."""
        return Storage(self)

    async def __aenter__(self) -> InMemorySaver:
        return self

    async def __aexit__(self, *raised: Any) -> None:
        self.close()


class Storage(MutableMapping[str, dict[str, dict[str, tuple[Any, Any, str | None]]]]):
    """Of each thread, and namespace in it, the checkpoints by id: checkpoint, metadata, and the parent's id.

    The first two are tags and bytes of the saver's serializer. What is read is a copy; taking a thread out deletes it.
    """

    def __init__(self, saver: InMemorySaver) -> None:
        self._saver = saver

    def __getitem__(self, thread: str) -> dict[str, dict[str, tuple[Any, Any, str | None]]]:
        stored = self._saver.serde.dumps_typed
        found: dict[str, dict[str, tuple[Any, Any, str | None]]] = {}
        for each in [*self._saver.list({"configurable": {"thread_id": thread}})][::-1]:
            at, parent = each.config["configurable"], (each.parent_config or {}).get("configurable", {})
            row = stored(each.checkpoint), stored(each.metadata), parent.get("checkpoint_id")
            found.setdefault(at["checkpoint_ns"], {})[at["checkpoint_id"]] = row
        if not found:
            raise KeyError(thread)
        return found

    def __setitem__(self, thread: str, kept: Any) -> NoReturn:
        raise NotImplementedError("a thread gets its checkpoints by put()")

    def __delitem__(self, thread: str) -> None:
        if thread not in self:
            raise KeyError(thread)
        self._saver.delete_thread(thread)

    def __iter__(self) -> Iterator[str]:
        return (row.id for row in reversed(self._saver.threads()))

    def __len__(self) -> int:
        return len(self._saver.threads())


MemorySaver = InMemorySaver

_FILES = "to keep threads in a file, use graph_compat.checkpoint.sqlite.SqliteSaver"

__getattr__ = left_out(__name__, {"PersistentDict": _FILES})
