"""A root run: takes its thread's lease, runs, and leaves the thread in a state that says what happened.

Guarantee: one writer per thread. Whoever comes second waits, is turned away, or takes over
(`on_busy`); the lease is given back in the same commit as the last thing written under it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.config import OnBusy
from flowfn.engine.identity import ERROR, FAILED, RUN_TASK
from flowfn.engine.interrupts import answer, pending_rows, read_pending
from flowfn.engine.journal import Journal
from flowfn.engine.run import Run
from flowfn.engine.slots import Slots
from flowfn.errors import (
    EmptyCommand,
    InvalidInput,
    LeaseLost,
    NoCheckpointer,
    SaverError,
    Suspended,
    ThreadBusy,
    UnknownCheckpoint,
    UnknownThread,
)
from flowfn.events import RunSuspended, ValuesChanged
from flowfn.logs import logger
from flowfn.ports import Begin, Busy, CheckpointRow, Host, Lease, Loaded, Saver, WriteRow, Writes
from flowfn.pregel.apply import advance, amend
from flowfn.values import MISSING, Checkpoint, Command, Interrupt, Write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flowfn.engine.call import Call

FIRST_WAIT, LONGEST_WAIT = 0.001, 0.1
"""Seconds between two looks at a busy thread."""


class Fresh(NamedTuple):
    """Start from the caller's input; `begin` names the run."""

    writes: Sequence[Write]
    begin: Begin


class Resume(NamedTuple):
    """Go on where the thread stopped, after what the command brings."""

    command: Command[Any] | None
    update: Callable[[Command[Any]], Sequence[Write]] | None = None


class Ending(NamedTuple):
    """What a root run came to: a value, or the questions that it waits on."""

    value: Any
    interrupts: tuple[Interrupt, ...] = ()


async def take_lease(saver: Saver, host: Host, thread: str, on_busy: OnBusy) -> Lease:
    """The lease of a thread, as `on_busy` says.

    Raises:
        ThreadBusy: somebody alive holds it, and `on_busy="reject"`.
    """
    delay = FIRST_WAIT
    while True:
        taken = await on_saver(saver, host, saver.claim, thread, force=on_busy == "cancel")
        if isinstance(taken, Lease):
            return taken
        assert isinstance(taken, Busy)
        if on_busy == "reject":
            raise ThreadBusy(
                f"thread {thread!r} is held by a live run ({taken.owner}): wait with on_busy='wait', take it "
                "over with on_busy='cancel', or use another thread_id"
            )
        await host.sleep(delay)
        delay = min(delay * 2, LONGEST_WAIT)


