"""Forgetting what nobody needs any more, and copying what somebody does, on any saver.

Rule: what is kept can be read as before, whatever it shares with what is forgotten; and nothing is forgotten
under a run: where a live one holds the thread, that is refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence

from checkpointers.rules import busy
from flowfn.described import metadata_of
from flowfn.errors import InvalidInput, SaverError, ThreadBusy
from flowfn.logs import logger
from flowfn.ports import (
    Begin,
    Busy,
    CheckpointRow,
    Choice,
    Commit,
    Lease,
    Loaded,
    Place,
    Serializer,
    ThreadRow,
    Versioned,
    Writes,
)

Item = CheckpointRow | Writes


class Housekeeping(ABC):
    """`prune`, `copy_thread` and `delete_for_runs`, which LangGraph names and none of its savers has."""

    serde: Serializer
    retention: int | None = None
    """Checkpoints of each namespace that are kept when a run ends; None keeps all."""

    @property
    @abstractmethod
    def keeps_deltas(self) -> bool: ...

    @abstractmethod
    def places(self, thread: str) -> list[Place]:
        """Where each checkpoint of a thread is, the last committed first."""

    @abstractmethod
    def forget(self, thread: str, places: Collection[Place]) -> None:
        """Forget checkpoints with their writes, in one transaction. What the others share with them stays.

        Raises:
            ThreadBusy: a live run holds the thread.
        """

    @abstractmethod
    def load(self, thread: str, namespace: str = "", checkpoint: str | None = None) -> Loaded | None: ...

    @abstractmethod
    def history(
        self, thread: str | None, namespace: str | None = "", *, chosen: Choice | None = None
    ) -> Iterator[Loaded]: ...

    @abstractmethod
    def thread(self, thread: str) -> ThreadRow | None: ...

    @abstractmethod
    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]: ...

    @abstractmethod
    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy: ...

    @abstractmethod
    def release(self, lease: Lease) -> None: ...

    @abstractmethod
    def delete_thread(self, thread_id: str) -> None: ...

    def delete_unused(self, thread: str, *, seen: Sequence[Place] | None = None) -> bool:
        """Forget a thread that no live run holds, whole; False if its `places` aren't those `seen` any more.

        Raises:
            ThreadBusy: a live run holds the thread.
        """
        lease = self.claim(thread)
        if isinstance(lease, Busy):
            raise busy(thread, lease.owner)
        try:
            if seen is not None and self.places(thread) != seen:
                return False
            self.delete_thread(thread)
            return True
        finally:
            self.release(lease)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Forget all but the last checkpoint of each namespace, or with the strategy "delete" the threads.

        Raises:
            ThreadBusy: a live run holds a thread; those before it in the list are done.
        """
        if strategy not in ("keep_latest", "delete"):
            raise InvalidInput(f'strategy={strategy!r} is unknown. Pass "keep_latest" or "delete".')
        for thread in thread_ids:
            if strategy == "delete":
                self.delete_unused(thread)
            else:
                self.keep_last(thread)

    def keep_last(self, thread: str, count: int = 1) -> int:
        """Forget all but the last `count` checkpoints of each namespace of a thread; how many were forgotten.

        Raises:
            InvalidInput: `count` is below 1.
            ThreadBusy: a live run holds the thread.
        """
        doomed = self.beyond(thread, count)
        if doomed:
            self.forget(thread, doomed)
        return len(doomed)

    def beyond(self, thread: str, count: int) -> list[Place]:
        """The checkpoints that `keep_last` would forget."""
        _checked("count", count)
        seen: Counter[str] = Counter()
        found = []
        for namespace, id in self.places(thread):
            seen[namespace] += 1
            if seen[namespace] > count:
                found.append((namespace, id))
        return found

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Forget the checkpoints whose metadata have one of these as `run_id`. Looks through all threads.

        Raises:
            ThreadBusy: a live run holds a thread.
        """
        runs, doomed = set(run_ids), defaultdict(list)

        def of_these(head: Loaded) -> bool:
            return metadata_of(head.checkpoint, self.serde).get("run_id") in runs

        for loaded in self.history(None, None, chosen=of_these) if runs else ():
            doomed[loaded.thread].append((loaded.checkpoint.namespace, loaded.checkpoint.id))
        for thread, places in doomed.items():
            self.forget(thread, places)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread under another id: all checkpoints, with their ids and writes. Nothing, if there is none.

        No direct call goes on with the copy: its run is resumed by its thread's id.

        Raises:
            InvalidInput: there is a thread of the other id.
            DecryptionError: it is encrypted, and this saver has no keys.
        """
        row = self.thread(source_thread_id)
        if row is not None:
            add_thread(self, target_thread_id, row, items_of(self, source_thread_id))

    def _retain(self, commits: Sequence[Commit]) -> None:
        """After runs have ended: forget what `retention` doesn't keep of their threads, unless the next run is on."""
        if self.retention is not None:
            for commit in commits:
                if commit.release:
                    self._retain_some(commit.thread, self.retention)

    def _retain_some(self, thread: str, count: int) -> None:
        """What a run recorded is durable by now, so that it doesn't fail for this; the next run's end tries again."""
        try:
            self.keep_last(thread, count)
        except ThreadBusy:
            return
        except SaverError as error:
            logger.warning(
                "thread %r keeps more checkpoints than retention=%d says: %s", thread, count, error
            )


