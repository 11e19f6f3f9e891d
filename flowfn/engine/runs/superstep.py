"""Supersteps: plan what is due, run it, record what each task wrote, apply it all, save; until nothing is due.

Rule: a task's writes are recorded before anybody sees them, and a recorded task doesn't run again. What a
superstep's only task wrote goes with the checkpoint that it makes, in one commit. A failure ends the superstep, and
what has finished is kept for the next attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from flowfn.engine.calls.call import Failure, NodeCall
from flowfn.engine.ids import node_scope
from flowfn.engine.records.keeping import failure_rows, write_rows
from flowfn.engine.records.record import HANDLER
from flowfn.engine.records.rows import Encoded
from flowfn.engine.replay.lost import log_dropped
from flowfn.engine.replay.reporting import report_orphans, report_rows
from flowfn.engine.runs.abreast import is_failure, settle
from flowfn.engine.runs.deadline import Deadline
from flowfn.engine.runs.run import NO_VALUES
from flowfn.engine.runs.telling import tell_checkpoint, tell_values
from flowfn.errors import Drained, GraphRecursionError, Suspended
from flowfn.events import NodeReused, TaskFinished, TaskStarted
from flowfn.ports import Writes
from flowfn.pregel.apply import advance, apply
from flowfn.pregel.interrupts import stops
from flowfn.pregel.plan import is_over, plan
from flowfn.pregel.program import Task
from flowfn.values import Checkpoint

if TYPE_CHECKING:
    from flowfn.definition import Definition
    from flowfn.engine.records.journal import Journal
    from flowfn.engine.runs.run import Run


_rides = attrgetter("rides")


async def go_on(run: Run) -> Any:
    """Run supersteps until nothing is due; the result.

    Raises:
        Suspended: something waits for an answer, or a breakpoint was met.
        Drained: the run was asked to stop, and has work left.
        GraphRecursionError: more than `recursion_limit` supersteps.
        Exception: a task's own.
    """
    while True:
        if run.step + 1 > run.stop:
            tell_checkpoint(run)
            raise GraphRecursionError(
                f"Recursion limit of {run.config.recursion_limit} reached without hitting a stop condition. Look for "
                f"a loop without an exit in {run.program.name!r}, or raise config['recursion_limit']"
            )
        tasks = plan(run.program, run.checkpoint, run.managed if run.program.managed else NO_VALUES)
        tell_checkpoint(run)
        if not tasks:
            return run.result()
        if run.root.control.drain_requested:
            raise Drained(run.root.control.drain_reason or "")
        if run.interrupt_before and stops(run.checkpoint, tasks, run.interrupt_before):
            run.breakpoint = "interrupt_before"
            raise Suspended
        await _take(run, tasks)
        if run.interrupt_after and stops(run.checkpoint, tasks, run.interrupt_after):
            tell_checkpoint(run)
            run.breakpoint = "interrupt_after"
            raise Suspended
        if run.pause is not None:
            await run.pause()


async def _take(run: Run, tasks: list[Task]) -> None:
    """One superstep: run what has no record, then apply what all have written."""
    run.tasks = tasks
    recorded = bool(run.ledger.nodes)
    calls = [_call_of(run, task) for task in tasks if not (recorded and _is_restored(run, task))]
    limit = run.settings.step_timeout
    deadline = None if limit is None else Deadline(run, limit)
    for call in calls:
        call.rides = len(tasks) == 1 and deadline is None
    errors: list[BaseException] = []
    handlers = [handler for task in tasks if (handler := _left_handler(run, task))] if recorded else []
    if run.post is not None or run.before_work is not None:
        await _announce(run, tasks, calls)
    for call, error in await settle(run, calls, deadline):
        if call.node.on_error is None or not isinstance(error, Exception) or _was_stopped(call):
            errors.append(error)
        else:
            handlers.append(await _hand_over(run, call, error))
    if handlers and run.root.fatal is None and all(isinstance(error, Suspended) for error in errors):
        tasks += handlers
        handling = [_call_of(run, task) for task in handlers if not _is_restored(run, task)]
        await _announce(run, handlers, handling)
        errors += [error for _, error in await settle(run, handling, deadline)]
        calls += handling
    _raise_first(run, errors)
    await _advance(run, tasks, [*filter(_rides, calls)])


def _was_stopped(call: NodeCall) -> bool:
    """Whether a call was cancelled, which is no failure of its own: it runs again."""
    return call.future is not None and call.future.cancelled()


def _call_of(run: Run, task: Task) -> NodeCall:
    """The attempt at a node: a call without a caller."""
    definition: Definition = task.node.run  # type: ignore[assignment]
    has_choice = definition.form_on_loop is not None and run.hosts.on_loop
    if has_choice and definition.prefers_loop(run.config, run.journal is not None):
        definition = definition.on_loop
    return NodeCall(run, definition, *task.node.spread(task.input), task)


def _is_restored(run: Run, task: Task) -> bool:
    """Take a task's writes from its record, if it has finished."""
    record = run.ledger.nodes.get(node_scope(task.path))
    if record is None or not (record.finished or record.handed_over):
        return False
    task.writes = record.writes
    return True


