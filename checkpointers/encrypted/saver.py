"""A saver whose rows are encrypted, around any other.

Rule: rows are sealed on their way in and opened on their way out; in between is a saver that keeps bytes
and needs no key. Each piece is bound to its place: a write to its checkpoint, task, index and channel; a
value to its channel and version; a delta to the very bytes that it changes as well; a checkpoint to all that
its row says and to the values that it holds, empty ones too. So a row that was changed, moved, swapped or
put there is refused, and so is one that is missing from a checkpoint. An older copy of a whole thread, put in its
place, isn't noticed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from checkpointers.base import CheckpointSaver, ThreadRows
from checkpointers.group_commit import Refusals
from checkpointers.housekeeping import Place
from checkpointers.opening import Target, open_saver
from checkpointers.rules import merged
from flowfn.encryption import KeyRing
from flowfn.encryption.keys import key_id, place
from flowfn.errors import CorruptDataError, DecryptionError, InvalidInput, SaverError
from flowfn.forking import each_after_fork
from flowfn.ports import (
    Begin,
    Busy,
    CheckpointRow,
    Commit,
    Lease,
    Loaded,
    SourceKeeper,
    ThreadRow,
    Versioned,
    WriteRow,
    Writes,
)

_TAG_BYTES = 16
_LENGTH_BYTES = 4
_VERSION_BYTES = 8
_NOTHING = (0, "")
_REMEMBERED = 1024
_SOURCES = "flowfn sources"
"""The scope of the source of functions, which is of all threads."""

_CALLS = "flowfn calls"
"""The scope of the digests of calls, which are looked for in all threads."""

Tags = Mapping[str, tuple[int, str]]
"""By channel: its version, and the end of its sealed value in hex, "" where it is empty."""

_Spot = tuple[str, str, str]


class EncryptedSaver(CheckpointSaver):
    """Keeps threads encrypted in another saver: AES-256-GCM, each row bound to its place.

    `target` is what `checkpointer=` takes; `keys` seals with its first key and opens with all. Encrypted are
    values, writes, questions, answers, errors, names and arguments of calls, metadata, task ids and the
    digests of calls; plain stay the ids of threads and checkpoints, names of workflows, namespaces and
    channels, versions, statuses, owners and times. Reading raises `DecryptionError`, or
    `UnknownKeyError` and `PlaintextError`, which are of that kind.

    Raises:
        InvalidInput: `keys` is no `KeyRing`.
    """

    def __init__(self, target: Target, keys: KeyRing) -> None:
        if not isinstance(keys, KeyRing):
            raise InvalidInput(
                f"keys is a {type(keys).__name__}, and no KeyRing: write KeyRing({{'2026': key}}), with a key that "
                "KeyRing.new_key() made"
            )
        self.saver = open_saver(target)
        self.keys = keys
        super().__init__(serde=self.saver.serde)
        self._known: OrderedDict[_Spot, Tags] = OrderedDict()
        self._renew_lock()
        _renewed_after_fork(self)

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()

    @property
    def inline(self) -> bool:
        return self.saver.inline

    @property
    def needs_loop(self) -> bool:
        """Whether the event loop's own thread can't commit."""
        return getattr(self.saver, "needs_loop", False)

    @property
    def keeps_deltas(self) -> bool:
        return self.saver.keeps_deltas

    # -- leases and threads -------------------------------------------------------------------------

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        return self.saver.claim(thread, force=force)

    def adopt(self, workflow: str, call: str) -> Lease | None:
        for id in self.keys.ids:
            lease = self.saver.adopt(workflow, self.keys.hide(call, _CALLS, id))
            if lease is not None:
                return self._checked(lease, call)
        self._refuse_to_begin_again(workflow)
        return None

    def _refuse_to_begin_again(self, workflow: str) -> None:
        """A run that waits to be continued, and whose call isn't readable, may be of the very call that is made.

        Calls of one key lie side by side, so that one look per key does.
        """
        hidden = self._inner.next_call(workflow)
        while hidden is not None:
            try:
                self.keys.reveal(hidden, _CALLS)
                after = hidden.partition(".")[0] + "/"  # which is what follows "." in the order of characters
            except DecryptionError as error:
                self._refuse_left_over(workflow, hidden, error)
                after = hidden
            hidden = self._inner.next_call(workflow, after)

    def _refuse_left_over(self, workflow: str, hidden: str, error: DecryptionError) -> None:
        """Refuse, unless all runs of an unreadable call are held by somebody alive, who continues them."""
        lease = self.saver.adopt(workflow, hidden)
        if lease is not None:
            self.saver.release(lease)
            raise type(error)(
                f"Thread {lease.thread!r} is an unfinished run of {workflow!r}, and may be of this very call, which "
                f"would then be run again from its start. {error}. Or delete that thread, or name one for this "
                "call with thread_id"
            )

    def _checked(self, lease: Lease, call: str) -> Lease:
        """A lease by which a run is continued, if the thread's own checkpoints say that it is of this call."""
        try:
            begun = None
            for loaded in self.saver.history(lease.thread):
                if begun := self._begun(loaded):
                    break
            if begun is not None and begun != call:
                raise DecryptionError(
                    f"Thread {lease.thread!r} looks like a run of this call, and its checkpoints are of another: "
                    "its row was changed. Restore it from a backup, or delete the thread"
                )
        except BaseException:
            self.saver.release(lease)
            raise
        return lease

    def _begun(self, loaded: Loaded) -> str:
        """The call that a checkpoint was saved for the beginning of, or ""."""
        row = loaded.checkpoint
        return _split(self.keys.open(row.metadata, loaded.thread, _of_metadata(row)))[0]

    def release(self, lease: Lease) -> None:
        self.saver.release(lease)

    def threads(self, *, limit: int | None = None) -> ThreadRows:
        return [self._listed(row) for row in self.saver.threads(limit=limit)]

    def thread(self, thread: str) -> ThreadRow | None:
        row = self.saver.thread(thread)
        return None if row is None else self._listed(row)

    def delete_thread(self, thread_id: str) -> None:
        self.saver.delete_thread(thread_id)
        self._unlearn(thread_id)

    def places(self, thread: str) -> list[Place]:
        return self._inner.places(thread)

    def forget(self, thread: str, places: Collection[Place]) -> None:
        self._inner.forget(thread, places)
        self._unlearn(thread)

    @property
    def _inner(self) -> CheckpointSaver:
        """The saver around which this one is, where it can do more than runs ask for."""
        if not isinstance(self.saver, CheckpointSaver):
            raise SaverError(
                f"{self.saver!r} can't forget, copy or list its calls: derive it from CheckpointSaver"
            )
        return self.saver

    def _unlearn(self, thread: str) -> None:
        with self._lock:
            for spot in [spot for spot in self._known if spot[0] == thread]:
                del self._known[spot]

    def close(self) -> None:
        self.saver.close()

    def _listed(self, row: ThreadRow) -> ThreadRow:
        """The row of a thread. What it calls `call` is opaque to everybody, so that one without a key still lists."""
        with suppress(DecryptionError):
            return row._replace(call=self.keys.reveal(row.call, _CALLS))
        return row

    # -- writing ------------------------------------------------------------------------------------

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> Refusals:
        return self.saver.commit([self._sealed(commit) for commit in commits], wait=wait)

    def _sealed(self, commit: Commit) -> Commit:
        call = commit.begin.call if commit.begin is not None else ""
        items: list[CheckpointRow | Writes] = []
        for item in commit.items:
            if isinstance(item, Writes):
                rows = [
                    self._sealed_write(commit.thread, item.namespace, item.checkpoint, row)
                    for row in item.rows
                ]
                items.append(Writes(item.namespace, item.checkpoint, rows))
            elif isinstance(item, CheckpointRow):
                items.append(self._sealed_checkpoint(commit.thread, item, "" if item.namespace else call))
                call = call if item.namespace else ""
            else:
                items.append(item)  # which the inner saver refuses
        return replace(commit, items=items, begin=self._sealed_begin(commit.begin))

    def _sealed_begin(self, begin: Begin | None) -> Begin | None:
        if begin is None or not begin.call:
            return begin
        return Begin(begin.workflow, self.keys.hide(begin.call, _CALLS))

    def _sealed_write(self, thread: str, namespace: str, checkpoint: str, row: WriteRow) -> WriteRow:
        value = self.keys.seal(row.value, thread, _of_write(namespace, checkpoint, row))
        return row._replace(task=self.keys.hide(row.task, thread), value=value)

    def _sealed_checkpoint(self, thread: str, row: CheckpointRow, call: str) -> CheckpointRow:
        """A checkpoint, sealed; the first one of a run says of which call it is."""
        shared = self._shared(thread, row)
        values = {
            channel: self._sealed_value(thread, row.namespace, channel, held, shared.get(channel, _NOTHING))
            for channel, held in row.values.items()
        }
        tags = _tags(row.versions, values, shared)
        self._remember((thread, row.namespace, row.id), tags)
        return replace(
            row,
            values=values,
            body=self.keys.seal(row.body, thread, _of_checkpoint(row, tags)),
            metadata=self.keys.seal(_joined(call, row.metadata), thread, _of_metadata(row)),
        )

    def _sealed_value(
        self, thread: str, namespace: str, channel: str, held: Versioned, old: tuple[int, str]
    ) -> Versioned:
        """A value, sealed; a delta says of which version it changes, and is bound to the very bytes of that."""
        version = held.version
        if held.deltas:
            changed, tag = old
            delta = changed.to_bytes(_VERSION_BYTES, "big") + held.deltas[0]
            sealed = self.keys.seal(delta, thread, _of_delta(namespace, channel, version, tag))
            return held._replace(deltas=(sealed,))
        if held.value is None:
            return held
        return held._replace(value=self.keys.seal(held.value, thread, _of_value(namespace, channel, version)))

    def _shared(self, thread: str, row: CheckpointRow) -> Tags:
        """The values that a new checkpoint may have from its parent, or from the last one if it names none."""
        if row.versions.keys() <= row.values.keys() and not any(held.deltas for held in row.values.values()):
            return {}
        if row.parent is not None:
            with self._lock:
                known = self._known.get((thread, row.namespace, row.parent))
            if known is not None:
                return known
        parent = self.saver.load(thread, row.namespace, row.parent)
        return {} if parent is None else _tags(parent.checkpoint.versions, parent.checkpoint.values, {})

    def _remember(self, spot: _Spot, tags: Tags) -> None:
        """Keep what the next checkpoint is likely to share, so that saving it reads nothing."""
        with self._lock:
            self._known[spot] = tags
            self._known.move_to_end(spot)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)

    def keep_sources(self, sources: Mapping[str, bytes]) -> None:
        if not isinstance(self.saver, SourceKeeper):
            return
        self.saver.keep_sources(
            {
                self.keys.hide(digest, _SOURCES): self.keys.seal(data, _SOURCES, place("source", digest))
                for digest, data in sources.items()
            }
        )

    # -- reading ------------------------------------------------------------------------------------

    def source(self, digest: str) -> bytes | None:
        keeper = self.saver
        if not isinstance(keeper, SourceKeeper):
            return None
        for id in self.keys.ids:
            data = keeper.source(self.keys.hide(digest, _SOURCES, id))
            if data is not None:
                return self.keys.open(data, _SOURCES, place("source", digest))
        return None

    def load(self, thread: str, namespace: str = "", checkpoint: str | None = None) -> Loaded | None:
        with _refusing():
            loaded = self.saver.load(thread, namespace, checkpoint)
        return None if loaded is None else self._opened(loaded)

    def history(
        self,
        thread: str | None,
        namespace: str | None = "",
        *,
        before: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Loaded]:
        return self._each(self.saver.history(thread, namespace, before=before, limit=limit))

    def _each(self, found: Iterator[Loaded]) -> Iterator[Loaded]:
        with _refusing():
            for loaded in found:
                yield self._opened(loaded)

    def _opened(self, loaded: Loaded) -> Loaded:
        row, thread = loaded.checkpoint, loaded.thread
        try:
            return Loaded(thread, self._opened_checkpoint(thread, row), self._opened_writes(loaded))
        except DecryptionError as error:
            raise type(error)(f"Thread {thread!r}, checkpoint {row.id!r}: {error}") from None

    def _opened_checkpoint(self, thread: str, row: CheckpointRow) -> CheckpointRow:
        tags = _tags(row.versions, row.values, {})
        values = {
            channel: self._opened_value(thread, row.namespace, channel, held)
            for channel, held in row.values.items()
        }
        body = self.keys.open(row.body, thread, _of_checkpoint(row, tags))
        _, metadata = _split(self.keys.open(row.metadata, thread, _of_metadata(row)))
        self._remember((thread, row.namespace, row.id), tags)
        return replace(row, values=values, body=body, metadata=metadata)

    def _opened_value(self, thread: str, namespace: str, channel: str, held: Versioned) -> Versioned:
        if held.value is None:
            return held
        version, opened = held.version, []
        parts = (held.value, *held.deltas)
        for sealed, under in zip(parts[:0:-1], parts[-2::-1], strict=True):
            delta = self.keys.open(sealed, thread, _of_delta(namespace, channel, version, _tag(under)))
            version = int.from_bytes(delta[:_VERSION_BYTES], "big")
            opened.append(delta[_VERSION_BYTES:])
        value = self.keys.open(held.value, thread, _of_value(namespace, channel, version))
        return Versioned(held.version, value, tuple(reversed(opened)))

    def _opened_writes(self, loaded: Loaded) -> list[WriteRow]:
        used = {key_id(row.value) for row in loaded.writes}
        tasks = {
            hidden: self.keys.reveal(hidden, loaded.thread) for hidden in {row.task for row in loaded.writes}
        }
        rows = [self._opened_write(loaded, row._replace(task=tasks[row.task])) for row in loaded.writes]
        # A saver tells rows of one task by its hidden id, which another key hides as another.
        return merged(rows) if len(used) > 1 else rows

    def _opened_write(self, loaded: Loaded, row: WriteRow) -> WriteRow:
        where = _of_write(loaded.checkpoint.namespace, loaded.checkpoint.id, row)
        return row._replace(value=self.keys.open(row.value, loaded.thread, where))


