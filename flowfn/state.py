"""The state of threads, read and written from outside a run. The shapes are LangGraph's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from flowfn.config import RunConfig
from flowfn.engine.identity import ERROR, REPORT, RETURN, RUN_TASK, Ledger, Record, call_id, instance_id
from flowfn.engine.interrupts import Pending, read_pending
from flowfn.engine.journal import checkpoint_row, decode_checkpoint
from flowfn.errors import ThreadBusy, UnknownCheckpoint
from flowfn.hosts.ids import new_id
from flowfn.ports import UNFINISHED, Begin, Busy, CheckpointRow, Commit, Lease, Loaded, Saver, Status, Writes
from flowfn.pregel.apply import Batch, advance, apply
from flowfn.pregel.plan import due
from flowfn.pregel.program import Program
from flowfn.pregel.view import view
from flowfn.report import Report
from flowfn.streams import coordinates
from flowfn.values import Checkpoint, PregelTask, StateSnapshot, Write


class RecordedCall:
    """A recorded call, as `get_state` lists it under its task; values are decoded when they are read."""

    __slots__ = ("_record", "arguments", "calls", "id", "name", "site", "status")

    def __init__(self, record: Record, calls: tuple[RecordedCall, ...]) -> None:
        info = record.info
        self.id = record.task
        self.name = info.name if info is not None else "?"
        self.arguments = info.arguments if info is not None else ""
        self.site = info.site if info is not None else ""
        self.status = _status(record)
        self.calls = calls
        self._record = record

    @property
    def result(self) -> Any:
        """Its value, its error or its answer; None while it has none."""
        return self._record.value() if self._record.finished else None

    def __repr__(self) -> str:
        return f"<{self.name}({self.arguments}): {self.status}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecordedCall):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self.id)

    def _key(self) -> tuple[Any, ...]:
        return (self.id, self.name, self.arguments, self.site, self.status, self._record.outcome, self.calls)


def _status(record: Record) -> str:
    """`done`, `failed`, `answered`; `asked`; `waiting` for an answer; `in_doubt`: under way when the process died."""
    if record.outcome is not None:
        return {RETURN: "done", ERROR: "failed"}.get(record.outcome.channel, "answered")
    if record.question is not None:
        return "asked"
    return "waiting" if record.waiting else "in_doubt"


def load(saver: Saver, where: RunConfig) -> Loaded | None:
    """The stored checkpoint that a config names; None for a thread without any.

    Raises:
        UnknownCheckpoint: it names one that isn't there.
    """
    assert where.thread_id is not None
    loaded = saver.load(where.thread_id, where.checkpoint_ns, where.checkpoint_id)
    if loaded is None and where.checkpoint_id is not None:
        raise UnknownCheckpoint(
            f"thread {where.thread_id!r} has no checkpoint {where.checkpoint_id!r}: take one from get_state_history()"
        )
    return loaded


def snapshot(program: Program, saver: Saver, where: RunConfig) -> StateSnapshot:
    """The state of a thread at the checkpoint that a config names."""
    loaded = load(saver, where)
    if loaded is None:
        config = {"configurable": {"thread_id": where.thread_id, "checkpoint_ns": where.checkpoint_ns}}
        return StateSnapshot(None, (), config, None, None, None, (), ())
    return _snapshot_of(program, saver, loaded)


def history(
    program: Program,
    saver: Saver,
    where: RunConfig,
    filter: Mapping[str, Any] | None,
    before: str | None,
    limit: int | None,
) -> Iterator[StateSnapshot]:
    """The states of a thread, newest first."""
    found = 0
    for loaded in saver.history(where.thread_id, where.checkpoint_ns, before=before):
        if where.checkpoint_id is not None and loaded.checkpoint.id != where.checkpoint_id:
            continue
        shown = _snapshot_of(program, saver, loaded)
        if filter and any((shown.metadata or {}).get(key) != value for key, value in filter.items()):
            continue
        if limit is not None and found >= limit:
            return
        found += 1
        yield shown


def _snapshot_of(program: Program, saver: Saver, loaded: Loaded) -> StateSnapshot:
    row, thread = loaded.checkpoint, loaded.thread
    checkpoint = decode_checkpoint(saver.serde, row, program.channels)
    pending = read_pending(saver.serde, loaded.writes)
    tasks = _tasks(program, saver, loaded, checkpoint, pending)
    state = view(program, checkpoint)
    outputs = program.output_channels
    return StateSnapshot(
        program.result(state) if any(name in state for name in outputs) else None,
        tuple(task.name for task in tasks),
        coordinates(thread, row.namespace, row.id),
        {**checkpoint.metadata},
        row.created_at,
        None if row.parent is None else coordinates(thread, row.namespace, row.parent),
        tasks,
        tuple(question.interrupt for question in pending),
    )


def _tasks(
    program: Program, saver: Saver, loaded: Loaded, checkpoint: Checkpoint, pending: Sequence[Pending]
) -> tuple[PregelTask, ...]:
    ledger = Ledger(loaded.writes, saver.serde)
    errors = [row for row in loaded.writes if row.task == RUN_TASK and row.channel == ERROR]
    error = saver.serde.loads(errors[-1].value) if errors else None
    found = []
    for name, path, _ in due(program, checkpoint):
        scope = call_id("", "/".join(map(str, path)), b"", 0)
        task = instance_id(loaded.thread, loaded.checkpoint.namespace, checkpoint.id, scope)
        questions = tuple(question.interrupt for question in pending)
        shown_path = ("__pregel_" + path[0], *path[1:])
        found.append(
            PregelTask(task, name, shown_path, error, questions, None, None, recorded_calls(ledger, scope))
        )
    return tuple(found)


def recorded_calls(ledger: Ledger, scope: str) -> tuple[RecordedCall, ...]:
    """The calls recorded under a scope, each with those under it."""
    by_scope: dict[str, list[Record]] = {}
    for record in ledger.records.values():
        if record.info is not None:
            by_scope.setdefault(record.info.scope, []).append(record)

    def under(scope: str) -> tuple[RecordedCall, ...]:
        return tuple(RecordedCall(record, under(record.task)) for record in by_scope.get(scope, ()))

    return under(scope)


def apply_update(program: Program, saver: Saver, where: RunConfig, writes: Sequence[Write]) -> dict[str, Any]:
    """Write to a thread's state as a new checkpoint; the config that names it.

    Raises:
        ThreadBusy: a live run holds the thread.
    """
    assert where.thread_id is not None
    loaded = load(saver, where)
    before = (
        Checkpoint("")
        if loaded is None
        else decode_checkpoint(saver.serde, loaded.checkpoint, program.channels)
    )
    given_up = [Batch(name, None, path, triggers) for name, path, triggers in due(program, before)]
    after = advance(before, apply(program, before, [Batch("__input__", writes), *given_up]))
    after.id, after.parent = new_id(), before.id or None
    after.step, after.source = before.step + 1, "update"
    after.created_at = datetime.now(UTC).isoformat()
    after.metadata = where.stored_metadata()
    row = checkpoint_row(saver.serde, after, where.checkpoint_ns, before, program)
    thread = where.thread_id
    _commit_alone(saver, thread, lambda lease: Commit(thread, lease, [row], status="done", release=True))
    return dict(coordinates(thread, where.checkpoint_ns, after.id))


def copy_to(saver: Saver, where: RunConfig, thread: str) -> None:
    """Start a thread with a copy of a checkpoint and of what was recorded under it.

    Open questions are not copied: the run asks them again, under ids of its own.
    """
    loaded = load(saver, where)
    if loaded is None:
        raise UnknownCheckpoint(f"thread {where.thread_id!r} has no checkpoint to copy: check the thread_id")
    old = saver.thread(loaded.thread)
    row = replace(loaded.checkpoint, id=new_id(), parent=None, source="fork")
    rows = [write for write in loaded.writes if write.task != RUN_TASK]
    begin = None if old is None else Begin(old.workflow, old.call)
    status: Status = "failed" if old is not None and old.status in UNFINISHED else "done"
    items: list[CheckpointRow | Writes] = [row, Writes(row.namespace, row.id, rows)]
    _commit_alone(saver, thread, lambda lease: Commit(thread, lease, items, begin, status, release=True))


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


def last_report(saver: Saver, thread: str) -> Report:
    """How the last resumed run of a thread differed from its record; empty if none was resumed."""
    head = saver.load(thread)
    while head is not None:
        for row in reversed(head.writes):
            if row.task == RUN_TASK and row.channel == REPORT:
                return Report.from_data(saver.serde.loads(row.value))
        parent = head.checkpoint.parent
        if parent is None or head.checkpoint.source == "input":
            break
        head = saver.load(thread, "", parent)
    return Report()


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
