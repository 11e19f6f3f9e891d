"""One call, run until its outcome is recorded.

Rule: only then may anybody see it. An attempt ends in one of three ways: a value, an error after its
last retry, or suspension, where something under it waits for a human. Any other `BaseException` (a
cancellation, Ctrl-C) leaves no record: the call was under way, and runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from inspect import Signature
from sys import exc_info
from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame, under_way
from flowfn.engine.calls.belated import tell_of_changes
from flowfn.engine.calls.blame import blame
from flowfn.engine.calls.call import NodeCall
from flowfn.engine.calls.closing import close
from flowfn.engine.calls.frame import Frame
from flowfn.engine.calls.injection import injected
from flowfn.engine.calls.resting import rest
from flowfn.engine.records.keeping import code_rows, failure_rows, timing_rows, write_rows
from flowfn.engine.records.reader import told_rows
from flowfn.engine.records.rows import unstorable
from flowfn.engine.replay import failing
from flowfn.engine.replay.doubt import mark_start, settle
from flowfn.engine.replay.sources import keep as keep_sources
from flowfn.errors import (
    FlowError,
    GraphRecursionError,
    InvalidUpdateError,
    SerializationError,
    StepTimeout,
    Stopped,
    TaskTimeout,
    WorkerDied,
)
from flowfn.events import TaskFinished, TaskRetried, TaskStarted
from flowfn.logs import logger
from flowfn.policies import delay_after, fitting, shown_policy
from flowfn.ports import Writes
from flowfn.python.lazy import Later
from flowfn.rendering import quoted
from flowfn.row_channels import ERROR, RETURN
from flowfn.values import MISSING

if TYPE_CHECKING:
    from flowfn.definition import Definition
    from flowfn.engine.calls import caching
    from flowfn.engine.calls.call import Call
    from flowfn.engine.calls.made import Calls
    from flowfn.engine.records.journal import Journal
    from flowfn.engine.runs.places import Seat
    from flowfn.futures import Future
    from flowfn.policies import RetryPolicy
    from flowfn.ports import Host, Serializer
else:
    caching = Later("flowfn.engine.calls.caching")


_OF_AN_ATTEMPT = (StepTimeout, WorkerDied, InvalidUpdateError, GraphRecursionError)
"""flowfn's errors that another attempt may do without; the others are of the run, or of how it is called."""


async def attempt(call: Call) -> Any:
    """Run a call, with its retries, and return its value once that is recorded; what rides, its superstep records.

    Raises:
        Suspended: it waits for an answer.
        Exception: its own error, recorded.
    """
    run, host = call.run, call.run.host_of(call.definition)
    try:
        if run.root.rehearsal is not None:
            run.root.rehearsal.admit(call)
        if run.post is not None and call.node is None:
            call.fix_id()
            run.tell(TaskStarted(run.namespace, run.step, call))
        made: Any = _node_outcome if call.node is not None else _task_outcome
        if call.definition.cache is None:
            value = await made(call, host, MISSING)
        else:
            value = await caching.through_cache(call, host, partial(made, call, host))
    except BaseException as error:
        _tell_failure(call, error)
        raise
    finally:
        if call.parent is not None and call.future is not None:
            call.parent.calls.open.pop(call.future, None)
    if run.post is not None and not call.rides:
        run.post(TaskFinished(run.namespace, run.step, call, value))
    return value


async def _task_outcome(call: Call, host: Host, value: Any) -> Any:
    """What a task came to, recorded; `value` is MISSING unless an equal call's was kept."""
    journal = call.run.journal if call.definition.recorded else None
    if journal is not None:
        settled = await _begin(call, journal, host, is_kept=value is not MISSING)
        if settled is not MISSING:
            call.run.root.reused.count()
            return settled
    try:
        if value is MISSING:
            value = await _with_retries(call, host)
        if journal is not None:
            await _record(call, journal, host, RETURN, value)
    except Exception as error:
        if journal is not None and call.run.root.fatal is None:
            await _record(call, journal, host, ERROR, error)
            assert call.note is not None
            failing.note(error, call, call.note.order, is_new=True)
        raise
    if call.parent is not None:
        call.run.root.ran.count()
    return value


