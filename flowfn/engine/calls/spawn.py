"""A task is called: find out who it is, hand back what is recorded of it, or have it start.

A call that only its author could place (`matching.Ambiguous`), or that its position or its day alone would, is
held until somebody waits for it, and what is given its future is held with it. By then the other calls of its scope
have claimed their records, so that most doubts have gone; what is left is refused before anything new runs. So is one
that comes upon the record of another branch (`belonging`), but no longer than that may come for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from gc import get_referents, is_tracked
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from flowfn.engine.calls.attempt import attempt
from flowfn.engine.calls.call import Call
from flowfn.engine.calls.identifying import (
    claimant_of,
    identify,
    identify_among_equals,
    identify_anew,
    identify_apart,
    stay_behind,
)
from flowfn.engine.records.reader import told_again
from flowfn.engine.records.record import Record
from flowfn.engine.replay import failing, refusing
from flowfn.engine.replay.causes import note_edit
from flowfn.engine.replay.matching import Ambiguous, New, Same, Verdict, judge
from flowfn.engine.replay.reporting import report_alike, report_in_doubt, report_weak
from flowfn.errors import InvalidInput
from flowfn.futures import Before, Future
from flowfn.report import Kind
from flowfn.row_channels import ERROR
from flowfn.values import MISSING

if TYPE_CHECKING:
    from flowfn.definition import Definition
    from flowfn.engine.calls.frame import Frame


LATER = ("position", "day")
"""How a call is matched only once it is waited for: by then what it would get may be another call's by identity."""


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
    _refuse_futures(definition, args, kwargs)
    run = frame.run
    call = Call(run, frame, definition, args, kwargs, "", site)
    call.nth, frame.made = frame.made, frame.made + 1
    if definition.hidden:
        call.number = frame.next_nested()
    host = run.host_of(definition)
    if run.journal is None:
        definition.parameters.taken(args, kwargs)
        return _start(call, host)
    first = _to_be_placed_first(frame, args, kwargs) if frame.unplaced else None
    identify(call, frame)
    if first:
        stay_behind(call, first)
        return _hold(call, host, Before())
    if run.ledger.records:
        record = run.ledger.records.get(call.task)
        if record is not None and not frame.keeps(record, call.branch) and record.claim():
            reused = _reuse(call, record)  # the same identity: as almost always
        else:
            verdict = _place(call, frame)
            before = _before(verdict, call, frame)
            if before is not None:
                return _hold(call, host, before)
            if run.ledger.lent:
                refusing.refuse_a_lent_record(call, frame)
            reused = _reuse(call, *verdict) if isinstance(verdict, Same) else None
            if isinstance(verdict, New) and run.ledger.rivals(frame.scope, definition.qualified):
                run.newcomers.append(call)
        if reused is not None:
            reused.call = call.task
            return reused
    report_weak(call, None)
    return _start(call, host)


