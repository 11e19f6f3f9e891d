"""The saver that encrypts: around any other, which keeps bytes and needs no key.

Rule: rows are sealed on their way in and opened on their way out, and nothing of them is plain in between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from checkpointers.base import CheckpointSaver, ThreadRows
from checkpointers.encrypted.known import Known
from checkpointers.encrypted.places import Tags, tags_of
from checkpointers.encrypted.sealing import CALLS, Sealing
from checkpointers.group_commit import Refusals
from checkpointers.opening import Target, open_saver
from flowfn.encryption import KeyRing
from flowfn.encryption.keys import place
from flowfn.errors import CorruptDataError, DecryptionError, InvalidInput, SaverError
from flowfn.ports import (
    Busy,
    CheckpointRow,
    Choice,
    ClaimsTogether,
    Commit,
    Lease,
    Loaded,
    Place,
    SourceKeeper,
    ThreadRow,
    Writes,
)

_SOURCES = "flowfn sources"
"""The scope of the source of functions, which is of all threads."""


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
                f"keys is of type {type(keys).__name__}, and no KeyRing: write KeyRing({{'2026': key}}), with a key "
                "that KeyRing.new_key() made"
            )
        self.saver = open_saver(target)
        super().__init__(serde=self.saver.serde)
        self.keys = keys
        self._known = Known()

    @property
    def keys(self) -> KeyRing:
        """What seals and opens from now on; may be set."""
        return self._sealing.keys

    @keys.setter
    def keys(self, keys: KeyRing) -> None:
        self._sealing = Sealing(keys)

    @property
    def inline(self) -> bool:
        return self.saver.inline

    @property
    def needs_loop(self) -> bool:
        """Whether the event loop's own thread can't commit."""
        return getattr(self.saver, "needs_loop", False)

    @property
    def lists_quickly(self) -> bool:
        """Whether threads are told without a look at all checkpoints."""
        return getattr(self.saver, "lists_quickly", True)

    def note_loop(self) -> None:
        """Have the asyncio methods of a saver that was written for LangGraph run on the loop that runs here."""
        if (note := getattr(self.saver, "note_loop", None)) is not None:
            note()

    @property
    def keeps_deltas(self) -> bool:
        return self.saver.keeps_deltas

    # -- leases and threads -------------------------------------------------------------------------

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        return self.saver.claim(thread, force=force)

    def claim_free(self, threads: Sequence[str]) -> Sequence[Lease | None]:
        """As the saver around which this one is does; of one that takes leases one by one, none."""
        if isinstance(self.saver, ClaimsTogether):
            return self.saver.claim_free(threads)
        return [None] * len(threads)

    def adopt(self, workflow: str, call: str) -> Lease | None:
        for id in self.keys.ids:
            lease = self.saver.adopt(workflow, self.keys.hide(call, CALLS, id))
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
                self.keys.reveal(hidden, CALLS)
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
                if begun := self._sealing.begun(loaded):
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

    def release(self, lease: Lease) -> None:
        self.saver.release(lease)

    def threads(self, *, limit: int | None = None) -> ThreadRows:
        return [self._listed(row) for row in self.saver.threads(limit=limit)]

    def unfinished(self, workflow: str, *, limit: int | None = None) -> ThreadRows:
        return [self._listed(row) for row in self._inner.unfinished(workflow, limit=limit)]

    def thread(self, thread: str) -> ThreadRow | None:
        row = self.saver.thread(thread)
        return None if row is None else self._listed(row)

    def delete_thread(self, thread_id: str) -> None:
        self.saver.delete_thread(thread_id)
        self._known.forget(thread_id)

    def places(self, thread: str) -> list[Place]:
        return self._inner.places(thread)

    def forget(self, thread: str, places: Collection[Place]) -> None:
        self._inner.forget(thread, places)
        self._known.forget(thread)

    @property
    def _inner(self) -> CheckpointSaver:
        """The saver around which this one is, where it can do more than runs ask for."""
        if not isinstance(self.saver, CheckpointSaver):
            raise SaverError(
                f"{self.saver!r} can't forget, copy or list its calls: derive it from CheckpointSaver"
            )
        return self.saver

    def close(self) -> None:
        self.saver.close()

    def _listed(self, row: ThreadRow) -> ThreadRow:
        """The row of a thread. What it calls `call` is opaque to everybody, so that one without a key still lists."""
        with suppress(DecryptionError):
            return row._replace(call=self.keys.reveal(row.call, CALLS))
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
                    self._sealing.write(commit.thread, item.namespace, item.checkpoint, row)
                    for row in item.rows
                ]
                items.append(Writes(item.namespace, item.checkpoint, rows))
            elif isinstance(item, CheckpointRow):
                items.append(self._sealed_checkpoint(commit.thread, item, "" if item.namespace else call))
                call = call if item.namespace else ""
            else:
                items.append(item)  # which the inner saver refuses
        return replace(commit, items=items, begin=self._sealing.begin(commit.begin))

    def _sealed_checkpoint(self, thread: str, row: CheckpointRow, call: str) -> CheckpointRow:
        sealed, tags = self._sealing.checkpoint(thread, row, call, self._shared(thread, row))
        self._known.keep((thread, row.namespace, row.id), tags)
        return sealed

    def _shared(self, thread: str, row: CheckpointRow) -> Tags:
        """The values that a new checkpoint may have from its parent, or from the last one if it names none."""
        if row.versions.keys() <= row.values.keys() and not any(held.deltas for held in row.values.values()):
            return {}
        if row.parent is not None:
            known = self._known.get((thread, row.namespace, row.parent))
            if known is not None:
                return known
        parent = self.saver.load(thread, row.namespace, row.parent)
        return {} if parent is None else tags_of(parent.checkpoint.versions, parent.checkpoint.values, {})

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
        chosen: Choice | None = None,
    ) -> Iterator[Loaded]:
        by_open = None if chosen is None else lambda head: chosen(self._opened_head(head))
        return self._each(self.saver.history(thread, namespace, before=before, limit=limit, chosen=by_open))

    def _each(self, found: Iterator[Loaded]) -> Iterator[Loaded]:
        with _refusing():
            for loaded in found:
                yield self._opened(loaded)

    def _opened_head(self, head: Loaded) -> Loaded:
        with _telling_of(head):
            return head._replace(checkpoint=self._sealing.opened_head(head))

    def _opened(self, loaded: Loaded) -> Loaded:
        row, thread = loaded.checkpoint, loaded.thread
        with _telling_of(loaded):
            opened, tags = self._sealing.opened_checkpoint(thread, row)
            writes = self._sealing.opened_writes(loaded)
        self._known.keep((thread, row.namespace, row.id), tags)
        return Loaded(thread, opened, writes)


@contextmanager
def _telling_of(loaded: Loaded) -> Iterator[None]:
    """An error that says which checkpoint can't be opened."""
    try:
        yield
    except DecryptionError as error:
        raise type(error)(f"Thread {loaded.thread!r}, checkpoint {loaded.checkpoint.id!r}: {error}") from None


@contextmanager
def _refusing() -> Iterator[None]:
    """A row that the inner saver finds changed is one that was changed."""
    try:
        yield
    except DecryptionError:
        raise
    except CorruptDataError as error:
        raise DecryptionError(str(error)) from error
