"""The saver that keeps its rows in this process: for tests, notebooks and runs that need no past.

Rule: it keeps exactly the bytes that a database would, so that no value is shared with the caller and
a workflow behaves as it will on disk.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count, islice
from typing import NamedTuple

from checkpointers.base import CheckpointSaver
from checkpointers.housekeeping import check_retention
from checkpointers.leases import Holder, is_alive, label
from checkpointers.rules import (
    busy,
    concerns_thread,
    lease_lost,
    limited,
    nothing_to_change,
    now,
    strange_item,
    tell,
    unknown_before,
)
from flowfn.errors import SaverError
from flowfn.ports import (
    UNFINISHED,
    Busy,
    CheckpointRow,
    Choice,
    Commit,
    Lease,
    Loaded,
    Place,
    Serializer,
    Status,
    ThreadRow,
    Versioned,
    WriteRow,
    Writes,
)
from flowfn.python.forking import each_after_fork


class _Part(NamedTuple):
    """The bytes of a value: whole, or a delta to an earlier one, which is shared with whoever has it."""

    data: bytes
    onto: _Part | None


class _Value(NamedTuple):
    """A channel's version, and the last part of its value; None where it is empty."""

    version: int
    part: _Part | None

    def read(self) -> Versioned:
        """The value with its deltas, the oldest first."""
        if self.part is None:
            return Versioned(self.version, None)
        part, deltas = self.part, []
        while part.onto is not None:
            deltas.append(part.data)
            part = part.onto
        return Versioned(self.version, part.data, tuple(reversed(deltas)))


_part, _value = partial(tuple.__new__, _Part), partial(tuple.__new__, _Value)
"""Make one of a tuple of its parts: calling the class costs a Python call more."""


@dataclass(slots=True)
class _Kept:
    """A checkpoint, what its channels hold, and its writes; `row` is None while only writes name it.

    The row's mappings may be the caller's; `values` is the saver's own.
    """

    row: CheckpointRow | None = None
    values: dict[str, _Value] = field(default_factory=dict)
    place: int = 0
    writes: dict[tuple[str, int], WriteRow] = field(default_factory=dict)


@dataclass(slots=True)
class _Thread:
    """What a thread last ran, who holds it, and its checkpoints by namespace and id; `touched` orders listings."""

    id: str
    created_at: str
    updated_at: str
    workflow: str = ""
    call: str = ""
    status: Status = "done"
    token: int = 0
    owner: str | None = None
    touched: int = 0
    namespaces: dict[str, dict[str, _Kept]] = field(default_factory=dict)

    def live_owner(self) -> str | None:
        """Who holds it and is alive. No other process can, so no lease ever expires."""
        owner = self.owner
        return owner if owner is not None and is_alive(owner, self.id, self.token, expired=False) else None

    def is_left_over(self, workflow: str, call: str) -> bool:
        """Whether a dead or suspended run of this call waits to be continued."""
        same = (self.workflow, self.call) == (workflow, call)
        return same and self.status in UNFINISHED and self.live_owner() is None


class _Found(NamedTuple):
    """A checkpoint on its way out of a listing."""

    place: int
    thread: str
    row: CheckpointRow
    values: dict[str, _Value]
    kept: _Kept


