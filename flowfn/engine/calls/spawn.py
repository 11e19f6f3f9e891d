"""A task is called: find out who it is, hand back what is recorded of it, or have it start; or hold it, as long as that
isn't known.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from flowfn.engine.calls.attempt import attempt
from flowfn.engine.calls.call import Call
from flowfn.engine.calls.holding import hold, to_be_placed_first
from flowfn.engine.calls.identifying import identify, stay_behind
from flowfn.engine.calls.placing import place, waits_for
from flowfn.engine.calls.reusing import reuse
from flowfn.engine.replay import refusing
from flowfn.engine.replay.matching import New, Same
from flowfn.engine.replay.reporting import report_weak
from flowfn.errors import InvalidInput
from flowfn.futures import Before, Future

if TYPE_CHECKING:
    from flowfn.definition import Definition
    from flowfn.engine.calls.frame import Frame


def spawn(
    frame: Frame, definition: Definition, args: Sequence[Any], kwargs: dict[str, Any], site: str
) -> Future[Any]:
    """Call a task inside a run.

    Raises:
        InvalidInput: the arguments don't fit.
        AsyncInBlockingRun: the task is async and the run isn't.
        NonDeterminismError, RunClosed: the run can't go on.
    """
    frame.check()
    if frame.watch is not None:
        frame.sign()
    for value in (*args, *kwargs.values()) if kwargs else args:
        if type(value) is Future:  # no value yet, and it has no digest
            raise InvalidInput(
                f"{definition.name}() got a Future as an argument: pass its value, with .result() or await"
            )
    run = frame.run
    call = Call(run, frame, definition, args, kwargs, "", site)
    calls = frame.calls
    call.nth, calls.made = calls.made, calls.made + 1
    if definition.hidden:
        call.number = frame.next_nested()
    host = run.host_of(definition)
    if run.journal is None:
        definition.parameters.taken(args, kwargs)
        return _start(call, host)
    first = to_be_placed_first(frame, args, kwargs) if calls.unplaced else None
    identify(call, frame)
    if first:
        stay_behind(call, first)
        return hold(call, host, Before())
    if run.ledger.records:
        found = _of_a_record(call, frame, host)
        if found is not None:
            return found
    report_weak(call, None)
    future = _start(call, host)
    if frame.numbers is not None and run.ledger.records:  # its branches hear of it after all that is recorded
        future.turn = frame.host.turn_of(frame, inf, inf)
    return future


def _of_a_record(call: Call, frame: Frame, host: Any) -> Future[Any] | None:
    """What is recorded of a call, or the future of one that is held, as that isn't known yet; None where it has to run.

    Raises:
        NonDeterminismError: the run can't go on.
    """
    run = frame.run
    record = run.ledger.records.get(call.task)
    if record is not None and not frame.keeps(record, call.branch) and record.claim():
        reused = reuse(call, record)  # the same identity: as almost always
    else:
        verdict = place(call, frame)
        before = waits_for(verdict, call, frame)
        if before is not None:
            return hold(call, host, before)
        if run.ledger.lent:
            refusing.refuse_a_lent_record(call, frame)
        reused = reuse(call, *verdict) if isinstance(verdict, Same) else None
        if isinstance(verdict, New) and run.ledger.rivals(frame.scope, call.definition.qualified):
            run.newcomers.append(call)
    if reused is not None:
        reused.call = call.task
        if frame.numbers is not None:
            record = run.ledger.records[call.task]
            reused.turn = frame.host.turn_of(frame, record.order, record.index)
    return reused


def _start(call: Call, host: Any) -> Future[Any]:
    assert call.parent is not None
    future: Future[Any] = host.future(partial(attempt, call))
    future.call = call.task
    call.future = future
    call.parent.calls.open[future] = call
    if call.parent.closed:
        _refuse_belated(call.parent, future)
    host.start(future)
    return future


def _refuse_belated(frame: Frame, future: Future[Any]) -> None:
    """Refuse what a thread calls whose attempt has ended since it asked. That looks at its calls once it has ended, so
    that it sees this one through, or takes it for nobody's.

    Raises:
        RunClosed: nobody sees it through.
    """
    if future.take() is not None:
        frame.calls.open.pop(future, None)
        future.abandon()
        frame.check()
