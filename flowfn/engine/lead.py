"""A root run: takes its thread's lease, runs, and leaves the thread in a state that says what happened.

Guarantee: one writer per thread. Whoever comes second waits, is turned away, or takes over
(`on_busy`); the lease is given back in the same commit as the last thing written under it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.config import OnBusy
from flowfn.engine.answers import (
    Offer,
    after_an_edit,
    answer,
    are_ids,
    left_waiting,
    pending_rows,
    read_asked,
)
from flowfn.engine.failing import failed_rows
from flowfn.engine.ids import node_scope
from flowfn.engine.journal import Journal
from flowfn.engine.record import ERROR, RUN_TASK, one_row
from flowfn.engine.run import Run
from flowfn.engine.slots import Slots
from flowfn.engine.superstep import go_on
from flowfn.errors import (
    Cancelled,
    Drained,
    EmptyCommand,
    InvalidInput,
    LeaseLost,
    NoCheckpointer,
    SaverError,
    Signal,
    Suspended,
    ThreadBusy,
    UnknownCheckpoint,
    UnknownThread,
)
from flowfn.events import RunSuspended
from flowfn.logs import logger
from flowfn.ports import Begin, Busy, CheckpointRow, Host, Lease, Loaded, Saver, Status, WriteRow, Writes
from flowfn.pregel.apply import advance, amend
from flowfn.pregel.interrupts import resumed
from flowfn.pregel.plan import due
from flowfn.pregel.view import EMPTY, View, view
from flowfn.values import MISSING, Answers, Checkpoint, Command, Interrupt, Write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

COMMAND = "~command"
"""The path of the rows of what a command wrote."""

FIRST_WAIT, LONGEST_WAIT = 0.001, 0.1
"""Seconds between two looks at a busy thread."""


class Fresh(NamedTuple):
    """Start from the caller's input; `begin` names the run."""

    writes: Sequence[Write]
    begin: Begin


class Resume(NamedTuple):
    """Go on where the thread stopped, after what the command brings.

    `update` turns a command's update and goto into writes; None where the program takes none. `otherwise` is
    what to start with on a thread that nothing is recorded of.
    """

    command: Command[Any] | None
    update: Callable[[Command[Any]], Sequence[Write]] | None = None
    otherwise: Fresh | None = None


class Ending(NamedTuple):
    """What a root run came to: a value, or the questions that it waits on."""

    value: Any
    interrupts: tuple[Interrupt, ...] = ()
    state: View = EMPTY
    suspended: bool = False
    """Whether it stopped for questions, or at a breakpoint."""


async def take_lease(
    saver: Saver,
    host: Host,
    thread: str,
    on_busy: OnBusy,
    on_wait: Callable[[], Awaitable[None]] | None = None,
) -> Lease:
    """The lease of a thread, as `on_busy` says; `on_wait` is called once, before it is waited for.

    Raises:
        ThreadBusy: somebody alive holds it, and `on_busy="reject"`.
    """
    delay, force = FIRST_WAIT, on_busy == "cancel"
    taken: Lease | Busy | None = None
    try:
        while True:
            taken = None if force else await host.claim_free(saver, thread)
            if taken is None and saver.inline:  # by no other call: Ctrl-C may come between two
                taken = saver.claim(thread, force=force)
            elif taken is None:
                taken = await on_saver(saver, host, saver.claim, thread, force=force)
            if isinstance(taken, Lease):
                return taken
            assert isinstance(taken, Busy)
            if on_busy == "reject":
                raise ThreadBusy(
                    f"thread {thread!r} is held by a live run ({taken.owner}): wait with on_busy='wait', take it "
                    "over with on_busy='cancel', or use another thread_id"
                )
            if on_wait is not None:
                await on_wait()
                on_wait = None
            await host.sleep(delay)
            delay = min(delay * 2, LONGEST_WAIT)
    except BaseException:
        if isinstance(taken, Lease):
            await give_back(saver, host, taken)
        raise