class MemorySaver(CheckpointSaver):
    """Keeps threads in this process, as bytes. Safe to use from any thread; gone with the process.

    Args:
        serde: turns values to bytes and back; default: `flowfn.serde.DEFAULT`.
        retention: how many checkpoints of each namespace are kept when a run ends, the newest; default: None, all.

    Raises:
        InvalidInput: `retention` is no number of checkpoints.
    """

    def __init__(self, *, serde: Serializer | None = None, retention: int | None = None) -> None:
        super().__init__(serde=serde)
        self.retention = check_retention(retention)
        self._threads: dict[str, _Thread] = {}
        self._sources: dict[str, bytes] = {}
        self._ticks = count(1)
        self._holder = Holder()
        self._renew_lock()
        _renewed_after_fork(self)

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()

    @property
    def inline(self) -> bool:
        return True

    # -- leases -----------------------------------------------------------------------------------

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        lent: list[Lease] = []
        try:
            with self._lock:
                new = thread not in self._threads
                held = self._ensured(thread)
                if not force and (owner := held.live_owner()) is not None:
                    return Busy(label(owner))
                return self._lend(held, lent, new=new)
        except BaseException:
            self._holder.drop_all(lent)
            raise

    def adopt(self, workflow: str, call: str) -> Lease | None:
        lent: list[Lease] = []
        try:
            with self._lock:
                for thread in reversed(self._threads.values()):
                    if thread.is_left_over(workflow, call):
                        return self._lend(thread, lent)
            return None
        except BaseException:
            self._holder.drop_all(lent)
            raise

    def release(self, lease: Lease) -> None:
        with self._lock:
            self._take_back(lease)

    def _lend(self, thread: _Thread, lent: list[Lease], *, new: bool = False) -> Lease:
        """Lend a thread; `lent` is for the caller, who drops it if it can't be told of."""
        thread.token = next(self._ticks)
        thread.owner = self._holder.owner
        self._touch(thread)
        lease = Lease(thread.id, thread.token, new)
        lent.append(lease)
        self._holder.take(lease)
        return lease

    def _take_back(self, lease: Lease) -> None:
        thread = self._threads.get(lease.thread)
        if thread is not None and thread.token == lease.token:
            thread.owner = None
        self._holder.drop(lease)

    # -- writing ----------------------------------------------------------------------------------

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        if not wait and self._lock.locked():
            raise BlockingIOError("another thread is committing")
        with self._lock:  # and no `acquire`: between that and a `try` Ctrl-C would leave it locked for ever
            refusals = [self._commit(one) for one in commits]
        self._retain(commits)
        return refusals

    def _commit(self, commit: Commit) -> Exception | None:
        if (lease := commit.lease) is not None and not self._admits(lease):
            return lease_lost(commit.thread, inherited=self._holder.refuses(lease))
        for item in commit.items:
            if not isinstance(item, (CheckpointRow, Writes)):  # a union is made anew each time
                return strange_item(item)
        thread = self._ensured(commit.thread)
        try:
            held = _held(thread, commit)
        except SaverError as error:
            return error
        for item in commit.items:
            if isinstance(item, Writes):
                self._add_writes(thread, item)
            else:
                self._add_checkpoint(thread, item, held[item.namespace, item.id])
        self._settle(thread, commit)
        tell(commit)
        return None

    def _admits(self, lease: Lease) -> bool:
        thread = self._threads.get(lease.thread)
        return thread is not None and thread.token == lease.token and not self._holder.refuses(lease)

    def _add_writes(self, thread: _Thread, writes: Writes) -> None:
        kept = _kept_at(thread.namespaces.setdefault(writes.namespace, {}), writes.checkpoint)
        for row in writes.rows:
            spot = (row.task, row.index)
            if row.index < 0:
                kept.writes.pop(spot, None)
            kept.writes.setdefault(spot, row)

    def _add_checkpoint(self, thread: _Thread, row: CheckpointRow, values: dict[str, _Value]) -> None:
        namespace = thread.namespaces.setdefault(row.namespace, {})
        kept = _kept_at(namespace, row.id)
        if kept.row is None:
            kept.place = next(self._ticks)
            namespace[row.id] = namespace.pop(row.id)
        kept.row, kept.values = row, values

    def _settle(self, thread: _Thread, commit: Commit) -> None:
        if commit.begin is not None:
            thread.workflow, thread.call = commit.begin
            thread.status = "running"
        if commit.status is not None:
            thread.status = commit.status
        if commit.release and commit.lease is not None:
            self._take_back(commit.lease)
        if concerns_thread(commit):
            self._touch(thread)

    def _touch(self, thread: _Thread) -> None:
        thread.updated_at = now()
        thread.touched = next(self._ticks)

    def _ensured(self, thread: str) -> _Thread:
        """The thread of an id; made, where there is none."""
        known = self._threads.get(thread)
        if known is None:
            time = now()
            known = self._threads[thread] = _Thread(thread, time, time)
            known.touched = next(self._ticks)
        return known

    def forget(self, thread: str, places: Collection[Place]) -> None:
        with self._lock:
            known = self._threads.get(thread)
            if known is None:
                return
            if (owner := known.live_owner()) is not None:
                raise busy(thread, label(owner))
            if known.owner is not None:  # if its holder isn't dead, it may not go on from what is forgotten
                known.owner, known.token = None, next(self._ticks)
            for namespace, id in places:
                known.namespaces.get(namespace, {}).pop(id, None)
            known.namespaces = {name: kept for name, kept in known.namespaces.items() if kept}

    def delete_thread(self, thread_id: str) -> None:
        with self._lock:
            self._threads.pop(thread_id, None)

    def close(self) -> None:
        for lease in self._holder.leases():
            self.release(lease)
        self._holder.close()

    def abandon(self) -> None:
        """Leave off as a killed process does: the leases that it held stay written, and their owner is dead."""
        self._holder.close()

    def keep_sources(self, sources: Mapping[str, bytes]) -> None:
        with self._lock:
            self._sources = {**sources, **self._sources}

    # -- reading ----------------------------------------------------------------------------------

    def source(self, digest: str) -> bytes | None:
        return self._sources.get(digest)

    def load(self, thread: str, namespace: str = "", checkpoint: str | None = None) -> Loaded | None:
        with self._lock:
            known = self._threads.get(thread)
            places = known.namespaces.get(namespace, {}) if known is not None else {}
            kept = _last(places) if checkpoint is None else places.get(checkpoint)
            if kept is None or kept.row is None:
                return None
            return _loaded(thread, kept.row, kept.values, kept)

    def history(
        self,
        thread: str | None,
        namespace: str | None = "",
        *,
        before: str | None = None,
        limit: int | None = None,
        chosen: Choice | None = None,
    ) -> Iterator[Loaded]:
        with self._lock:
            found = self._ordered(thread)
        if before is not None:
            found = found[_position(before, namespace, found) + 1 :]
        wanted = (
            one
            for one in found
            if namespace in (None, one.row.namespace)
            and (chosen is None or chosen(Loaded(one.thread, one.row, ())))
        )
        return map(self._reload, islice(wanted, limited(limit)))

    def _ordered(self, thread: str | None) -> list[_Found]:
        """The checkpoints of a thread, or of all, the last committed first."""
        found = [
            _Found(kept.place, known.id, kept.row, kept.values, kept)
            for known in self._threads.values()
            if thread in (None, known.id)
            for places in known.namespaces.values()
            for kept in places.values()
            if kept.row is not None
        ]
        return sorted(found, key=lambda one: one.place, reverse=True)

    def _reload(self, found: _Found) -> Loaded:
        with self._lock:
            return _loaded(found.thread, found.row, found.values, found.kept)

    def places(self, thread: str) -> list[Place]:
        with self._lock:
            return [(one.row.namespace, one.row.id) for one in self._ordered(thread)]

    def threads(self, *, limit: int | None = None) -> list[ThreadRow]:
        with self._lock:
            newest = sorted(self._threads.values(), key=lambda known: known.touched, reverse=True)
            return [_listed(known) for known in newest if _is_thread(known)][: limited(limit)]

    def thread(self, thread: str) -> ThreadRow | None:
        with self._lock:
            known = self._threads.get(thread)
            return None if known is None or not _is_thread(known) else _listed(known)