async def _begin(call: Call, journal: Journal, host: Host, *, is_kept: bool) -> Any:
    """Note that a call begins, and settle what must be settled before it runs.

    Returns its result where it was in doubt and that turned out to be known, else MISSING. What `is_kept` in a cache
    is in no doubt.
    """
    definition, caller = call.definition, call.parent
    if id(journal.serde) not in definition.checked:
        _check_result_type(definition, journal.serde)
    if (kept := journal.kept) is not None and caller is not None:
        around = caller.call.definition
        if definition.version_key not in kept or around.version_key not in kept:
            await keep_sources(journal.saver, host, (definition, around))
    marks = definition.marks_start
    note = journal.unsent_note if marks else journal.note
    call.note = note(call.run.namespace, call.run.checkpoint.id, call.task, call.info)
    if call.waited and not marks:
        journal.suspend(call.note, False)
    if marks and call.doubt is not None and not is_kept:
        settled = await settle(call, host)
        if settled is not MISSING:
            return settled
    if caller is not None:
        calls = caller.calls
        if calls.failures:
            await _tell_of_survival(call, calls, journal, host)
        if calls.made > call.nth + 1:
            tell_of_changes(call)
    return MISSING


async def _tell_of_survival(call: Call, calls: Calls, journal: Journal, host: Host) -> None:
    """Commit that a call was made after another had failed, before it runs: its caller has acted on the error.

    Else the failed one would run again, should the process die in this one, and might succeed.
    """
    failures, survived, is_new = calls.failures, calls.survived, False
    while survived < len(failures):  # each is passed once: there may be as many as there are calls
        note = failures[survived][0].note
        if note is not None:  # else it was recorded by an earlier attempt
            if note.order > call.born:
                break
            is_new = True
        survived += 1
    if is_new:
        await journal.write(host, journal.riders())
    calls.survived = survived


async def _node_outcome(call: NodeCall, host: Host, value: Any) -> Any:
    """What a node's function came to, and in `call.writes` what that writes; recorded, unless it rides."""
    run = call.run
    journal = run.journal if call.definition.recorded else None
    try:
        if value is MISSING:
            value = await _with_retries(call, host)
        call.writes = call.node.output(value) if run.came_to is None else run.came_to
        if run.root.fatal is not None:  # the run was left: nobody makes the checkpoint that it was to go with
            call.rides = False
        if journal is not None and not call.rides:
            rows = write_rows(journal.serde, call, host.now())
            items = [Writes(run.namespace, run.checkpoint.id, rows), *journal.riders()]
            closed = () if call.closed is None else (call.closed,)
            await journal.write(host, items, closed=closed, settles=_settled_by(call))
        call.node_task.writes = call.writes
    except Exception as error:
        if journal is not None and run.root.fatal is None:
            rows = failure_rows(journal.serde, call, error, host.now())
            journal.ride(run.namespace, run.checkpoint.id, rows)
        raise
    return value


def _record(call: Call, journal: Journal, host: Host, channel: str, value: Any) -> Coroutine[Any, Any, None]:
    """Records an outcome, how long it took, and what those were told who read its stream.

    Raises:
        SerializationError: the value can't be stored; nothing was written.
    """
    assert call.note is not None
    try:
        data = journal.serde.dumps(value)
    except SerializationError as error:
        raise unstorable(error, value, call.owner) from None
    if timing := timing_rows(journal.serde, call, host.now()):
        journal.ride(call.run.namespace, call.run.checkpoint.id, timing)
    more = code_rows(journal.serde, call)
    if call.run.readers or call.definition.reader is not None:
        more += told_rows(journal, call, failed=channel == ERROR)
    ledger, told = call.run.ledger, None
    if ledger.records and call.digest is not None:
        told = partial(_note_news, call)
    return journal.record(
        host, call.note, channel, data, call.future, more, settles=_settled_by(call), told=told
    )


def _note_news(call: Call, data: bytes) -> None:
    """Note what a call came to that ran."""
    ledger, frame = call.run.ledger, call.parent
    ledger.note(call, data)
    if frame is not None and call.task not in ledger.records:
        frame.has_news(call.branch)


def _settled_by(call: Call) -> Future[Any] | None:
    """The future that a call only settles once its outcome is recorded."""
    return call.future if call.definition.cache is None else None


