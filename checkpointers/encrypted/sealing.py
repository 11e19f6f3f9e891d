"""Rows sealed for the saver that keeps them, and opened again."""

from __future__ import annotations

from dataclasses import dataclass

from checkpointers.encrypted.places import (
    Tags,
    of_checkpoint,
    of_delta,
    of_metadata,
    of_value,
    of_write,
    tag,
    tags_of,
)
from checkpointers.rules import merged
from flowfn.encryption import KeyRing
from flowfn.ports import Begin, CheckpointRow, Loaded, Versioned, WriteRow

CALLS = "flowfn calls"
"""The scope of the digests of calls, which are looked for in all threads."""

_LENGTH_BYTES = 4
_VERSION_BYTES = 8
_NOTHING = (0, "")


@dataclass(frozen=True)
class Sealing:
    """What becomes of rows by a ring of keys."""

    keys: KeyRing

    def begin(self, begin: Begin | None) -> Begin | None:
        """What a run says of its call, with the call hidden."""
        if begin is None or not begin.call:
            return begin
        return Begin(begin.workflow, self.keys.hide(begin.call, CALLS))

    def write(self, thread: str, namespace: str, checkpoint: str, row: WriteRow) -> WriteRow:
        """A write, sealed, with its task hidden."""
        value = self.keys.seal(row.value, thread, of_write(namespace, checkpoint, row))
        return row._replace(task=self.keys.hide(row.task, thread), value=value)

    def checkpoint(
        self, thread: str, row: CheckpointRow, call: str, shared: Tags
    ) -> tuple[CheckpointRow, Tags]:
        """A checkpoint, and what it holds, which includes what it has of `shared`; the first one of a run says of which
        call it is.
        """
        values = {
            channel: self._sealed_value(thread, row.namespace, channel, held, shared.get(channel, _NOTHING))
            for channel, held in row.values.items()
        }
        tags = tags_of(row.versions, values, shared)
        body = self.keys.seal(row.body, thread, of_checkpoint(row, tags))
        metadata = self.keys.seal(_joined(call, row.metadata), thread, of_metadata(row))
        return row._replace(values=values, body=body, metadata=metadata), tags

    def _sealed_value(
        self, thread: str, namespace: str, channel: str, held: Versioned, old: tuple[int, str]
    ) -> Versioned:
        """A value, sealed; a delta says of which version it changes, and is bound to the very bytes of that."""
        version = held.version
        if held.deltas:
            changed, under = old
            delta = changed.to_bytes(_VERSION_BYTES, "big") + held.deltas[0]
            sealed = self.keys.seal(delta, thread, of_delta(namespace, channel, version, under))
            return held._replace(deltas=(sealed,))
        if held.value is None:
            return held
        return held._replace(value=self.keys.seal(held.value, thread, of_value(namespace, channel, version)))

    def begun(self, loaded: Loaded) -> str:
        """The call that a checkpoint was saved for the beginning of, or ""."""
        row = loaded.checkpoint
        return _split(self.keys.open(row.metadata, loaded.thread, of_metadata(row)))[0]

    def opened_head(self, head: Loaded) -> CheckpointRow:
        """A checkpoint of which only the metadata are opened."""
        row = head.checkpoint
        return row._replace(metadata=_split(self.keys.open(row.metadata, head.thread, of_metadata(row)))[1])

    def opened_checkpoint(self, thread: str, row: CheckpointRow) -> tuple[CheckpointRow, Tags]:
        """A checkpoint opened, and what it holds.

        Raises:
            DecryptionError: it isn't what was sealed there.
        """
        tags = tags_of(row.versions, row.values, {})
        values = {
            channel: self._opened_value(thread, row.namespace, channel, held)
            for channel, held in row.values.items()
        }
        body = self.keys.open(row.body, thread, of_checkpoint(row, tags))
        _, metadata = _split(self.keys.open(row.metadata, thread, of_metadata(row)))
        return row._replace(values=values, body=body, metadata=metadata), tags

    def _opened_value(self, thread: str, namespace: str, channel: str, held: Versioned) -> Versioned:
        if held.value is None:
            return held
        version, opened = held.version, []
        parts = (held.value, *held.deltas)
        for sealed, under in zip(parts[:0:-1], parts[-2::-1], strict=True):
            delta = self.keys.open(sealed, thread, of_delta(namespace, channel, version, tag(under)))
            version = int.from_bytes(delta[:_VERSION_BYTES], "big")
            opened.append(delta[_VERSION_BYTES:])
        value = self.keys.open(held.value, thread, of_value(namespace, channel, version))
        return Versioned(held.version, value, tuple(reversed(opened)))

    def opened_writes(self, loaded: Loaded) -> list[WriteRow]:
        """What is recorded under a checkpoint, opened."""
        tasks = {
            hidden: self.keys.reveal(hidden, loaded.thread) for hidden in {row.task for row in loaded.writes}
        }
        # A saver tells rows of one task by its hidden id, which another key hides as another.
        return merged(
            [self._opened_write(loaded, row._replace(task=tasks[row.task])) for row in loaded.writes]
        )

    def _opened_write(self, loaded: Loaded, row: WriteRow) -> WriteRow:
        where = of_write(loaded.checkpoint.namespace, loaded.checkpoint.id, row)
        return row._replace(value=self.keys.open(row.value, loaded.thread, where))


def _joined(call: str, metadata: bytes) -> bytes:
    named = call.encode("utf-8", "surrogatepass")
    return len(named).to_bytes(_LENGTH_BYTES, "big") + named + metadata


def _split(data: bytes) -> tuple[str, bytes]:
    end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "big")
    return data[_LENGTH_BYTES:end].decode("utf-8", "surrogatepass"), data[end:]
