"""A root run: from its thread's lease to the state that it leaves the thread in, which says what happened.

Rule: the lease is given back in the same commit as the last thing written under it; where code of a run that was left
goes on upon threads, after that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.engine.ids import node_scope
from flowfn.engine.questions.listing import list_what_waits
from flowfn.engine.questions.waiting import left_waiting, pending_rows
from flowfn.engine.records.record import one_row
from flowfn.engine.replay.failing import failed_rows, tell_what_stays
from flowfn.engine.replay.reporting import report_orphans, report_rows
from flowfn.engine.runs.entering import Fresh, Resume, enter
from flowfn.engine.runs.leasing import is_gone, leave_soon, logged_failure, on_saver, release_after
from flowfn.engine.runs.places import Places
from flowfn.engine.runs.run import Run
from flowfn.engine.runs.superstep import go_on
from flowfn.engine.runs.telling import tell_values
from flowfn.errors import Cancelled, Drained, LeaseLost, NoCheckpointer, SaverError, Signal, Suspended
from flowfn.events import RunSuspended
from flowfn.logs import logger
from flowfn.ports import CheckpointRow, Status, Writes
from flowfn.pregel.view import EMPTY, View, view
from flowfn.row_channels import ERROR, RUN_TASK
from flowfn.values import Interrupt

if TYPE_CHECKING:
    from flowfn.engine.questions.open import Questions
    from flowfn.engine.records.journal import Journal


class Ending(NamedTuple):
    """What a root run came to: a value, or the questions that it waits on."""

    value: Any
    interrupts: tuple[Interrupt, ...] = ()
    state: View = EMPTY
    suspended: bool = False
    """Whether it stopped for questions, or at a breakpoint."""


async def lead(run: Run, given: Fresh | Resume) -> Ending:
    """Run to an end or to a question, and leave the thread saying so.

    Raises:
        FlowError: the input can't be used (nothing was written), or the run was refused or taken over.
        Exception: a task's own; the thread can be resumed.
    """
    if run.config.max_concurrency is not None:
        run.slots = Places(run.config.max_concurrency)
    if run.journal is None:
        return await _lead_unrecorded(run, given)
    journal = run.journal
    try:
        await enter(run, journal, given)
        try:
            value = await go_on(run)
            if not journal.released:  # no superstep was due, whose commit would have been the last
                await journal.write_the_rest(run.host)
                if journal.owes_status:
                    await journal.write(run.host, [], status="done", release=True)
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
        if is_gone(interruption, run.host):
            leave_soon(journal, run.host)
        elif not isinstance(interruption, Exception):
            run.root.stop_what_is_left()
        raise
    finally:
        if not journal.released:
            try:
                await _keep(run, journal)
            finally:  # who is cancelled again, as anyio does in each turn of the loop, gives back all the same
                await _release(run, journal)


async def _keep(run: Run, journal: Journal) -> None:
    """Commit what was to be committed later: who leaves a stream, or interrupts a run, keeps what has finished, and
    what was asked by then."""
    try:
        if run.root.asks and run.root.questions.unlisted:
            await list_what_waits(run, journal, run.host, whole=True)
        await journal.write_the_rest(run.host)
    except LeaseLost:
        pass  # whoever took the thread over goes on without it
    except SaverError as error:
        logger.warning("what thread %s had not committed could not be kept: %s", run.thread, error)


async def _release(run: Run, journal: Journal) -> None:
    """Give the lease back once no code of the run goes on upon threads; a backend that can't says so in the log, beside
    the error that it follows."""
    if left := [each for each in run.root.left if not each.done()]:
        release_after(left, journal.saver, journal.lease)
    else:
        with logged_failure(journal.lease):
            await on_saver(journal.saver, run.host, journal.saver.release, journal.lease)
    journal.released = True


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
    except BaseException as interruption:
        if not isinstance(interruption, Exception):
            run.root.stop_what_is_left()
        raise


# -- ending ---------------------------------------------------------------------------------------


async def _suspend(run: Run, journal: Journal) -> Ending:
    """Leave the thread waiting for answers."""
    report_orphans(run)
    questions = _questions_in_order(run)
    items = [
        *journal.riders(),
        pending_rows(journal, run.checkpoint.id, questions.pending),
        _error_row(run, journal, None),
        *report_rows(run, journal),
    ]
    await journal.write(run.host, items, status="interrupted", release=True)
    if questions.rejected is not None:
        raise questions.rejected
    return _ending(run)


def _questions_in_order(run: Run) -> Questions:
    """What waits, in the order of the superstep's tasks."""
    questions = run.root.questions
    questions.put_in_order({node_scope(task.path): place for place, task in enumerate(run.tasks)})
    return questions


async def _leave(run: Run, journal: Journal, signal: Signal) -> None:
    """Leave the thread where a signal stopped the run, to be resumed."""
    items = [*journal.riders(), *report_rows(run, journal)]
    status: Status = "interrupted" if isinstance(signal, Drained) else "failed"
    await journal.write(run.host, items, status=status, release=True)


def _ending(run: Run) -> Ending:
    interrupts = tuple(pending.interrupt for pending in run.root.questions.pending)
    ahead = run.ahead()
    if ahead is not run.checkpoint:
        tell_values(run, run.checkpoint, ahead)
    run.tell(RunSuspended(run.namespace, interrupts))
    return Ending(run.result_at(ahead), interrupts, view(run.program, ahead), suspended=True)


def _ended(run: Run, value: Any) -> Ending:
    return Ending(value, state=view(run.program, run.checkpoint))


async def _fail(run: Run, journal: Journal, error: Exception) -> None:
    """Leave the thread resumable: the tasks whose errors ended the run will run again."""
    if isinstance(error, LeaseLost):
        return
    if run.root.fatal is None:
        report_orphans(run)
    tell_what_stays(journal, error)
    items: list[CheckpointRow | Writes] = [
        *journal.riders(),
        _error_row(run, journal, error),
        *failed_rows(journal, error),
        *report_rows(run, journal),
    ]
    questions = _questions_in_order(run)
    try:
        if questions.refused or questions.pending:
            loaded = await journal.load(run.host, run.namespace, run.checkpoint.id)
            assert loaded is not None
            items.append(left_waiting(journal, loaded, questions.refused, questions.pending))
        await journal.write(run.host, items, status="failed", release=True)
    except SaverError as second:
        logger.warning("the failure of thread %s could not be recorded: %s", run.thread, second)


def _error_row(run: Run, journal: Journal, error: BaseException | None) -> Writes:
    """What the run ended on, for `get_state`; None clears it."""
    row = one_row(RUN_TASK, ERROR, journal.serde.dumps(error))
    return Writes("", run.checkpoint.id, [row])
