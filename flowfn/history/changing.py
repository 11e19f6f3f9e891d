"""A thread changed from outside a run: its state updated, or its run cancelled.

Rule: whoever changes a thread holds its lease meanwhile, and makes one commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from flowfn.config import RunConfig, located
from flowfn.engine.ids import node_path, node_scope
from flowfn.engine.records.ledger import Ledger
from flowfn.engine.records.rows import checkpoint_row, decode_checkpoint, encoded_metadata
from flowfn.engine.replay.lost import forget_ways, log_dropped, log_refused
from flowfn.errors import ThreadBusy
from flowfn.history.state import amended, load, part_at
from flowfn.hosts.ids import new_id
from flowfn.ports import (
    UNFINISHED,
    Busy,
    CheckpointRow,
    Commit,
    Lease,
    Loaded,
    Saver,
    Status,
    WriteRow,
    Writes,
)
from flowfn.pregel.amendment import Amendment
from flowfn.pregel.apply import Batch, Changes, advance, beside
from flowfn.pregel.plan import due, is_over
from flowfn.pregel.program import Program
from flowfn.values import Checkpoint, StateUpdate, Write

if TYPE_CHECKING:
    from flowfn.invocation import Setup


def apply_updates(
    setup: Setup, saver: Saver, where: RunConfig, updates: Sequence[StateUpdate]
) -> dict[str, Any]:
    """Write to a thread's state as a new checkpoint; the config that names it.

    Raises:
        ThreadBusy: a live run holds the thread.
    """
    thread = where.thread_id
    assert thread is not None
    setup, where = part_at(setup, where)
    program, loaded = setup.program, load(saver, where)
    ledger = Ledger() if loaded is None else Ledger(loaded.writes, saver.serde)
    before = amended(program, _stored(saver, loaded, program), ledger.commanded, thread)
    amendment = setup.updates(before, updates, where)
    at_head = where.checkpoint_id is None or _is_head(saver, where)
    left = _left(program, before, ledger if at_head else Ledger(), amendment)
    changes = beside(program, before, amendment.batches, left)
    log_refused(changes, thread)
    after = _after(before, changes, amendment)
    log_dropped(program, changes, after)
    after.metadata = {**where.stored_metadata(), "parents": before.metadata.get("parents", {})}
    records = amendment.records if loaded is not None and at_head else {}
    items: list[CheckpointRow | Writes] = [
        Writes(where.checkpoint_ns, before.id, _rows(saver.serde, path, writes))
        for path, writes in records.items()
    ]
    whole = amendment.copies  # beside the old one it shares nothing with it
    metadata = encoded_metadata(saver.serde, after.metadata)
    items.append(checkpoint_row(saver.serde, after, where.checkpoint_ns, program, metadata, whole=whole))
    status: Status = "done" if is_over(program, after) else "interrupted"
    commit_alone(saver, thread, lambda lease: Commit(thread, lease, items, status=status, release=True))
    if amendment.then:
        return apply_updates(setup, saver, replace(where, checkpoint_id=after.id), amendment.then)
    return located(thread, where.checkpoint_ns, after.id, after.metadata)


def _stored(saver: Saver, loaded: Loaded | None, program: Program) -> Checkpoint:
    """What the program is left with of a stored checkpoint; an empty one where nothing is stored."""
    if loaded is None:
        return Checkpoint("", step=-1)
    stored = decode_checkpoint(saver.serde, loaded.checkpoint, program.channels)
    forget_ways(stored, program)
    return stored


def _is_head(saver: Saver, where: RunConfig) -> bool:
    assert where.thread_id is not None
    head = saver.load(where.thread_id, where.checkpoint_ns)
    return head is not None and head.checkpoint.id == where.checkpoint_id


def _after(before: Checkpoint, changes: Changes, amendment: Amendment) -> Checkpoint:
    """The checkpoint that an amendment makes."""
    after = advance(before, changes)
    after.updated = None  # what was due before is due still, whether or not the updates changed its channels
    begins = amendment.source == "input" and not before.id
    after.id, after.parent = new_id(), before.parent if amendment.copies else before.id or None
    after.step, after.source = -1 if begins else before.step + 1, amendment.source
    after.created_at = datetime.now(UTC).isoformat()
    after.call = before.call
    return after


def _left(program: Program, before: Checkpoint, ledger: Ledger, amendment: Amendment) -> list[Batch]:
    """What the due tasks add: what the finished ones have written isn't lost; the others are given up or not."""
    found = []
    for name, path, triggers in due(program, before):
        writes = None if amendment.copies else ledger.left_at(path)
        if path not in amendment.records and (writes is not None or amendment.gives_up):
            found.append(Batch(name, writes, path, triggers))
    return found


def _rows(serde: Any, path: tuple[Any, ...], writes: Sequence[Write]) -> list[WriteRow]:
    task, place = node_scope(path), node_path(path)
    return [
        WriteRow(task, i, channel, serde.dumps(value), place) for i, (channel, value) in enumerate(writes)
    ]


def cancel(saver: Saver, thread: str) -> bool:
    """Take a thread from whoever runs it, and leave it cancelled; False if it is unknown."""
    row = saver.thread(thread)
    if row is None:
        return False
    lease = saver.claim(thread, force=True)
    assert isinstance(lease, Lease)
    status: Status = "cancelled" if row.status in UNFINISHED else row.status
    error = saver.commit([Commit(thread, lease, status=status, release=True)])[0]
    if error is not None:
        raise error
    return True


def commit_alone(saver: Saver, thread: str, make: Callable[[Lease], Commit]) -> None:
    """Write to a thread that nobody runs.

    Raises:
        ThreadBusy: somebody does.
    """
    lease = saver.claim(thread)
    if isinstance(lease, Busy):
        raise ThreadBusy(f"thread {thread!r} is held by a live run ({lease.owner}): wait until it has ended")
    error = saver.commit([make(lease)])[0]
    if error is not None:
        saver.release(lease)
        raise error
