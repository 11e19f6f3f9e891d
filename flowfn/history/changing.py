"""A thread changed from outside a run: its state updated, or its run cancelled.

Rule: whoever changes a thread holds its lease from before he looks at it until his last commit: what he goes by is what
there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from flowfn.config import RunConfig, located
from flowfn.engine.ids import node_path, node_scope
from flowfn.engine.records.ledger import Ledger
from flowfn.engine.records.rows import checkpoint_row, decode_checkpoint, encoded_metadata
from flowfn.engine.replay.lost import forget_ways, log_dropped, log_refused
from flowfn.engine.runs.leasing import left_here
from flowfn.errors import SaverError, ThreadBusy
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
from flowfn.pregel.program import PULL, PUSH, Program
from flowfn.values import Checkpoint, Send, StateUpdate, Write

if TYPE_CHECKING:
    from flowfn.invocation import Setup


def apply_updates(
    setup: Setup, saver: Saver, where: RunConfig, supersteps: Sequence[Sequence[StateUpdate]]
) -> dict[str, Any]:
    """Write to a thread's state as a new checkpoint for each superstep; the config that names the last one.

    Raises:
        ThreadBusy: a live run holds the thread.
    """
    assert where.thread_id is not None
    with alone(saver, where.thread_id) as lease:
        *others, last = supersteps
        for updates in others:
            named = _apply(setup, saver, lease, where, updates, release=False)
            where = replace(where, checkpoint_id=named["configurable"]["checkpoint_id"])
        return _apply(setup, saver, lease, where, last, release=True)


def _apply(
    setup: Setup,
    saver: Saver,
    lease: Lease,
    where: RunConfig,
    updates: Sequence[StateUpdate],
    *,
    release: bool,
) -> dict[str, Any]:
    thread = lease.thread
    setup, where = part_at(setup, where)
    program, loaded = setup.program, load(saver, where)
    ledger = Ledger() if loaded is None else Ledger(loaded.writes, saver.serde)
    before = amended(program, _stored(saver, loaded, program), ledger.commanded, thread)
    amendment = setup.updates(before, updates, where)
    at_head = where.checkpoint_id is None or _is_head(saver, where)
    left = _left(program, before, ledger if at_head else Ledger(), amendment)
    changes = beside(program, before, amendment.batches, left)
    if left and (again := _due_again(program, advance(before, changes), left, amendment)):
        left = [batch for batch in left if batch.path not in again]
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
    commit(saver, Commit(thread, lease, items, status=status, release=release and not amendment.then))
    if amendment.then:
        where = replace(where, checkpoint_id=after.id)
        return _apply(setup, saver, lease, where, amendment.then, release=release)
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
    after.id, after.parent = new_id(before.id), before.parent if amendment.copies else before.id or None
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


def _due_again(
    program: Program, after: Checkpoint, left: Sequence[Batch], amendment: Amendment
) -> set[tuple[Any, ...]]:
    """The tasks that had finished, and that updates have run once more: what they wrote would count twice.

    Of those that a `Send` asked for, all of a node to which updates send anew.
    """
    finished = [batch for batch in left if batch.writes is not None]
    pulled = {path for _, path, _ in due(program, after) if path[0] == PULL}
    written = [write for batch in amendment.batches for write in batch.writes or ()]
    sent = {value.node for name, value in written if name == program.sends and isinstance(value, Send)}
    return {
        batch.path
        for batch in finished
        if batch.path in pulled or (batch.path[0] == PUSH and batch.name in sent)
    }


def _rows(serde: Any, path: tuple[Any, ...], writes: Sequence[Write]) -> list[WriteRow]:
    task, place = node_scope(path), node_path(path)
    return [
        WriteRow(task, i, channel, serde.dumps(value), place) for i, (channel, value) in enumerate(writes)
    ]


def cancel(saver: Saver, thread: str) -> bool:
    """Take a thread from whoever runs it, and leave it cancelled; False if it is unknown."""
    if saver.thread(thread) is None:
        return False
    with alone(saver, thread, force=True) as lease:
        row = saver.thread(thread)  # as of now: its run may have ended meanwhile
        status: Status | None = None if row is None else row.status
        if status in UNFINISHED:
            status = "cancelled"
        commit(saver, Commit(thread, lease, status=status, release=True))
    return True


@contextmanager
def alone(saver: Saver, thread: str, *, force: bool = False) -> Iterator[Lease]:
    """Hold a thread's lease; the last commit gives it back, or whatever is raised.

    Raises:
        ThreadBusy: a live run holds the thread, and it isn't taken from it by `force`.
    """
    lease = saver.claim(thread, force=force)
    if isinstance(lease, Busy):
        busy = ThreadBusy(f"thread {thread!r} is held by a live run ({lease.owner}): wait until it has ended")
        busy.left = left_here(saver, thread)
        raise busy
    try:
        yield lease
    except BaseException:
        with suppress(SaverError):
            saver.release(lease)
        raise


def commit(saver: Saver, change: Commit) -> None:
    """Make a commit, or raise why it was refused."""
    (error,) = saver.commit([change])
    if error is not None:
        raise error