async def asked_by_now(saver: Saver, host: Host, thread: str) -> frozenset[str]:
    """The ids of the questions that a thread has stopped for, as of now: whoever holds it may ask others meanwhile."""
    head = await on_saver(saver, host, saver.load, thread)
    asked = () if head is None else read_asked(saver.serde, head.writes)
    return frozenset(question.interrupt.id for question in asked)


async def give_back(saver: Saver, host: Host, lease: Lease) -> None:
    """Give back the lease of a call that came to no run; whoever can't is told why by what failed before."""
    with suppress(SaverError):
        await on_saver(saver, host, saver.release, lease)


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

    return await host.on_saver(saver, lambda: method(*args, **kwargs), undo=give_back)


async def lead(run: Run, given: Fresh | Resume) -> Ending:
    """Run to an end or to a question, and leave the thread saying so.

    Raises:
        FlowError: the input can't be used (nothing was written), or the run was refused or taken over.
        Exception: a task's own; the thread can be resumed.
    """
    if run.config.max_concurrency is not None:
        run.root.slots = Slots(run.config.max_concurrency)
    if run.journal is None:
        return await _lead_unrecorded(run, given)
    journal = run.journal
    try:
        await _enter(run, journal, given)
        try:
            value = await go_on(run)
            if not journal.released:  # no superstep was due, whose commit would have been the last
                await journal.write_the_rest(run.host)
            return _ended(run, value)
        except Suspended:
            return await _suspend(run, journal)
        except Cancelled:
            raise
        except Signal as signal:
            await _leave(run, journal, signal)
            raise
        except Exception as error:
            await _fail(run, journal, error)
            raise
    except BaseException as interruption:
        if not isinstance(interruption, Exception):
            run.root.stop_what_is_left()
        raise
    finally:
        if not journal.released:
            await _keep(run, journal)
            await _release(run, journal)
            journal.released = True


async def _keep(run: Run, journal: Journal) -> None:
    """Commit what was to be committed later: who leaves a stream, or interrupts a run, keeps what has finished."""
    try:
        await journal.write_the_rest(run.host)
    except LeaseLost:
        pass  # whoever took the thread over goes on without it
    except SaverError as error:
        logger.warning("what thread %s had not committed could not be kept: %s", run.thread, error)


async def _release(run: Run, journal: Journal) -> None:
    """Give the lease back; a backend that can't says so in the log, beside the error that it follows."""
    try:
        await on_saver(journal.saver, run.host, journal.saver.release, journal.lease)
    except SaverError as error:
        logger.warning("the lease of thread %s could not be given back: %s", run.thread, error)


async def _lead_unrecorded(run: Run, given: Fresh | Resume) -> Ending:
    if isinstance(given, Resume) and given.otherwise is not None:
        given = given.otherwise
    if isinstance(given, Resume):
        raise NoCheckpointer(
            f"{run.program.name!r} keeps no past to resume: give it one with "
            "@entrypoint(checkpointer='runs.db'), and name the run with thread_id"
        )
    run.set_out()
    await run.take_input(given.writes)
    try:
        return _ended(run, await go_on(run))
    except Suspended:
        return _ending(run)


# -- entering: what is there, and what the caller wants of it --------------------------------------