def _refuse_futures(definition: Definition, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """A future is no value yet: as an argument it would reach user code unfinished, and has no digest."""
    for value in (*args, *kwargs.values()) if kwargs else args:
        if type(value) is Future:
            raise InvalidInput(
                f"{definition.name}() got a Future as an argument: pass its value, with .result() or await"
            )


def _to_be_placed_first(frame: Frame, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Call]:
    """The held calls whose futures arguments hold, without those that can be placed already."""
    return [held for held in _given_on(frame.unplaced, args, kwargs) if not _is_placed_early(held, frame)]


def _given_on(calls: Sequence[Call], args: Sequence[Any], kwargs: dict[str, Any]) -> list[Call]:
    """Those of these calls whose futures arguments hold, in a list or an object."""
    held, found = {id(call.future): call for call in calls}, list[Call]()
    waiting, seen = deque(filter(is_tracked, (*args, *kwargs.values()))), dict[int, Any]()
    while waiting and len(seen) < _MOST_HELD:
        each = waiting.popleft()
        if id(each) in seen or isinstance(each, type | ModuleType | FunctionType):
            continue
        seen[id(each)] = each
        if id(each) in held:
            found.append(held[id(each)])
        else:
            waiting += filter(is_tracked, get_referents(each))
    return found


_MOST_HELD = 10_000
"""Values of a call's arguments that are looked through for futures, the outer ones first: what holds more holds
data."""


def _before(verdict: Verdict, call: Call, frame: Frame) -> Before | None:
    """After what a call is placed, by what it would be now."""
    if call.behind is not None:
        return Before()
    if isinstance(verdict, New):
        return None
    record, in_doubt = verdict.record, isinstance(verdict, Ambiguous) or verdict.how in LATER
    if frame.keeps(record, call.branch):
        assert record.info is not None
        assert frame.branches is not None
        return Before(record.info.branch, frame.branches.come(record.info.branch), in_doubt)
    return Before() if in_doubt else None


def _is_others(record: Record, call: Call, frame: Frame) -> bool:
    """Whether a record that a call comes upon is of another branch, which will come for it."""
    branches = frame.branches
    return branches is not None and branches.is_others(record, call.branch, frame.call.definition.code)


def _place_in_turn(call: Call, frame: Frame) -> None:
    """Place a call that was held, now that somebody waits: by itself, or, where it is in doubt, with all others.

    Raises:
        NonDeterminismError: one of them can't be placed. Nothing new has run.
    """
    before = _before(_judge(call, frame), call, frame)
    if before is not None and before.in_doubt:
        place_held(frame)
        return
    with suppress(ValueError):  # another thread places it
        frame.unplaced.remove(call)
        assert call.future is not None
        if not call.future.done():
            _go_on_with(call, frame)


def place_held(frame: Frame) -> None:
    """Place all calls that were held.

    Raises:
        NonDeterminismError: one of them can't be placed. Nothing new has run.
    """
    held = [call for call in _taken(frame.unplaced) if call.future is not None and not call.future.done()]
    for call in held:
        if call.behind is None:
            _refuse_ambiguous(call, frame, held)
    for call in held:
        if call.behind is not None:
            identify_anew(call, frame)
            _refuse_ambiguous(call, frame, held)
        _go_on_with(call, frame)


def _refuse_ambiguous(call: Call, frame: Frame, held: Sequence[Call]) -> None:
    verdict = _judge(call, frame)
    if not isinstance(verdict, Ambiguous):
        return
    frame.run.root.fatal = refusal = refusing.ambiguous(call, verdict)
    for each in held:  # whoever waits for one of them would else wait for ever
        assert each.future is not None
        if not each.future.done():
            each.future.become(Future.failed(refusal))
    raise refusal


def _is_placed_early(call: Call, frame: Frame) -> bool:
    """Place a held call whose future is given on: what is given it counts by the call that it is. One that only its
    author could place may be in no doubt later, and until then what is given it is held as well."""
    verdict = _judge(call, frame)
    before = _before(verdict, call, frame)
    is_anothers = before is not None and before.branch is not None
    if call.behind is not None or isinstance(verdict, Ambiguous) or is_anothers:
        return False
    try:
        frame.unplaced.remove(call)
    except ValueError:  # another thread places it
        return True
    _go_on_with(call, frame)
    return True


def _go_on_with(call: Call, frame: Frame) -> None:
    """Give a call that was held its recorded outcome, or have it run."""
    assert call.future is not None
    if frame.branches is not None:
        frame.branches.let_go(call)
    verdict = _place(call, frame, waited=True)
    reused = _reuse(call, *verdict) if isinstance(verdict, Same) else None
    call.future.call = call.task
    if reused is not None:
        call.future.become(reused)
    else:
        if isinstance(verdict, New):
            frame.run.newcomers.append(call)
        call.future.release(partial(attempt, call))
        assert call.future.runner is not None
        call.future.runner.start(call.future)


def _taken(calls: list[Call]) -> Iterator[Call]:
    """All calls of a list, each taken by one thread; another one may be adding to it."""
    with suppress(IndexError):
        while True:
            yield calls.pop(0)


def _place(call: Call, frame: Frame, *, waited: bool = False) -> Verdict:
    """What a call is. The record that it is, is its own from now on; see `LATER` for the one that is `waited` for."""
    while isinstance(verdict := _judge(call, frame), Same):
        if (not waited and _before(verdict, call, frame) is not None) or verdict.record.claim():
            break
    return verdict


def _judge(call: Call, frame: Frame) -> Verdict:
    assert call.digest is not None
    record = frame.run.ledger.records.get(call.task)
    if record is not None and record.claimed:  # by another thread or branch, a moment ago
        identify_among_equals(call, frame, call.digest)
    elif record is not None and _is_others(record, call, frame):
        identify_apart(call, frame)
    definition, digested = call.definition, call.digest
    policy = definition.on_divergence or frame.run.settings.on_divergence
    return judge(
        frame.run.ledger,
        call.task,
        frame.scope,
        frame.call.definition.code,
        definition.qualified,
        digested,
        call.occurrence,
        call.position,
        policy,
        partial(claimant_of, frame, definition),
        lambda record: _is_others(record, call, frame),
        lambda similar: frame.run.ledger.origins.possible(similar, digested, frame),
        day_is_clock=policy != "rerun",
    )


def _reuse(call: Call, record: Record, how: str = "identity") -> Future[Any] | None:
    """The recorded outcome as a future that is done, or None where the call has to run (again).

    `how` is what `Same` says.
    """
    run = call.run
    _note_order(call, record)
    if call.parent is not None and call.parent.branches is not None:
        call.parent.branches.claim(record, call.branch)
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
            return None
    if has_failed:
        failing.note(value, call, record.index)
        run.root.reused.add()
        return _failed(call, value, record.order)
    run.replayed(call, value)
    report_weak(call, record)
    return Future.of(value, record.order)


def _failed(call: Call, error: Exception, order: int) -> Future[Any]:
    """A recorded error as a future; its caller may look at it, and at its notes, as when it was new."""
    if isinstance(error, Exception):
        call.blame(error)
    failed: Future[Any] = Future.failed(error, order)
    assert call.parent is not None
    call.parent.failures.append((call, error))
    if call.future is None:
        call.future = failed
    return failed


def _note_order(call: Call, record: Record) -> None:
    """Count a call that came later than one which is recorded as made after it."""
    frame, info = call.parent, record.info
    if frame is None or info is None:
        return
    if info.born < frame.newest:
        call.run.root.report.reordered += 1
    else:
        frame.newest = info.born


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


def _hold(call: Call, host: Any, before: Before) -> Future[Any]:
    frame = call.parent
    assert frame is not None
    future: Future[Any] = host.future(None)
    future.call = call.task
    future.hold(partial(_place_in_turn, call, frame), lambda: _before(_judge(call, frame), call, frame))
    if frame.branches is not None and not before.in_doubt:
        frame.branches.hold(call)
    call.future = future
    frame.unplaced.append(call)
    frame.children[future] = call
    return future


def _start(call: Call, host: Any) -> Future[Any]:
    assert call.parent is not None
    future: Future[Any] = host.future(partial(attempt, call))
    future.call = call.task
    call.future = future
    call.parent.children[future] = call
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
        frame.children.pop(future, None)
        future.abandon()
        frame.check()
