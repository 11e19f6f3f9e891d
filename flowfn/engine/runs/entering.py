"""How a run begins on its thread: what is there, and what the caller wants of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.engine.questions.answers import answer, are_ids, offers
from flowfn.engine.questions.offers import Offer
from flowfn.engine.questions.waiting import read_asked, stopped_at_breakpoint
from flowfn.engine.records.journal import Journal
from flowfn.engine.replay.lost import log_command_refused, log_dropped
from flowfn.engine.runs.going_back import GoingBack
from flowfn.engine.runs.run import Run
from flowfn.engine.runs.telling import tell_where_it_stands
from flowfn.errors import EmptyCommand, InvalidInput, UnknownCheckpoint, UnknownThread
from flowfn.ports import Begin, Loaded, WriteRow, Writes, where
from flowfn.pregel.apply import advance, amend
from flowfn.pregel.interrupts import resumed
from flowfn.pregel.plan import due
from flowfn.row_channels import RUN_TASK
from flowfn.values import MISSING, Checkpoint, Command, Write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flowfn.engine.records.ledger import Ledger

COMMAND = "~command"
"""The path of the rows of what a command wrote."""


class Fresh(NamedTuple):
    """Start from the caller's input; `begin` names the run.

    `unless_of` is the id of a run whose checkpoints are gone on with instead, without the input.
    """

    writes: Sequence[Write]
    begin: Begin
    unless_of: str | None = None


class Resume(NamedTuple):
    """Go on where the thread stopped, after what the command brings.

    `update` turns a command's update and goto into writes; None where the program takes none. `otherwise` is
    what to start with on a thread that nothing is recorded of.
    """

    command: Command[Any] | None
    update: Callable[[Command[Any]], Sequence[Write]] | None = None
    otherwise: Fresh | None = None


async def enter(run: Run, journal: Journal, given: Fresh | Resume) -> None:
    """Stand where the thread does, or at the checkpoint that the call names, and take what the call brings.

    Raises:
        UnknownThread, UnknownCheckpoint: there is nothing to go on with.
        InvalidInput, EmptyCommand: the command can't be carried out.
    """
    head = None if journal.lease.new else await journal.load(run.host, run.namespace, None)
    at = run.config.checkpoint_id
    loaded = (
        head if at is None or (head is not None and head.checkpoint.id == at) else await _at(run, journal, at)
    )
    of_head = None if head is None else journal.ledger(head)
    if loaded is not None:
        ledger = of_head if loaded is head else None
        run.stand_at(journal.checkpoint(loaded, run.program.channels), ledger, made=False)
        if _is_of_its_run(given, run.checkpoint):
            given = Resume(None)
        _add(run, (ledger or journal.ledger(loaded)).commanded, isinstance(given, Resume))
    run.set_out()
    if isinstance(given, Resume) and loaded is None and given.otherwise is not None:
        given = given.otherwise
    if isinstance(given, Fresh):
        journal.begin(given.begin if loaded is None else given.begin.on_thread())
        await run.take_input(given.writes)
    elif loaded is None:
        raise UnknownThread(
            f"thread {journal.thread!r} has nothing to resume: pass an input to start it, or check the thread_id"
            + where(journal.saver)
        )
    else:
        await _take_up(run, journal, given, loaded, of_head if loaded is head else None)


def _is_of_its_run(given: Fresh | Resume, checkpoint: Checkpoint) -> bool:
    """Whether a call names, as its own run, the one that made the checkpoint."""
    if not isinstance(given, Fresh) or given.unless_of is None:
        return False
    return bool(checkpoint.metadata.get("run_id") == given.unless_of)


async def _take_up(run: Run, journal: Journal, given: Resume, loaded: Loaded, of_head: Ledger | None) -> None:
    """Go on from a checkpoint: with what is recorded where the thread stopped, or back to where it was before."""
    writes = _commanded(given)
    journal.go_on()
    await run.settle_edits(loaded, commanded=bool(writes))
    questions = run.root.questions
    questions.before = read_asked(journal.serde, loaded.writes)
    goes_back_to = run.config.replays
    if of_head is not None and await _answers_inside(run, journal, given.command):
        goes_back_to = {}
    if of_head is not None and (not goes_back_to or run.begins_a_branch):
        run.root.report.resumed = bool(of_head.records)
        if run.checkpoint.source == "update":
            goes_back_to = {"": _remembered(run.checkpoint), **goes_back_to}
        run.root.back = GoingBack(goes_back_to) if goes_back_to else None
        await _obey(run, journal, loaded, given.command, writes)
        _pass_breakpoints(run)
    else:
        command = given.command
        if command is not None and command.resume is not MISSING:
            asked = questions.before
            questions.offered += await offers(journal, run.host, asked, command.resume, command.by)
        run.root.back = back = GoingBack({"": _remembered(run.checkpoint), **goes_back_to})
        before = run.checkpoint.id
        await run.fork(writes)
        if goes_back_to and command is not None and command.resume is not MISSING:
            back.copies[run.checkpoint.id] = run.namespace, before
        _pass_breakpoints(run)
    tell_where_it_stands(run)


async def _answers_inside(run: Run, journal: Journal, command: Command[Any] | None) -> bool:
    """Whether somebody answers, and names the nested runs as they stand: that goes back to nowhere."""
    if command is None or command.resume is MISSING or run.begins_a_branch:
        return False
    for namespace, id in run.config.replays.items():
        head = await journal.load(run.host, namespace, None)
        if head is None or head.checkpoint.id != id:
            return False
    return True


def _remembered(checkpoint: Checkpoint) -> str:
    """Up to which checkpoint nested runs remember: that of an update or a copy is as old as what it was made from."""
    branches = checkpoint.source in ("update", "fork")
    return checkpoint.parent if branches and checkpoint.parent is not None else checkpoint.id


async def enter_recorded(run: Run) -> None:
    """Take up what is recorded of a run, as one that is resumed without an answer does."""
    assert run.journal is not None
    await enter(run, run.journal, Resume(None))


async def _at(run: Run, journal: Journal, checkpoint: str) -> Loaded:
    loaded = await journal.load(run.host, run.namespace, checkpoint)
    if loaded is None:
        raise UnknownCheckpoint(
            f"thread {journal.thread!r} has no checkpoint {checkpoint!r}: take one from get_state_history()"
        )
    return loaded


def _add(run: Run, writes: Sequence[Write], goes_on: bool) -> None:
    """Make what a command wrote part of where the run stands.

    What an edit of the program makes a channel refuse stops who goes on from there; a new input does without.
    """
    if writes:
        try:
            run.checkpoint = advance(run.checkpoint, amend(run.program, run.checkpoint, writes))
        except Exception as error:
            if goes_on:
                raise
            log_command_refused(error, run.thread)


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
    """Carry out what a command brings to a stopped run.

    A write that a channel refuses is so before anything is recorded: kept, it would be refused again whatever comes.
    """
    changes = amend(run.program, run.checkpoint, writes) if writes else None
    if command is not None and command.resume is not MISSING:
        if _is_for_what_is_asked_next(run, journal, loaded, command.resume):
            run.root.questions.offered.append(Offer(command.resume, command.by))
        else:
            at, asked = loaded.checkpoint.id, run.root.questions.before
            answered, offered = await answer(journal, run.host, at, asked, command.resume, command.by)
            run.root.questions.offered += offered
            for writes_of in answered:
                if (writes_of.namespace, writes_of.checkpoint) == (run.namespace, run.checkpoint.id):
                    journal.add(run.ledger, writes_of.rows)
    if changes is not None:
        await journal.write(run.host, [_command_rows(run, journal, writes)])
        run.checkpoint = advance(run.checkpoint, changes)
        log_dropped(run.program, changes, run.checkpoint)


def _is_for_what_is_asked_next(run: Run, journal: Journal, loaded: Loaded, resume: Any) -> bool:
    """Whether an answer's question was asked of a state that was updated since and is asked anew, or the run waits at
    a breakpoint, and may ask once it goes on.
    """
    if are_ids(resume) or any(not question.answered for question in run.root.questions.before):
        return False
    waits = run.checkpoint.source == "update" or stopped_at_breakpoint(journal.serde, loaded.writes)
    return waits and bool(due(run.program, run.checkpoint))


def _command_rows(run: Run, journal: Journal, writes: Sequence[Write]) -> Writes:
    """What a command writes, kept under the checkpoint until a superstep makes the next one."""
    rows = [
        WriteRow(RUN_TASK, journal.next_order(), name, journal.encode(value, f"Command's {name!r}"), COMMAND)
        for name, value in writes
    ]
    return Writes(run.namespace, run.checkpoint.id, rows)