def check_retention(retention: int | None) -> int | None:
    """A saver's `retention=`: how many checkpoints to keep; None keeps all.

    Raises:
        InvalidInput: it is below 1, or no whole number.
    """
    return None if retention is None else _checked("retention", retention, ", or None to keep all")


def _checked(option: str, count: int, otherwise: str = "") -> int:
    if type(count) is not int or count < 1:
        raise InvalidInput(
            f"{option}={count!r} is no number of checkpoints to keep: pass 1 or more{otherwise}"
        )
    return count


def add_thread(saver: Housekeeping, id: str, row: ThreadRow, items: list[Item]) -> None:
    """Make a thread of what another had, in one commit, under a lease: nobody else makes one of this id meanwhile.

    Raises:
        InvalidInput: there is a thread of this id.
    """
    lease = None if saver.thread(id) is not None else saver.claim(id)
    if not isinstance(lease, Lease):
        raise _taken(id)
    try:
        if saver.places(id):  # it came to be meanwhile
            raise _taken(id)
        begin = Begin(row.workflow, row.call).on_thread() if row.workflow else None
        (refusal,) = saver.commit([Commit(id, lease, items, begin, row.status)])
        if refusal is not None:
            raise refusal
    finally:
        saver.release(lease)


def _taken(id: str) -> InvalidInput:
    return InvalidInput(f"There is a thread {id!r} already. Pass another id, or delete_thread() it first.")


def items_of(saver: Housekeeping, thread: str) -> list[Item]:
    """What commits would have made a thread, in their order: values that a checkpoint shares aren't named again.

    Where the saver keeps deltas, values that changed a little are what changed in them; else each is whole.

    Raises:
        DecryptionError: they are encrypted, and the saver has no keys.
    """
    from flowfn.serde.serde import refuse_sealed  # a saver is imported without what reads values

    items: list[Item] = []
    made: set[Place] = set()
    last: dict[str, CheckpointRow] = {}
    for namespace, id in reversed(saver.places(thread)):
        loaded = saver.load(thread, namespace, id)
        if loaded is None:
            continue
        row = loaded.checkpoint
        refuse_sealed(row.body)
        base = None
        if row.parent is not None and (namespace, row.parent) in made:
            base = last[namespace]
            if base.id != row.parent:
                found = saver.load(thread, namespace, row.parent)
                base = None if found is None else found.checkpoint
        items.append(row._replace(values=_changed(row, base, saver.keeps_deltas)))
        if loaded.writes:
            items.append(Writes(namespace, id, loaded.writes))
        made.add((namespace, id))
        last[namespace] = row
    return items


def _changed(row: CheckpointRow, base: CheckpointRow | None, deltas: bool) -> dict[str, Versioned]:
    """The values of a loaded checkpoint as they are put on top of its parent."""
    changed = {}
    for channel, held in row.values.items():
        old = None if base is None else base.values.get(channel)
        if old == held:
            continue
        grown = old is not None and held.deltas and (old.value, old.deltas) == (held.value, held.deltas[:-1])
        if deltas and grown:
            changed[channel] = Versioned(held.version, None, held.deltas[-1:])
        else:
            changed[channel] = Versioned(held.version, held.whole())
    return changed
