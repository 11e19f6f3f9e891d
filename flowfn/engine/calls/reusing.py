"""What is recorded of a call comes again: its result, or its error where its caller had gone on with that.

Rule: a record says no more than it knows. What was under way when the process died is in doubt; a failure that ended
its run is tried again; and what its author wants to run anew once it was edited runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowfn.engine.calls.blame import blame
from flowfn.engine.records.reader import told_again
from flowfn.engine.replay import failing, refusing
from flowfn.engine.replay.causes import note_edit
from flowfn.engine.replay.reporting import report_alike, report_in_doubt, report_weak
from flowfn.futures import Future
from flowfn.report import Kind
from flowfn.row_channels import ERROR
from flowfn.values import MISSING

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.engine.records.record import Record


def reuse(call: Call, record: Record, how: str = "identity") -> Future[Any] | None:
    """The recorded outcome as a future that is done, or None where the call has to run (again).

    `how` is what `Same` says.
    """
    run = call.run
    _note_order(call, record)
    call.task = record.task
    recorded = record.code
    call.edited = recorded is not None and recorded != call.definition.code
    if how != "identity":
        report_alike(call, record, how)
    if how == "day":
        run.ledger.lent[record.task] = call.summary
    outcome = record.outcome
    if outcome is None or record.started > record.index:
        if record.in_doubt:
            report_in_doubt(call, record)
            call.doubt = record
            run.ledger.drop(record.task)
            return None
        if outcome is None:
            call.waited = record.waiting
            return None
    if call.edited and _runs_anew(call, record):
        run.ledger.drop(record.task)
        return None
    has_failed = outcome.channel == ERROR
    if has_failed and not run.ledger.was_survived(record):
        return None
    value = record.value()
    if run.readers or call.definition.reader is not None:
        told = (MISSING, value) if has_failed else (value, None)
        if not told_again(call, record, *told):
            run.ledger.drop(record.task)
            return None
    if has_failed:
        failing.note(value, call, record.index)
        run.root.reused.count()
        return _failed(call, value, record.order)
    run.replayed(call, value)
    report_weak(call, record)
    return Future.of(value, record.order)


def _failed(call: Call, error: Exception, order: int) -> Future[Any]:
    """A recorded error as a future; its caller may look at it, and at its notes, as when it was new."""
    if isinstance(error, Exception):
        blame(call, error)
    failed: Future[Any] = Future.failed(error, order)
    assert call.parent is not None
    call.parent.calls.failures.append((call, error))
    if call.future is None:
        call.future = failed
    return failed


def _note_order(call: Call, record: Record) -> None:
    """Note how far its caller has come; count a call that came later than one which is recorded as made after it."""
    frame, info = call.parent, record.info
    if frame is None or info is None:
        return
    if info.born < frame.calls.newest:
        call.run.root.report.reordered += 1
    else:
        frame.calls.newest = info.born
    if frame.branches is not None or info.branch != call.branch:  # as `goes_on_with` does, for less
        frame.goes_on_with(record, call.branch)


def _runs_anew(call: Call, record: Record) -> bool:
    """Whether the author of a task whose own code changed wants it to run again for that."""
    recorded, policy = record.code, call.definition.on_code_change
    assert recorded is not None
    kind: Kind = "rerun" if policy == "rerun" else "code"
    note_edit(call.run, call.definition, recorded)
    call.run.root.report.add(kind, record.summary, call.summary, "the task's code changed")
    if policy == "error":
        call.run.root.fatal = error = refusing.edited(call)
        raise error
    return policy == "rerun"
