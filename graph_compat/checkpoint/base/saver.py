"""The interface of savers, for a saver of one's own, and what LangGraph's savers add to flowfn's."""

from __future__ import annotations

import copy
import random
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from graph_compat.checkpoint.base.values import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from graph_compat.checkpoint.serde.base import as_serializer, maybe_add_typed_methods
from graph_compat.checkpoint.serde.jsonplus import JsonPlusSerializer

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig as Config

V = TypeVar("V", int, float, str)


class BaseCheckpointSaver(Generic[V]):
    """Keeps checkpoints. What a saver doesn't write raises `NotImplementedError`.

    `serde` turns values to bytes and back.
    """

    serde: Any = JsonPlusSerializer()

    def __init__(self, *, serde: Any = None) -> None:
        self.serde = maybe_add_typed_methods(serde or self.serde)

    @property
    def config_specs(self) -> list[Any]:
        """Belongs to LangChain's configurable fields; empty."""
        return []

    def get(self, config: Config) -> Checkpoint | None:
        """The checkpoint that a config points at: of its `checkpoint_id`, or the thread's last."""
        found = self.get_tuple(config)
        return found.checkpoint if found is not None else None

    def get_tuple(self, config: Config) -> CheckpointTuple | None:
        """As `get`, with config, metadata, parent and pending writes."""
        raise NotImplementedError

    def list(
        self,
        config: Config | None,
        *,
        filter: dict[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, the newest first."""
        raise NotImplementedError

    def put(
        self,
        config: Config,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Config:
        """Store a checkpoint under the one that the config points at; the config of the new one."""
        raise NotImplementedError

    def put_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Record what a task wrote under the checkpoint that the config points at."""
        raise NotImplementedError

    def delete_thread(self, thread_id: str) -> None:
        """Forget a thread, whole."""
        raise NotImplementedError

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Forget the checkpoints that these runs made."""
        raise NotImplementedError

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread, whole."""
        raise NotImplementedError

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Forget the past of threads, or, with the strategy "delete", the threads."""
        raise NotImplementedError

    def get_delta_channel_history(
        self, *, config: Config, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What was written to channels before a checkpoint, back to where each was last stored whole."""
        open_channels, found = _opened(channels)
        at = self.get_tuple(config)
        while at is not None and at.parent_config is not None and open_channels:
            at = self.get_tuple(at.parent_config)
            _taken(at, open_channels, found)
        return found

    async def aget(self, config: Config) -> Checkpoint | None:
        """`get` for asyncio."""
        found = await self.aget_tuple(config)
        return found.checkpoint if found is not None else None

    async def aget_tuple(self, config: Config) -> CheckpointTuple | None:
        """`get_tuple` for asyncio."""
        raise NotImplementedError

    async def alist(
        self,
        config: Config | None,
        *,
        filter: dict[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """`list` for asyncio."""
        raise NotImplementedError
        yield

    async def aput(
        self,
        config: Config,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Config:
        """`put` for asyncio."""
        raise NotImplementedError

    async def aput_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """`put_writes` for asyncio."""
        raise NotImplementedError

    async def adelete_thread(self, thread_id: str) -> None:
        """`delete_thread` for asyncio."""
        raise NotImplementedError

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """`delete_for_runs` for asyncio."""
        raise NotImplementedError

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """`copy_thread` for asyncio."""
        raise NotImplementedError

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """`prune` for asyncio."""
        raise NotImplementedError

    async def aget_delta_channel_history(
        self, *, config: Config, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """`get_delta_channel_history` for asyncio."""
        open_channels, found = _opened(channels)
        at = await self.aget_tuple(config)
        while at is not None and at.parent_config is not None and open_channels:
            at = await self.aget_tuple(at.parent_config)
            _taken(at, open_channels, found)
        return found

    def get_next_version(self, current: V | None, channel: None) -> V:
        """The version after `current`; 1 after None.

        Raises:
            NotImplementedError: `current` is a string.
        """
        if isinstance(current, str):
            raise NotImplementedError
        return 1 if current is None else current + 1  # type: ignore[return-value]

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BaseCheckpointSaver[V]:
        """The same saver, which restores these classes as well, each a (module, name).

        Raises:
            NotImplementedError: the serializer has no list of classes to add to.
        """
        if not hasattr(self.serde, "allow"):
            raise NotImplementedError(
                f"{type(self.serde).__name__} has no list of classes. Pass the saver serde=DEFAULT.allow(YourClass)"
            )
        clone = copy.copy(self)
        clone.serde = self.serde.allow(
            *(getattr(import_module(named[0]), named[1]) for named in extra_allowlist)
        )
        return clone


def _opened(channels: Sequence[str]) -> tuple[set[str], dict[str, DeltaChannelHistory]]:
    return set(channels), {channel: {"writes": []} for channel in channels}


def _taken(
    at: CheckpointTuple | None, open_channels: set[str], found: dict[str, DeltaChannelHistory]
) -> None:
    """Put what a checkpoint knows in front of what its successors do; close what is stored whole there."""
    if at is None:
        return
    for channel in tuple(open_channels):
        writes = [write for write in at.pending_writes or () if write[1] == channel]
        found[channel]["writes"][:0] = writes
        if channel in at.checkpoint["channel_values"]:
            found[channel]["seed"] = at.checkpoint["channel_values"][channel]
            open_channels.discard(channel)


class _EitherKind:
    """The attribute `serde` of a saver, which may be set to a serializer of flowfn's kind or of LangGraph's."""

    def __set__(self, saver: Any, given: Any) -> None:
        saver.__dict__["serde"] = as_serializer(given)  # where it is read without asking here


class OwnSaver:
    """What a saver of LangGraph's adds to flowfn's for the same place."""

    version_types = (int, float, str)
    serde: Any = _EitherKind()

    def get_next_version(self, current: Any, channel: Any = None) -> Any:
        """The version after `current` as LangGraph's savers write it: a number, and chance to tell branches apart."""
        number = 0 if current is None else int(str(current).partition(".")[0])
        return f"{number + 1:032}.{random.random():016}"