async def _enter(run: Run, journal: Journal, given: Fresh | Resume) -> None:
    head = None if journal.lease.new else await journal.load(run.host, run.namespace, None)
    at = run.config.checkpoint_id
    loaded = (
        head if at is None or (head is not None and head.checkpoint.id == at) else await _at(run, journal, at)
    )
    ledger = journal.ledger(head)
    if loaded is not None:
        at_head = loaded is head
        run.stand_at(
            journal.checkpoint(loaded, run.program.channels), ledger if at_head else None, made=False
        )
        _add(run, (ledger if at_head else journal.ledger(loaded)).commanded)
    run.set_out()
    if isinstance(given, Resume) and loaded is None and given.otherwise is not None:
        given = given.otherwise
    if isinstance(given, Fresh):
        journal.begin(given.begin if loaded is None else given.begin.on_thread())
        await run.take_input(given.writes)
        return
    if loaded is None:
        raise UnknownThread(
            f"thread {journal.thread!r} has nothing to resume: pass an input to start it, or check the thread_id"
        )
    writes = _commanded(given)
    await run.settle_edits(loaded, commanded=bool(writes))
    run.root.waiting = read_asked(journal.serde, loaded.writes)
    if loaded is head and (not run.config.replays or run.begins_a_branch):
        run.root.report.resumed = bool(ledger.records)
        run.root.went_back = {**run.config.replays}
        if run.checkpoint.source == "update":
            run.root.went_back[""] = _remembered(run.checkpoint)
        await _obey(run, journal, loaded, given.command, writes)
        _pass_breakpoints(run)
    else:
        run.root.went_back = {"": _remembered(run.checkpoint), **run.config.replays}
        await run.fork(writes)
        _pass_breakpoints(run)
        if given.command is not None and (offer := _only_answer(given.command)) is not None:
            run.root.offered.append(offer)
    run.tell_where_it_stands()


def _remembered(checkpoint: Checkpoint) -> str:
    """Up to which checkpoint nested runs remember: that of an update or a copy is as old as what it was made from."""
    branches = checkpoint.source in ("update", "fork")
    return checkpoint.parent if branches and checkpoint.parent is not None else checkpoint.id


async def enter_recorded(run: Run) -> None:
    """Take up what is recorded of a run, as one that is resumed without an answer does."""
    assert run.journal is not None
    await _enter(run, run.journal, Resume(None))


async def _at(run: Run, journal: Journal, checkpoint: str) -> Loaded:
    loaded = await journal.load(run.host, run.namespace, checkpoint)
    if loaded is None:
        raise UnknownCheckpoint(
            f"thread {journal.thread!r} has no checkpoint {checkpoint!r}: take one from get_state_history()"
        )
    return loaded


def _add(run: Run, writes: Sequence[Write]) -> None:
    """Make what a command wrote part of where the run stands."""
    if writes:
        run.checkpoint = advance(run.checkpoint, amend(run.program, run.checkpoint, writes))


def _pass_breakpoints(run: Run) -> None:
    """Don't stop again where the run stopped before."""
    if run.interrupt_before or run.interrupt_after:
        run.checkpoint = advance(run.checkpoint, resumed(run.checkpoint))


def _commanded(given: Resume) -> Sequence[Write]:
    """What a command writes.

    Raises:
        InvalidInput: the program takes no such command.
        EmptyCommand: there is nothing in it.
    """
    command = given.command
    if command is None:
        return ()
    if given.update is None and (command.update is not None or command.goto):
        raise InvalidInput(
            f"{command!r}: an entrypoint takes no update and no goto; write Command(resume=answer), and change "
            "state with update_state()"
        )
    writes = [] if given.update is None else list(given.update(command))
    if command.resume is MISSING and not command.update and not command.goto:
        raise EmptyCommand(
            "Command() has nothing in it: write Command(resume=answer), or pass None to go on without an answer"
        )
    return writes


async def _obey(
    run: Run, journal: Journal, loaded: Loaded, command: Command[Any] | None, writes: Sequence[Write]
) -> None:
    """Carry out what a command brings to a stopped run."""
    if command is not None and command.resume is not MISSING:
        offer = await _for_an_edited_state(run, journal, command)
        if offer is not None:
            run.root.offered.append(offer)
        else:
            at, asked = loaded.checkpoint.id, run.root.waiting
            answered = await answer(journal, run.host, at, asked, command.resume, command.by)
            for writes_of in answered:
                if (writes_of.namespace, writes_of.checkpoint) == (run.namespace, run.checkpoint.id):
                    journal.add(run.ledger, writes_of.rows)
    if writes:
        await journal.write(run.host, [_command_rows(run, journal, writes)])
        _add(run, writes)


