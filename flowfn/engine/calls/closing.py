"""The end of an attempt: what its code has called ends before it does, so that a recorded call has nothing left to run.

Rule: after a value, and where a question stands, all calls are seen through; after an error those that nobody has
started are cancelled, and those that failed aren't tried again; after a cancellation those under way are stopped as
well, and a question that stood is kept.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame, put_back
from flowfn.engine.questions.interrupts import record_questions
from flowfn.engine.replay import failing
from flowfn.errors import FlowError, Suspended
from flowfn.logs import LOST, logger
from flowfn.rendering import quoted

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.futures import Future
    from flowfn.ports import Host


async def close(frame: Frame, host: Host, error: BaseException | None) -> None:
    """End an attempt: settle what it called, and turn an open question into suspension.

    Raises:
        Suspended: something waits for an answer, and no error came between.
        NonDeterminismError: the run was refused, whatever the user code made of that.
    """
    if frame.calls.unplaced and error is None:
        _place_held(frame)
    suspending = (
        error is None or isinstance(error, Suspended) or (frame.told and not _stops(error, frame, host))
    )
    if not suspending or frame.run.root.fatal is not None:
        frame.closed = True
        _give_up_children(frame, running=not isinstance(error, Exception))
    try:
        await _settle_children(frame, host)
        frame.closed = True
        if frame.calls.open:  # of a thread that called it before it could know
            await _settle_children(frame, host)
    except BaseException as stopped:
        await _stop_children(frame, host, stopped)
        raise
    if not suspending:
        failing.ride_unseen(frame)
    if frame.run.root.fatal is not None:
        raise frame.run.root.fatal
    if frame.calls.questions and not isinstance(error, GeneratorExit):  # what is closed can't wait
        await record_questions(frame, host)
    if frame.suspended and (suspending or frame.told):
        if frame.call.parent is not None:
            frame.call.parent.suspended = True
        if frame.call.note is not None and frame.run.journal is not None:
            frame.run.journal.suspend(frame.call.note, True)
    if frame.suspended and suspending:
        raise Suspended(tuple(frame.call.questions))
    if error is None:
        _log_unseen(frame)


def _stops(error: BaseException, frame: Frame, host: Host) -> bool:
    """Whether it is a cancellation, or what else ends a run from outside; a group has what its branches were told, and
    the cancellation of a task of the code's own is as any error of it."""
    if isinstance(error, Exception | BaseExceptionGroup):
        return False
    return type(error).__name__ != "CancelledError" or host.is_cancelled(frame)


def _give_up_children(frame: Frame, *, running: bool) -> None:
    """Start nothing more after an error; after a cancellation stop what runs as well."""
    for future in frame.open_calls():
        if running or future.waiting or future.held:
            future.cancel()
    frame.run.root.end_rests()


async def _stop_children(frame: Frame, host: Host, error: BaseException) -> None:
    """Let nothing of an attempt go on beyond it that was cancelled while it waited for its calls, but for code on
    threads: nobody can stop that, and the run keeps its thread until it ends."""
    frame.closed = True
    stopped = frame.open_calls()
    _give_up_children(frame, running=True)
    if not isinstance(error, GeneratorExit):  # what is closed can't wait
        await host.let_stop(stopped)
    frame.run.root.leave(frame.calls.open.copy().values())


async def _settle_children(frame: Frame, host: Host) -> None:
    """Wait for all calls of a frame, and for those that its asyncio branches go on to make.

    Of a stream that was not read to its end the run waits for its reader, and nobody reads on once the code has ended.
    """
    while True:
        if frame.calls.unplaced:
            await _place_suspended(frame, host)
        open_calls = _but_streams(frame) or _left_by_readers(frame)
        await host.settle(open_calls)
        for future in open_calls:
            frame.calls.open.pop(future, None)
        if frame.suspended and not frame.closed:
            await host.let_branches_go_on(frame)
        if not frame.calls.open:
            return


def _but_streams(frame: Frame) -> tuple[Future[Any], ...]:
    """The calls that haven't been seen to end, but for those whose streams the code reads."""
    return tuple(future for future, call in frame.calls.open.copy().items() if call.definition.reader is None)


def _left_by_readers(frame: Frame) -> tuple[Future[Any], ...]:
    """The calls of workflows whose streams the code of a frame has read, each told that nobody reads on."""
    calls = frame.calls.open.copy()
    for call in calls.values():
        if call.definition.reader is not None:
            call.definition.reader.leave()
    return tuple(calls)


async def _place_suspended(frame: Frame, host: Host) -> None:
    """Place what was held when the code was told of a question; its other branches may yet claim their records."""
    token = current_frame.set(frame)
    try:
        while frame.calls.unplaced:
            held = frame.calls.unplaced[0].future
            assert held is not None
            await host.until_placeable(held)
            with suppress(FlowError):
                held.place()
    finally:
        put_back(current_frame, token)


def _place_held(frame: Frame) -> None:
    """Nobody waited for held calls; the end of their frame does. A refusal is kept as the run's."""
    while frame.calls.unplaced:
        held = frame.calls.unplaced[0].future
        assert held is not None
        with suppress(FlowError):
            held.place()


def _log_unseen(frame: Frame) -> None:
    """Say of which results nobody looked at that the caller may count on them: of a task that failed, and of a future
    that was taken for its value."""
    for call, error in frame.calls.failures:
        if call.future is not None and not call.future.seen:
            caller = frame.call.definition.name
            logger.warning(
                "%s, called by %s, failed, and nobody looked: %s", call.summary, caller, quoted(error)
            )
    for site in dict.fromkeys(site for future, site in frame.calls.mistaken.items() if not future.seen):
        logger.warning(
            "%s: a task's future was tested, compared or made a text, and nobody looked at its result: a future is "
            "always true, equals no value, and its text isn't the result's. Write .result() or await",
            site,
            extra=LOST,
        )