def _kept_at(places: dict[str, _Kept], checkpoint: str) -> _Kept:
    """What is kept of a checkpoint; made, where nothing is."""
    return places.get(checkpoint) or places.setdefault(checkpoint, _Kept())


def _last(places: dict[str, _Kept]) -> _Kept | None:
    return next((kept for kept in reversed(places.values()) if kept.row is not None), None)


def _loaded(thread: str, row: CheckpointRow, values: dict[str, _Value], kept: _Kept) -> Loaded:
    versions = {channel: value.version for channel, value in values.items()}
    read = {channel: value.read() for channel, value in values.items()}
    return Loaded(thread, row._replace(versions=versions, values=read), list(kept.writes.values()))


def _held(thread: _Thread, commit: Commit) -> dict[tuple[str, str], dict[str, _Value]]:
    """What each checkpoint of a commit will hold, by namespace and id."""
    held: dict[tuple[str, str], dict[str, _Value]] = {}
    last: dict[str, dict[str, _Value]] = {}
    for row in commit.items:
        if isinstance(row, CheckpointRow):
            namespace = thread.namespaces.get(row.namespace, {})
            parent = last.get(row.namespace) if row.parent is None else held.get((row.namespace, row.parent))
            if parent is None:
                kept = _last(namespace) if row.parent is None else namespace.get(row.parent)
                parent = {} if kept is None else kept.values
            held[row.namespace, row.id] = last[row.namespace] = _values(row, parent)
    return held


def _values(row: CheckpointRow, parent: dict[str, _Value]) -> dict[str, _Value]:
    """A value for every channel that the row's versions name: put with it, changed by it, shared, or empty."""
    values = {}
    for channel, version in row.versions.items():
        put, old = row.values.get(channel), parent.get(channel)
        if put is not None:
            values[channel] = _value((version, _put(row, channel, put, old)))
        else:
            values[channel] = old if old is not None and old.version == version else _value((version, None))
    return values


def _put(row: CheckpointRow, channel: str, put: Versioned, old: _Value | None) -> _Part | None:
    if not put.deltas:
        return None if put.value is None else _part((put.value, None))
    if old is None or old.part is None:
        raise nothing_to_change(row, channel)
    return _Part(put.deltas[0], old.part)


def _position(before: str, namespace: str | None, found: Sequence[_Found]) -> int:
    """Where a checkpoint is in a listing; one of the namespace asked for goes before any other."""
    places = [index for index, one in enumerate(found) if one.row.id == before]
    own = [index for index in places if found[index].row.namespace == namespace]
    if not places:
        raise unknown_before(before)
    return (own or places)[0]


def _is_thread(known: _Thread) -> bool:
    """Whether it is more than a claim that was given up with nothing written."""
    return bool(known.workflow or known.namespaces or known.live_owner() is not None)


def _listed(known: _Thread) -> ThreadRow:
    owner = known.live_owner()
    return ThreadRow(
        known.id,
        known.workflow,
        known.call,
        known.status,
        owner and label(owner),
        known.created_at,
        known.updated_at,
    )


_renewed_after_fork = each_after_fork(MemorySaver._renew_lock)