async def _announce(run: Run, tasks: Sequence[Task], calls: Sequence[NodeCall]) -> None:
    """Tell what starts, and let whoever watches look at that first."""
    if run.post is not None:
        _tell_starts(run, tasks, calls)
    if run.before_work is not None:
        await run.before_work(len(calls))


def _tell_starts(run: Run, tasks: Sequence[Task], calls: Sequence[NodeCall]) -> None:
    """Tell of each task, in their order, that it starts, or that it had finished."""
    starting = {id(call.node_task): call for call in calls}
    for task in tasks:
        if (call := starting.get(id(task))) is not None:
            run.tell(TaskStarted(run.namespace, run.step, call))
        elif (record := run.ledger.nodes.get(node_scope(task.path))) is not None and record.finished:
            caller = None if run.frame is None else run.frame.call
            node_id = run.task_id(node_scope(task.path))
            run.tell(NodeReused(run.namespace, run.step, run.program, task, node_id, run.config, caller))


def _raise_first(run: Run, errors: Sequence[BaseException]) -> None:
    """Raise what ends the superstep: the first failure, else what leaves the program, else a question."""
    if run.root.fatal is not None:
        raise run.root.fatal
    if not errors:
        return
    for error in sorted(errors, key=lambda error: not is_failure(error)):
        if not isinstance(error, Suspended):
            raise error
    raise Suspended(tuple(chain.from_iterable(error.args[0] for error in errors)))


async def _hand_over(run: Run, call: NodeCall, error: Exception) -> Task:
    """Give a failed task to the node that handles its errors; recorded, so that the task doesn't run again."""
    if run.journal is not None:
        rows = failure_rows(run.journal.serde, call, error, run.host.now(), handed_over=True)
        await run.journal.write(run.host, [Writes(run.namespace, run.checkpoint.id, rows)])
    call.node_task.writes, call.rides = [], False
    return _handling(run, call.node_task, error)


def _left_handler(run: Run, task: Task) -> Task | None:
    """The task that was to handle the error of one that failed before the process died."""
    record = run.ledger.nodes.get(node_scope(task.path))
    if record is None or not record.handed_over or record.finished or task.node.on_error is None:
        return None
    return _handling(run, task, record.error)


def _handling(run: Run, failed: Task, error: BaseException) -> Task:
    assert failed.node.on_error is not None
    node = run.program.nodes[failed.node.on_error]
    given = Failure(failed.name, failed.input, error)
    return Task(node.name, (*failed.path, HANDLER), node, given, failed.triggers, node.timeout)


async def _advance(run: Run, tasks: Sequence[Task], riding: Sequence[NodeCall]) -> None:
    """Apply what the tasks wrote, and save the next checkpoint."""
    before, ended = run.checkpoint, 0.0 if run.journal is None else run.host.now()
    changes = apply(run.program, before, tasks)
    after = advance(before, changes)
    if changes.ignored or run.program.sends in (changes.updated or ()):
        log_dropped(run.program, changes, after)
    run.stamp(after, "loop")
    report_orphans(run)
    if run.journal is not None:
        await _save(run, run.journal, after, riding, ended)
    if run.post is not None:
        for call in riding:
            run.tell(TaskFinished(run.namespace, run.step, call, call.value))
    run.tasks = ()
    if run.parent is None and run.root.asks:
        run.root.questions.offered = []
    run.stand_at(after)
    tell_values(run, before, after)


async def _save(
    run: Run, journal: Journal, after: Checkpoint, riding: Sequence[NodeCall], ended: float
) -> None:
    """Commit a checkpoint with what rides: what the tasks wrote, and of the last one how the run went.

    `ended` is when those tasks had ended.
    """
    encoded: Encoded = {}
    items: list[Any] = []
    closed: list[str] = []
    for call in riding:
        if not run.program.opaque and (rows := write_rows(journal.serde, call, ended, encoded)):
            items.append(Writes(run.namespace, run.checkpoint.id, rows))
        if call.closed is not None:
            closed.append(call.closed)
    items += [*journal.riders(), run.row(after, encoded)]
    if _ends_its_call(run, after):
        run.hold(items, closed)
    elif run.parent is None and is_over(run.program, after):
        items += report_rows(run, journal)
        await journal.write(run.host, items, status="done", release=True, closed=closed)
    else:
        await journal.write(run.host, items, closed=closed)


def _ends_its_call(run: Run, after: Checkpoint) -> bool:
    """Whether a nested run's last checkpoint goes with its call's record: no code of anybody's runs in between."""
    call = None if run.frame is None or not run.may_hold else run.frame.call
    if not (isinstance(call, NodeCall) and call.node.is_nested and is_over(run.program, after)):
        return False
    call.closed = run.namespace
    return True
