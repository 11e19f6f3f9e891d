"""What every saver is: the port's verbs, which a backend writes, and LangGraph's names on top of them.

Rule: LangGraph's methods are written here once and use nothing but the verbs, so that a backend can't
answer the two differently. Each `a…` method calls its blocking twin: in place where the saver is
`inline`, else in a thread.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any, Self, TypeVar

from checkpointers.group_commit import Refusals
from checkpointers.housekeeping import Housekeeping
from checkpointers.rules import limited
from checkpointers.tuples import (
    CheckpointTuple,
    Config,
    address,
    check_names,
    check_versions,
    checkpoint_of,
    config_of,
    to_row,
    to_tuple,
    to_writes,
)
from flowfn.described import choice
from flowfn.errors import InvalidInput
from flowfn.ports import (
    UNFINISHED,
    Busy,
    Choice,
    Commit,
    Lease,
    Loaded,
    Serializer,
    ThreadRow,
    Writes,
)

T = TypeVar("T")

# `list` is one of LangGraph's method names, and hides the builtin within the class.
ThreadRows = list[ThreadRow]


def default_serde() -> Serializer:
    """The serializer of savers that were given none: msgpack with an allowlist of types."""
    from flowfn.serde import DEFAULT

    return DEFAULT


class CheckpointSaver(Housekeeping):
    """Keeps threads behind `flowfn.ports.Saver`, with LangGraph's method names for its users' hands.

    A backend derives from it and writes the abstract verbs, whose contract is the port's.
    `serde` turns values to bytes and back; the default is `flowfn.serde.DEFAULT`.
    """

    serde: Serializer
    version_types: tuple[type, ...] = (int,)
    """What `put` takes as versions of channels. Runs make and go on from ints."""

    def __init__(self, *, serde: Serializer | None = None) -> None:
        self.serde = serde if serde is not None else default_serde()
        self.kept: set[str] = set()

    # -- the port's verbs -------------------------------------------------------------------------

    @property
    @abstractmethod
    def inline(self) -> bool: ...

    @property
    def keeps_deltas(self) -> bool:
        return True

    @abstractmethod
    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy: ...

    @abstractmethod
    def adopt(self, workflow: str, call: str) -> Lease | None: ...

    @abstractmethod
    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> Refusals: ...

    @abstractmethod
    def release(self, lease: Lease) -> None: ...

    @abstractmethod
    def load(self, thread: str, namespace: str = "", checkpoint: str | None = None) -> Loaded | None: ...

    @abstractmethod
    def history(
        self,
        thread: str | None,
        namespace: str | None = "",
        *,
        before: str | None = None,
        limit: int | None = None,
        chosen: Choice | None = None,
    ) -> Iterator[Loaded]: ...

    @abstractmethod
    def threads(self, *, limit: int | None = None) -> ThreadRows: ...

    @abstractmethod
    def thread(self, thread: str) -> ThreadRow | None: ...

    @abstractmethod
    def delete_thread(self, thread_id: str) -> None: ...

    @abstractmethod
    def close(self) -> None: ...

    def unfinished(self, workflow: str, *, limit: int | None = None) -> ThreadRows:
        """The threads whose last run is of this workflow and has not ended, the last updated first.

        A backend that has an index of them does it without a look at every thread.
        """
        found = (row for row in self.threads() if row.workflow == workflow and row.status in UNFINISHED)
        return list(islice(found, limited(limit)))

    def next_call(self, workflow: str, after: str = "") -> str | None:
        """Of the calls of a workflow's unfinished runs, the first one after `after` in the order of their text.

        A backend that has an index of them does it without a look at every thread.
        """
        calls = (row.call for row in self.threads() if row.workflow == workflow and row.status in UNFINISHED)
        return min((call for call in calls if call > after), default=None)

    # -- the source of functions; a backend that keeps none needs none of it -------------------------

    def keep_sources(self, sources: Mapping[str, bytes]) -> None:
        """Keep texts by their digests, once per database; what is there already stays."""

    def source(self, digest: str) -> bytes | None:
        """The text of this digest; None if it was never kept."""
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- LangGraph's names ------------------------------------------------------------------------

    def get(self, config: Config) -> dict[str, Any] | None:
        """The checkpoint that a config points at: of its `checkpoint_id`, or the thread's last."""
        found = self.get_tuple(config)
        return None if found is None else found.checkpoint

    def get_tuple(self, config: Config) -> CheckpointTuple | None:
        """As `get`, with config, metadata, parent and pending writes."""
        where = address(config)
        loaded = self.load(where.thread, where.namespace or "", where.checkpoint)
        return None if loaded is None else to_tuple(loaded, self.serde)

    def put(
        self,
        config: Config,
        checkpoint: Mapping[str, Any],
        metadata: Mapping[str, Any],
        new_versions: Mapping[str, int],
    ) -> dict[str, Any]:
        """Store a checkpoint under the one that the config points at; returns the config of the new one.

        Channels whose version the parent doesn't have are stored, named in `new_versions` or not.
        """
        where = address(config)
        check_versions(checkpoint["channel_versions"], self.version_types)
        check_names(checkpoint["id"], str(metadata.get("source")), *checkpoint["channel_versions"])
        changed = {**new_versions, **self._unshared(config, checkpoint["channel_versions"])}
        row = to_row(config, checkpoint, metadata, changed, self.serde)
        self._commit_one(Commit(where.thread, items=[row]))
        return config_of(where.thread, row.namespace, row.id)

    def put_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Record (channel, value) writes of a task under the checkpoint that the config points at."""
        where = address(config)
        if where.checkpoint is None:
            raise InvalidInput(
                f"Writes belong to a checkpoint, and the config names none: {dict(config)!r}."
                " Pass the config that `put` returned."
            )
        check_names(task_id, task_path, *(channel for channel, _ in writes))
        rows = tuple(to_writes(task_id, writes, task_path, self.serde))
        item = Writes(where.namespace or "", where.checkpoint, rows)
        self._commit_one(Commit(where.thread, items=[item]))

    def list(
        self,
        config: Config | None,
        *,
        filter: Mapping[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, the last committed first.

        `config` None stands for all threads; without `checkpoint_ns`, for all namespaces of its
        thread. `filter` keeps those whose metadata has these values, `before` those committed
        before the checkpoint that it points at, whose id is enough.
        """
        where = address(config) if config is not None else None
        last = None if before is None else checkpoint_of(before)
        read = partial(
            self.history, where and where.thread, where and where.namespace, before=last, limit=limit
        )
        wanted = choice(self.serde, where and where.checkpoint, filter)
        for loaded in read() if wanted is None else read(chosen=wanted):
            yield to_tuple(loaded, self.serde)

    def get_next_version(self, current: int | None, channel: Any = None) -> int:
        """The version after `current`; 1 after None."""
        return 1 if current is None else current + 1

    async def aget(self, config: Config) -> dict[str, Any] | None:
        """As `get`."""
        return await self._call(self.get, config)

    async def aget_tuple(self, config: Config) -> CheckpointTuple | None:
        """As `get_tuple`."""
        return await self._call(self.get_tuple, config)

    async def aput(
        self,
        config: Config,
        checkpoint: Mapping[str, Any],
        metadata: Mapping[str, Any],
        new_versions: Mapping[str, int],
    ) -> dict[str, Any]:
        """As `put`."""
        return await self._call(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As `put_writes`."""
        await self._call(self.put_writes, config, writes, task_id, task_path)

    async def alist(
        self,
        config: Config | None,
        *,
        filter: Mapping[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """As `list`."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (one := await self._call(_next_or_none, found)) is not None:
            yield one

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """As `prune`."""
        await self._call(partial(self.prune, strategy=strategy), thread_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """As `copy_thread`."""
        await self._call(self.copy_thread, source_thread_id, target_thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """As `delete_for_runs`."""
        await self._call(self.delete_for_runs, run_ids)

    async def adelete_thread(self, thread_id: str) -> None:
        """As `delete_thread`."""
        await self._call(self.delete_thread, thread_id)

    async def _call(self, method: Callable[..., T], *args: Any) -> T:
        if self.inline:
            return method(*args)
        import asyncio

        return await asyncio.to_thread(method, *args)

    def _commit_one(self, commit: Commit) -> None:
        (refusal,) = self.commit([commit])
        if refusal is not None:
            raise refusal

    def _unshared(self, config: Config, versions: Mapping[str, int]) -> dict[str, int]:
        """The versions that the checkpoint which a config points at doesn't have."""
        where = address(config)
        parent = self.load(where.thread, where.namespace or "", where.checkpoint)
        shared = parent.checkpoint.versions.items() if parent else ()
        return dict(versions.items() - shared)


def _next_or_none(found: Iterator[CheckpointTuple]) -> CheckpointTuple | None:
    return next(found, None)