async def _for_an_edited_state(run: Run, journal: Journal, command: Command[Any]) -> Offer | None:
    """The answer, where its question was asked of a state that was updated since and is asked anew; else None."""
    resume = command.resume
    if any(not question.answered for question in run.root.waiting):
        return await after_an_edit(journal, run.host, run.root.waiting, resume, command.by)
    asks_anew = run.checkpoint.source == "update" and due(run.program, run.checkpoint) and not are_ids(resume)
    return Offer(resume, command.by) if asks_anew else None


def _only_answer(command: Command[Any]) -> Offer | None:
    """The answer for whichever question a run that goes back asks first: its ids are new."""
    resume = command.resume
    if resume is MISSING:
        return None
    one = isinstance(resume, Answers) and len(resume) == 1
    return Offer(next(iter(resume.values())) if one else resume, command.by)


def _command_rows(run: Run, journal: Journal, writes: Sequence[Write]) -> Writes:
    """What a command writes, kept under the checkpoint until a superstep makes the next one."""
    rows = [
        WriteRow(RUN_TASK, journal.next_order(), name, journal.encode(value, f"Command's {name!r}"), COMMAND)
        for name, value in writes
    ]
    return Writes(run.namespace, run.checkpoint.id, rows)


# -- ending ---------------------------------------------------------------------------------------


async def _suspend(run: Run, journal: Journal) -> Ending:
    """Leave the thread waiting for answers."""
    run.note_orphans()
    _in_order(run)
    items = [
        *journal.riders(),
        pending_rows(journal, run.checkpoint.id, run.root.pending),
        _error_row(run, journal, None),
        *journal.report_rows(run.root.counted_report(), run.checkpoint.id),
    ]
    await journal.write(run.host, items, status="interrupted", release=True)
    if run.root.rejected is not None:
        raise run.root.rejected
    return _ending(run)


def _in_order(run: Run) -> None:
    """Put the questions into the order of the tasks that they were asked in, whichever asked first."""
    order = {node_scope(task.path): place for place, task in enumerate(run.tasks)}
    run.root.pending.sort(key=lambda question: order.get(question.under[0][1], 0) if question.under else 0)


async def _leave(run: Run, journal: Journal, signal: Signal) -> None:
    """Leave the thread where a signal stopped the run, to be gone on with."""
    items = [*journal.riders(), *journal.report_rows(run.root.counted_report(), run.checkpoint.id)]
    status: Status = "interrupted" if isinstance(signal, Drained) else "failed"
    await journal.write(run.host, items, status=status, release=True)


def _ending(run: Run) -> Ending:
    interrupts = tuple(pending.interrupt for pending in run.root.pending)
    ahead = run.ahead()
    if ahead is not run.checkpoint:
        run.tell_values(run.checkpoint, ahead)
    run.tell(RunSuspended(run.namespace, interrupts))
    return Ending(run.output_values(ahead), interrupts, view(run.program, ahead), suspended=True)


def _ended(run: Run, value: Any) -> Ending:
    return Ending(value, state=view(run.program, run.checkpoint))


async def _fail(run: Run, journal: Journal, error: Exception) -> None:
    """Leave the thread resumable: the tasks whose errors ended the run will run again."""
    if isinstance(error, LeaseLost):
        return
    if run.root.fatal is None:
        run.note_orphans()
    items: list[CheckpointRow | Writes] = [
        *journal.riders(),
        _error_row(run, journal, error),
        *failed_rows(journal, error),
        *journal.report_rows(run.root.counted_report(), run.checkpoint.id),
    ]
    _in_order(run)
    try:
        if run.root.refused or run.root.pending:
            loaded = await journal.load(run.host, run.namespace, run.checkpoint.id)
            assert loaded is not None
            items.append(left_waiting(journal, loaded, run.root.refused, run.root.pending))
        await journal.write(run.host, items, status="failed", release=True)
    except SaverError as second:
        logger.warning("the failure of thread %s could not be recorded: %s", run.thread, second)


def _error_row(run: Run, journal: Journal, error: BaseException | None) -> Writes:
    """What the run ended on, for `get_state`; None clears it."""
    row = one_row(RUN_TASK, ERROR, journal.serde.dumps(error))
    return Writes("", run.checkpoint.id, [row])
