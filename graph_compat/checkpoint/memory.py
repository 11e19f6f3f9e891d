"""Threads in this process's memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, MutableMapping
from contextlib import AbstractContextManager, ExitStack
from typing import Any, NoReturn

import checkpointers
from checkpointers.run_file import export_thread, import_thread
from graph_compat.checkpoint.base.saver import BaseCheckpointSaver, OwnSaver
from graph_compat.checkpoint.base.values import (
    WRITES_IDX_MAP,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from graph_compat.checkpoint.persistent_dict import PersistentDict
from graph_compat.checkpoint.serde.base import OwnSerde

__all__ = [
    "Checkpoint",
    "CheckpointMetadata",
    "CheckpointTuple",
    "InMemorySaver",
    "MemorySaver",
    "PersistentDict",
]


class InMemorySaver(OwnSaver, checkpointers.MemorySaver, BaseCheckpointSaver[str]):  # type: ignore[misc]
    """Keeps threads until the process ends; so it takes instances of classes made inside functions, as databases can't.

    `factory` makes a dict that threads come from when the saver is made, and go into, as `flowfn export` writes them,
    when it is closed: one that is kept in a file, say. What else is to be closed with the saver goes onto its `stack`.
    """

    def __init__(self, *, serde: Any = None, factory: type[defaultdict[Any, Any]] = defaultdict) -> None:
        super().__init__(serde=OwnSerde(stays_here=True) if serde is None else serde)
        self.stack = ExitStack()
        if factory is not defaultdict:
            self._keep_in(factory(bytes))

    def _keep_in(self, kept: MutableMapping[str, bytes]) -> None:
        for thread, run in kept.items():
            import_thread(self, run, thread_id=thread)
        if isinstance(kept, AbstractContextManager):
            self.stack.enter_context(kept)
        self.stack.callback(self._put_into, kept)

    def _put_into(self, kept: MutableMapping[str, bytes]) -> None:
        # All are exported before any is forgotten: an export may fail.
        runs = {row.id: export_thread(self, row.id) for row in self.threads()}
        kept.clear()
        kept.update(runs)

    def close(self) -> None:
        """Put threads where they are kept, if anywhere, and forget them."""
        self.stack.close()
        super().close()

    @property
    def storage(self) -> Storage:
        """The threads, as programs look at them that were written before a saver could delete one."""
        return Storage(self)

    @property
    def writes(self) -> Writes:
        """What was written under checkpoints, looked at in the same way."""
        return Writes(self)

    @property
    def blobs(self) -> Blobs:
        """The values of channels, looked at in the same way."""
        return Blobs(self)

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


class _Parts(MutableMapping[Any, Any]):
    """What is kept of all threads, by keys that begin with the thread's id. Each look reads it anew, as a copy."""

    def __init__(self, saver: InMemorySaver) -> None:
        self._saver = saver

    def _read(self) -> dict[Any, Any]:
        raise NotImplementedError

    def __getitem__(self, key: Any) -> Any:
        return self._read()[key]

    def __setitem__(self, key: Any, kept: Any) -> NoReturn:
        raise NotImplementedError("a thread gets its checkpoints by put(), and its writes by put_writes()")

    def __delitem__(self, key: Any) -> NoReturn:
        if key not in self._read():
            raise KeyError(key)
        raise NotImplementedError(
            f"this is part of thread {key[0]!r}, and goes with it: delete_thread({key[0]!r})"
        )

    def __iter__(self) -> Iterator[Any]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())


class Writes(_Parts):
    """Of each (thread, namespace, checkpoint id), the writes by (task, index): task, channel, tag and bytes, path."""

    def _read(self) -> dict[Any, Any]:
        stored = self._saver.serde.dumps_typed
        found: dict[Any, Any] = {}
        for each in self._saver.list(None):
            at, written = each.config["configurable"], {}
            for place, (task, channel, value) in enumerate(each.pending_writes or ()):
                written[task, WRITES_IDX_MAP.get(channel, place)] = task, channel, stored(value), ""
            if written:
                found[at["thread_id"], at["checkpoint_ns"], at["checkpoint_id"]] = written
        return found


class Blobs(_Parts):
    """Of each (thread, namespace, channel, version), the value: tag and bytes."""

    def _read(self) -> dict[Any, Any]:
        stored = self._saver.serde.dumps_typed
        found = {}
        for each in self._saver.list(None):
            at, versions = each.config["configurable"], each.checkpoint["channel_versions"]
            for channel, value in each.checkpoint["channel_values"].items():
                key = at["thread_id"], at["checkpoint_ns"], channel, versions.get(channel)
                found[key] = stored(value)
        return found


MemorySaver = InMemorySaver
