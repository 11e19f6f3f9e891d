"""A thread changed from outside a run: its state updated, copied to another thread, or its run cancelled.

Rule: whoever changes a thread holds its lease meanwhile, and makes one commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from flowfn.config import RunConfig, located
from flowfn.engine.answers import Pending, read_pending
from flowfn.engine.ids import node_path, node_scope
from flowfn.engine.ledger import Ledger
from flowfn.engine.lost import forget_ways, log_refused
from flowfn.engine.record import QUESTION, RUN_TASK, one_row
from flowfn.engine.rows import checkpoint_row, decode_checkpoint
from flowfn.errors import InvalidInput, ThreadBusy, UnknownCheckpoint
from flowfn.history.rewinding import rewound
from flowfn.history.state import amended, load, part_at
from flowfn.hosts.ids import new_id
from flowfn.ports import (
    UNFINISHED,
    Begin,
    Busy,
    CheckpointRow,
    Commit,
    Lease,
    Loaded,
    Saver,
    Status,
    Versioned,
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
    before = amended(program, _stored(saver, loaded, program), ledger.commanded)
    amendment = setup.updates(before, updates)
    at_head = where.checkpoint_id is None or _is_head(saver, where)
    left = _left(program, before, ledger if at_head else Ledger(), amendment)
    changes = beside(program, before, amendment.batches, left)
    log_refused(changes, thread)
    after = _after(before, changes, amendment)
    after.metadata = {**where.stored_metadata(), "parents": before.metadata.get("parents", {})}
    records = amendment.records if loaded is not None and at_head else {}
    items: list[CheckpointRow | Writes] = [
        Writes(where.checkpoint_ns, before.id, _rows(saver.serde, path, writes))
        for path, writes in records.items()
    ]
    whole = amendment.copies  # beside the old one it shares nothing with it
    items.append(checkpoint_row(saver.serde, after, where.checkpoint_ns, program, whole=whole))
    status: Status = "done" if is_over(program, after) else "interrupted"
    _commit_alone(saver, thread, lambda lease: Commit(thread, lease, items, status=status, release=True))
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
        writes = None if amendment.copies else ledger.writes_at(path)
        if path not in amendment.records and (writes is not None or amendment.gives_up):
            found.append(Batch(name, writes, path, triggers))
    return found


def _rows(serde: Any, path: tuple[Any, ...], writes: Sequence[Write]) -> list[WriteRow]:
    task, place = node_scope(path), node_path(path)
    return [
        WriteRow(task, i, channel, serde.dumps(value), place) for i, (channel, value) in enumerate(writes)
    ]


def copy_to(saver: Saver, where: RunConfig, thread: str, before: str | None = None) -> None:
    """Start a thread with a copy of a checkpoint and of what was recorded under it.

    Open questions are the copy's own, under other ids. With `before`, the copy is of where the last run was before it
    made that call: an id, a name, or `name#2` for the second of that name.

    Raises:
        UnknownCheckpoint: there is nothing to copy.
        DecryptionError: it is encrypted, and the saver has no key.
        UnknownCall: `before` is no call of the run, or several.
        InvalidInput: the thread exists already.
    """
    if saver.thread(thread) is not None:
        raise InvalidInput(
            f"thread {thread!r} exists already: fork to another thread_id, or to none for a new one"
        )
    loaded = load(saver, where)
    if loaded is None:
        raise UnknownCheckpoint(f"thread {where.thread_id!r} has no checkpoint to copy: check the thread_id")
    saver.serde.loads(loaded.checkpoint.body)  # sealed to its place, it would be of no use in another
    old = saver.thread(loaded.thread)
    begin = None if old is None else Begin(old.workflow, old.call).on_thread()
    status: Status = "failed" if old is not None and old.status in UNFINISHED else "done"
    writes = loaded.writes
    if before is not None:
        loaded, writes = rewound(saver, loaded, before)
        status = "cancelled"  # it goes on when it is told to, and no other call of the workflow adopts it
    values = {name: Versioned(each.version, each.whole()) for name, each in loaded.checkpoint.values.items()}
    row = replace(loaded.checkpoint, id=new_id(), parent=None, source="fork", values=values)
    rows = [write for write in writes if write.task != RUN_TASK]
    asked = [] if before is not None else _asked_alike(saver, loaded, thread, row.id)
    if asked:
        rows.append(one_row(RUN_TASK, QUESTION, saver.serde.dumps([tuple(question) for question in asked])))
        status = "interrupted"
    items: list[CheckpointRow | Writes] = [row, Writes(row.namespace, row.id, rows)]
    _commit_alone(saver, thread, lambda lease: Commit(thread, lease, items, begin, status, release=True))


def _asked_alike(saver: Saver, loaded: Loaded, thread: str, checkpoint: str) -> list[Pending]:
    """The questions that a run waits for, as its copy will ask them.

    None where one was asked in a nested run, of which nothing is copied: then the copy has to ask first.
    """
    here = loaded.checkpoint
    found = read_pending(saver.serde, loaded.writes)
    if any((question.namespace, question.checkpoint) != (here.namespace, here.id) for question in found):
        return []
    return [question.on(loaded.thread, thread, checkpoint) for question in found]


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


def _commit_alone(saver: Saver, thread: str, make: Callable[[Lease], Commit]) -> None:
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
