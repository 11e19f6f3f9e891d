"""Savers of flowfn's, of which a subclass has replaced what reads.

Rule: what is written goes past the subclass, so that its threads are those of the class above it: leased, and committed
in one transaction. What is read is what the replaced methods say is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from checkpointers.base import CheckpointSaver
from checkpointers.foreign import reading
from checkpointers.foreign.methods import Methods
from checkpointers.rules import limited
from flowfn.errors import InvalidInput
from flowfn.ports import Busy, Lease, Loaded, Place, Serializer, Versioned
from flowfn.saver_around import SaverAround


class PartlyForeign(SaverAround, CheckpointSaver):
    """Reads by those of a saver's methods that are its own subclass's.

    `replaced` are their names. A checkpoint that they don't find isn't there, and values of channels are those that
    they give; the rest is what is kept.
    """

    inner: CheckpointSaver

    def __init__(self, inner: CheckpointSaver, replaced: Collection[str]) -> None:
        super().__init__(inner)
        self.kept = inner.kept
        self._gets = not {"get_tuple", "aget_tuple"}.isdisjoint(replaced)
        self._lists = not {"list", "alist"}.isdisjoint(replaced)
        self._awaited = not {"aget_tuple", "alist"}.isdisjoint(replaced)
        self._methods = Methods(inner)

    @property
    def inline(self) -> bool:
        return self.inner.inline and not self._awaited

    @property
    def keeps_deltas(self) -> bool:
        """A delta would be to the value that was read, which needn't be the one that is kept."""
        return self.inner.keeps_deltas and not self._gets

    def note_loop(self) -> None:
        """Have the asyncio methods run on the loop that runs here, if one does."""
        self._methods.note_loop()

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        lease = self.inner.claim(thread, force=force)
        return lease._replace(new=False) if self._gets and isinstance(lease, Lease) else lease

    def load(self, thread: str, namespace: str = "", checkpoint: str | None = None) -> Loaded | None:
        if not self._gets:
            return self.inner.load(thread, namespace, checkpoint)
        found = reading.tuple_of(self._methods, thread, namespace, checkpoint)
        return None if found is None else self._read(found)

    def history(self, thread: str | None, namespace: str | None = "", **options: Any) -> Iterator[Loaded]:
        if not self._lists or thread is None:
            return self.inner.history(thread, namespace, **options)
        before, limit, chosen = options.get("before"), limited(options.get("limit")), options.get("chosen")
        found = reading.listed(self._methods, thread, namespace, before, limit if chosen is None else None)
        rows = map(self._read, found)
        return rows if chosen is None else islice(filter(chosen, rows), limit)

    def _read(self, found: Any) -> Loaded:
        """What is kept of a checkpoint, with the values that a method gave."""
        at, given = found.config["configurable"], found.checkpoint["channel_values"]
        kept = self.inner.load(str(at["thread_id"]), at.get("checkpoint_ns", ""), str(found.checkpoint["id"]))
        if kept is None:
            raise InvalidInput(
                f"{type(self.inner).__name__} gave checkpoint {found.checkpoint['id']!r} of thread "
                f"{at['thread_id']!r}, which it doesn't keep: a run that went on from it would lose what is stored "
                "with it. Copy the thread into this saver, by copy_thread() or put()"
            )
        values = {
            channel: _given(held, given, channel, self.serde)
            for channel, held in kept.checkpoint.values.items()
        }
        return kept._replace(checkpoint=kept.checkpoint._replace(values=values))

    # -- what a saver may have besides ----------------------------------------------------------------

    def next_call(self, workflow: str, after: str = "") -> str | None:
        return self.inner.next_call(workflow, after)

    def forget(self, thread: str, places: Collection[Place]) -> None:
        self.inner.forget(thread, places)

    def keep_sources(self, sources: Mapping[str, bytes]) -> None:
        self.inner.keep_sources(sources)

    def source(self, digest: str) -> bytes | None:
        return self.inner.source(digest)


def _given(held: Versioned, given: Mapping[str, Any], channel: str, serde: Serializer) -> Versioned:
    """A channel's value as it was given; as it is kept, if that is the same."""
    data = serde.dumps(given[channel]) if channel in given else None
    return held if data == held.whole() else Versioned(held.version, data)