async def _with_retries(call: Call, host: Host) -> Any:
    definition = call.definition
    if (journal := call.run.journal) is not None and journal.owed:
        await journal.write(host, ())
    policies = definition.retry or (call.run.settings.retry if definition.counted else ())
    call.started = started = host.now()
    began = host.elapsed() if policies else 0.0
    number = 1
    while True:
        call.attempts = number
        if (fatal := call.run.root.fatal) is not None:
            raise fatal
        try:
            frame = Frame(call, host, number, started)
            return await _once(frame)
        except TaskTimeout as error:
            known = call.run.settings.timed_out
            failure: Exception = error if known is None else known(error)
        except FlowError as error:
            if not isinstance(error, _OF_AN_ATTEMPT):
                raise
            failure = error
        except Exception as error:
            failure = error
        delay = _delay(call, policies, failure, host.elapsed() - began) if policies else None
        if delay is None:
            raise failure
        await rest(call, host, delay, partial(_tell_of_retry, call, failure, delay))
        if frame.steps:
            await failing.record_failed(frame, failure, host)
            await call.run.reread(call.task, host)
        number += 1


def _delay(call: Call, policies: Sequence[RetryPolicy], failure: Exception, elapsed: float) -> float | None:
    """Seconds before the next attempt; None where there is none."""
    policy = fitting(policies, call.attempts, failure, elapsed)
    if policy is None:
        _tell_of_refusal(call, policies, failure)
        return None
    return delay_after(policy, call.attempts, failure, elapsed)


def _tell_of_retry(call: Call, failure: Exception, delay: float) -> None:
    call.run.tell(TaskRetried(call.run.namespace, call.run.step, call, call.attempts, failure, delay))


def _tell_of_refusal(call: Call, policies: Sequence[RetryPolicy], failure: Exception) -> None:
    """Log that there is no other attempt: whoever wrote a policy expects one, and the error alone doesn't say."""
    refused = " or ".join(map(shown_policy, policies))
    name = call.shown.definition.name
    logger.info(
        "%s isn't tried again after attempt %d: %s doesn't take %s",
        name,
        call.attempts,
        refused,
        quoted(failure),
    )


async def _once(frame: Frame) -> Any:
    """Call the function once, and see what is under it through to its end."""
    call, host, definition = frame.call, frame.host, frame.call.definition
    error: BaseException | None = None
    value = None
    if frame.seat is not None:
        await _enter(frame, frame.seat)
    token, frame.around = current_frame.set(frame), exc_info()[1]
    is_workflow = definition.is_workflow and call.run.journal is not None
    if is_workflow:
        under_way.append(definition)
    try:
        if frame.attempt == 1 and definition.marks_start:
            await mark_start(call, host)
        kwargs = injected(frame) if definition.injects and definition.filled else call.kwargs
        if call.leaves:
            from flowfn.engine.calls.elsewhere import call_there

            value = await call_there(frame, host, kwargs)
        elif definition.is_async:
            value = await host.call_async(definition.function, call.args, kwargs, call.timeout)
        else:
            value = await host.call(definition.function, call.args, kwargs, call.timeout)
    except BaseException as raised:
        error = raised
    finally:
        try:  # noqa: SIM105 - in place, as `put_back` would cost each call of a task two calls of functions
            current_frame.reset(token)
        except ValueError:
            pass
        frame.around = None
        if is_workflow:
            under_way.remove(definition)
        if (seat := frame.seat) is not None:
            seat.leave()
            frame.seat = None
    if error is not None or not frame.quiet or (call.run.root.fatal is not None and not frame.stands_alone):
        await close(frame, host, error)
    frame.closed = True
    if error is not None:
        raise error
    return value


async def _enter(frame: Frame, seat: Seat) -> None:
    """Take a place to execute in; where the run or the caller has ended meanwhile, this hasn't begun, and doesn't."""
    await seat.enter(frame.host)
    fatal, caller = frame.call.run.root.fatal, frame.call.parent
    if fatal is not None or (caller is not None and caller.closed):
        seat.leave()
        raise fatal or Stopped


def _tell_failure(call: Call, error: BaseException) -> None:
    run, parent = call.run, call.parent
    if isinstance(error, Exception):
        blame(call, error)
    if isinstance(error, Exception) and parent is not None and call.future is not None:
        parent.calls.failures.append((call, error))
    if run.post is not None:
        run.post(TaskFinished(run.namespace, run.step, call, MISSING, error))


def _check_result_type(definition: Definition, serde: Serializer) -> None:
    """Refuse before the work what the annotation tells can't be stored after it; once for each serializer.

    Raises:
        SerializationError: the annotated result can't be stored.
    """
    check: Callable[[Any, str], None] | None = getattr(serde, "check", None)
    if check is not None and not definition.is_generator and definition.returns is not Signature.empty:
        check(definition.returns, f"task {definition.name!r}")
    definition.checked.add(id(serde))