async def on_saver(saver: Saver, host: Host, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a saver's method: in place where it is quick, else where it may block.

    A lease that it gives to somebody who was cancelled meanwhile is given back.
    """
    if saver.inline:
        return method(*args, **kwargs)

    def give_back(taken: Any) -> None:
        if isinstance(taken, Lease):
            with suppress(SaverError):
                saver.release(taken)

    return await host.blocking(lambda: method(*args, **kwargs), undo=give_back)


async def lead(run: Run, given: Fresh | Resume) -> Ending:
    """Run to an end or to a question, and leave the thread saying so.

    Raises:
        FlowError: the input can't be used (nothing was written), or the run was refused or taken over.
        Exception: a task's own; the thread can be resumed.
    """
    if run.config.max_concurrency is not None:
        run.slots = Slots(run.config.max_concurrency)
    if run.journal is None:
        return await _lead_unrecorded(run, given)
    journal = run.journal
    try:
        await _enter(run, journal, given)
        try:
            return Ending(await run.go_on())
        except Suspended:
            return await _suspend(run, journal)
        except Exception as error:
            await _fail(run, journal, error)
            raise
    finally:
        if not journal.released:
            await _release(run, journal)


async def _release(run: Run, journal: Journal) -> None:
    """Give the lease back; a backend that can't says so in the log, beside the error that it follows."""
    try:
        await on_saver(journal.saver, run.host, journal.saver.release, journal.lease)
    except SaverError as error:
        logger.warning("the lease of thread %s could not be given back: %s", run.thread, error)


async def _lead_unrecorded(run: Run, given: Fresh | Resume) -> Ending:
    if isinstance(given, Resume):
        raise NoCheckpointer(
            f"{run.program.name!r} keeps no past to resume: give it one with "
            "@entrypoint(checkpointer='runs.db'), and name the run with thread_id"
        )
    await run.take_input(given.writes)
    try:
        return Ending(await run.go_on())
    except Suspended:
        return _ending(run)


# -- entering: what is there, and what the caller wants of it --------------------------------------


async def _enter(run: Run, journal: Journal, given: Fresh | Resume) -> None:
    head = await journal.load(run.host, run.namespace, None)
    at = run.config.checkpoint_id
    loaded = (
        head if at is None or (head is not None and head.checkpoint.id == at) else await _at(run, journal, at)
    )
    if loaded is not None:
        run.checkpoint = journal.checkpoint(loaded, run.program.channels)
        run.step = run.checkpoint.step
    ledger = journal.ledger(head)
    if isinstance(given, Fresh):
        journal.begin(given.begin)
        await run.take_input(given.writes)
        return
    if loaded is None:
        raise UnknownThread(
            f"thread {journal.thread!r} has nothing to resume: pass an input to start it, or check the thread_id"
        )
    if loaded is not head:
        await _fork(run)
    else:
        run.ledger = ledger
        run.report.resumed = bool(ledger)
    await _obey(run, journal, loaded, given)


async def _at(run: Run, journal: Journal, checkpoint: str) -> Loaded:
    loaded = await journal.load(run.host, run.namespace, checkpoint)
    if loaded is None:
        raise UnknownCheckpoint(
            f"thread {journal.thread!r} has no checkpoint {checkpoint!r}: take one from get_state_history()"
        )
    return loaded


async def _fork(run: Run) -> None:
    """Go on from an older checkpoint: a copy of it becomes the head; what was recorded there runs anew."""
    before = run.checkpoint
    after = Checkpoint(
        "", values=before.values, versions=before.versions, seen=before.seen, updated=before.updated,
        metadata=before.metadata,
    )  # fmt: skip
    run.checkpoint = Checkpoint(before.id, step=before.step, versions={})
    await run.save(after, run.checkpoint, "fork")


async def _obey(run: Run, journal: Journal, loaded: Loaded, given: Resume) -> None:
    """Carry out what a command brings to a stopped run."""
    command = given.command
    if command is None:
        _tell_where_it_stands(run)
        return
    if given.update is None and (command.update is not None or command.goto):
        raise InvalidInput(
            f"{command!r}: an entrypoint takes no update and no goto; write Command(resume=answer), and change "
            "state with update_state()"
        )
    writes = [] if given.update is None else list(given.update(command))
    if command.resume is MISSING and not writes:
        raise EmptyCommand(
            "Command() has nothing in it: write Command(resume=answer), or pass None to go on without an answer"
        )
    if command.resume is not MISSING:
        pending = read_pending(journal.serde, loaded.writes)
        await answer(journal, run.host, loaded.checkpoint.id, pending, command.resume)
        again = await journal.load(run.host, run.namespace, run.checkpoint.id)
        run.ledger = journal.ledger(again)
    if writes:
        before = run.checkpoint
        await run.save(advance(before, amend(run.program, before, writes)), before, "update")
    _tell_where_it_stands(run)


def _tell_where_it_stands(run: Run) -> None:
    values = run.output_values(run.checkpoint)
    if run.post is not None and values is not MISSING:
        run.post(ValuesChanged(run.namespace, values))


# -- ending ---------------------------------------------------------------------------------------


async def _suspend(run: Run, journal: Journal) -> Ending:
    """Leave the thread waiting for answers."""
    run.note_orphans()
    items = [
        *journal.riders(),
        pending_rows(journal, run.checkpoint.id, run.pending),
        _error_row(run, journal, None),
        *journal.report_rows(run.counted_report(), run.checkpoint.id),
    ]
    await journal.write(run.host, items, status="interrupted", release=True)
    if run.rejected is not None:
        raise run.rejected
    return _ending(run)


def _ending(run: Run) -> Ending:
    interrupts = tuple(pending.interrupt for pending in run.pending)
    if run.post is not None:
        run.post(RunSuspended(run.namespace, interrupts))
    return Ending(run.output_values(run.checkpoint), interrupts)


async def _fail(run: Run, journal: Journal, error: Exception) -> None:
    """Leave the thread resumable: the tasks whose errors ended the run will run again."""
    if isinstance(error, LeaseLost):
        return
    if run.fatal is None:
        run.note_orphans()
    items: list[CheckpointRow | Writes] = [
        *journal.riders(),
        _error_row(run, journal, error),
        *_failed_rows(run, journal, error),
        *journal.report_rows(run.counted_report(), run.checkpoint.id),
    ]
    try:
        await journal.write(run.host, items, status="failed", release=True)
    except SaverError as second:
        logger.warning("the failure of thread %s could not be recorded: %s", run.thread, second)


def _error_row(run: Run, journal: Journal, error: BaseException | None) -> Writes:
    """What the run ended on, for `get_state`; None clears it."""
    row = WriteRow(RUN_TASK, -1, ERROR, journal.serde.dumps(error))
    return Writes("", run.checkpoint.id, [row])


def _failed_rows(run: Run, journal: Journal, error: BaseException) -> list[Writes]:
    rows = []
    for call, order in _recorded_causes(run, error, set()):
        row = WriteRow(call.task, -4, FAILED, journal.serde.dumps(order))
        rows.append(Writes(call.run.namespace, call.run.checkpoint.id, [row]))
    return rows


def _recorded_causes(run: Run, error: BaseException | None, seen: set[int]) -> list[tuple[Call, int]]:
    """The recorded calls whose errors an error is, contains, or came from."""
    if error is None or id(error) in seen:
        return []
    seen.add(id(error))
    found = []
    recorded = run.root.errors.get(id(error))
    if recorded is not None:
        found.append(recorded[1:])
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for other in (error.__cause__, error.__context__, *inner):
        found += _recorded_causes(run, other, seen)
    return found