@contextmanager
def _refusing() -> Iterator[None]:
    """A row that the inner saver finds changed is one that was changed."""
    try:
        yield
    except DecryptionError:
        raise
    except CorruptDataError as error:
        raise DecryptionError(str(error)) from error


def _joined(call: str, metadata: bytes) -> bytes:
    named = call.encode("utf-8", "surrogatepass")
    return len(named).to_bytes(_LENGTH_BYTES, "big") + named + metadata


def _split(data: bytes) -> tuple[str, bytes]:
    end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "big")
    return data[_LENGTH_BYTES:end].decode("utf-8", "surrogatepass"), data[end:]


# -- places -------------------------------------------------------------------------------------------


def _of_write(namespace: str, checkpoint: str, row: WriteRow) -> bytes:
    return place("write", namespace, checkpoint, row.task, str(row.index), row.channel, row.path)


def _of_value(namespace: str, channel: str, version: int) -> bytes:
    return place("value", namespace, channel, str(version))


def _of_delta(namespace: str, channel: str, version: int, changed: str) -> bytes:
    return place("delta", namespace, channel, str(version), changed)


def _of_metadata(row: CheckpointRow) -> bytes:
    return place("metadata", row.namespace, row.id)


def _of_checkpoint(row: CheckpointRow, tags: Tags) -> bytes:
    parent = () if row.parent is None else (row.parent,)
    described = (row.namespace, row.id, str(row.step), row.source, row.created_at, str(len(parent)), *parent)
    held = (part for name, (version, tag) in sorted(tags.items()) for part in (name, str(version), tag))
    return place("checkpoint", *described, *held)


def _tags(versions: Mapping[str, int], values: Mapping[str, Versioned], shared: Tags) -> Tags:
    """What each channel of a checkpoint holds: put with it, shared at the same version, or nothing."""
    tags = {}
    for channel, version in versions.items():
        held = values.get(channel)
        if held is not None:
            last = held.deltas[-1] if held.deltas else held.value
            tags[channel] = (version, "" if last is None else _tag(last))
        elif (old := shared.get(channel)) is not None and old[0] == version:
            tags[channel] = old
        else:
            tags[channel] = (version, "")
    return tags


def _tag(sealed: bytes) -> str:
    """What a sealed value is told by: the end of its bytes."""
    return sealed[-_TAG_BYTES:].hex()


_renewed_after_fork = each_after_fork(EncryptedSaver._renew_lock)
