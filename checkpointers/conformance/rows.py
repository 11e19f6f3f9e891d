"""What the contract's tests store, and the savers that they store it in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import ormsgpack

from checkpointers.base import CheckpointSaver
from flowfn import delta
from flowfn.errors import InvalidInput
from flowfn.ports import Busy, CheckpointRow, Commit, Lease, Loaded, Versioned, WriteRow, Writes

THREAD = "order-42"


class PlainSerde:
    """Msgpack and nothing else: for tests of savers, which don't care what the bytes mean."""

    def dumps(self, value: Any) -> bytes:
        return ormsgpack.packb(value)

    def loads(self, data: bytes) -> Any:
        return ormsgpack.unpackb(data)


class Contract:
    """Where the parts of the contract get their savers from."""

    def make(self) -> CheckpointSaver:
        """A new, empty saver."""
        raise NotImplementedError("Derive from SaverContract, and return a new saver from make().")

    def reopen(self, saver: CheckpointSaver) -> CheckpointSaver:
        """The same data, as a process that opens it next sees it."""
        return saver

    @contextmanager
    def saver(self) -> Iterator[CheckpointSaver]:
        """A new saver, closed afterwards."""
        with self.make() as saver:
            yield saver


def made(old: bytes, new: bytes) -> bytes:
    """The delta between two values."""
    change = delta.make(old, new)
    assert change is not None
    return change


def checkpoint(
    id: str,
    parent: str | None = None,
    *,
    namespace: str = "",
    versions: Mapping[str, int] | None = None,
    values: Mapping[str, Versioned] | None = None,
    **more: Any,
) -> CheckpointRow:
    """A row with what a test cares about; the rest is filled in."""
    described: dict[str, Any] = {"step": 0, "source": "loop", "created_at": "2026-01-01T00:00:00+00:00"}
    described |= {"body": b"body of " + id.encode(), "metadata": b"metadata of " + id.encode()} | more
    return CheckpointRow(
        namespace=namespace, id=id, parent=parent, versions=versions or {}, values=values or {}, **described
    )


def write(
    task: str, index: int = 0, value: bytes = b"value", channel: str = "out", path: str = ""
) -> WriteRow:
    """One row, with what a test doesn't care about filled in."""
    return WriteRow(task, index, channel, value, path)


def writes(checkpoint: str, *rows: WriteRow, namespace: str = "") -> Writes:
    """Rows of one checkpoint."""
    return Writes(namespace, checkpoint, rows)


def put(saver: CheckpointSaver, *items: CheckpointRow | Writes, thread: str = THREAD, **more: Any) -> None:
    """Commit items, and fail if they were refused."""
    refusals = saver.commit([Commit(thread, items=list(items), **more)])
    assert refusals == [None]


def claimed(saver: CheckpointSaver, thread: str = THREAD, *, force: bool = False) -> Lease:
    """The lease of a thread, which must be free."""
    lease = saver.claim(thread, force=force)
    assert not isinstance(lease, Busy)
    return lease


def loaded(saver: CheckpointSaver, *where: Any) -> Loaded:
    """A checkpoint that must be there."""
    found = saver.load(THREAD, *where)
    assert found is not None
    return found


def ids(found: Iterator[Loaded]) -> list[str]:
    """The checkpoint ids of what `history` found, in its order."""
    return [one.checkpoint.id for one in found]


def refused(call: Callable[[], object], kind: type[Exception] = InvalidInput) -> str:
    """The message with which a call is refused."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"the call raised no {kind.__name__}")
