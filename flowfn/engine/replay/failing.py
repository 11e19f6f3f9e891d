"""Which recorded calls the error that ended a run, or an attempt, came from: nobody has acted on it, so they run again.

So do those whose errors nobody had looked at by then.

Rule: an error knows the calls whose outcome it is, as a note on itself, so that nothing has to keep it alive. What
ended the run are the calls whose error it is, contains or came from. An error may also have been raised while another
was handled: that counts as where it came from if its own call was made under that one's, and if no task was called
while it was handled, as then it was acted on.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import suppress
from itertools import chain
from sys import exc_info
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.context import met_elsewhere
from flowfn.engine.records.record import one_row
from flowfn.errors import RECORDED_AS
from flowfn.ports import WriteRow, Writes
from flowfn.row_channels import FAILED

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.engine.calls.frame import Frame
    from flowfn.engine.records.journal import Journal
    from flowfn.ports import Host

Place = tuple[str, str]
"""A call of a run: its namespace and its id."""


class Recorded(NamedTuple):
    """That an error is the outcome of a call: of which run's, which call, under which others, and its number."""

    run: tuple[str, int]
    place: Place
    checkpoint: str
    around: tuple[Place, ...]
    order: int
    told: tuple[Any, ...] = ()
    """The arguments and attributes that are recorded as their `repr`: a resumed run finds that in the error."""


def note(error: Exception, call: Call, order: int, *, is_new: bool = False) -> None:
    """Note on an error that it is a call's outcome, recorded under that number; `is_new` if it was raised just now."""
    journal = call.run.journal
    assert journal is not None
    place, checkpoint = (call.run.namespace, call.task), call.run.checkpoint.id
    told = _told(error, journal) if is_new else ()
    recorded = Recorded(_run_of(journal), place, checkpoint, tuple(_around(call)), order, told)
    journal.acted_on.discard(place)
    vars(error)[RECORDED_AS] = (*_notes(error, journal), recorded)


def _told(error: Exception, journal: Journal) -> tuple[Any, ...]:
    """What of an error comes back from its record as a text that it wasn't."""
    given: dict[Any, Any] = {**dict(enumerate(error.args)), **vars(error)}
    given.pop(RECORDED_AS, None)
    if _SCALARS.issuperset(map(type, given.values())):
        return ()
    try:
        restored = journal.serde.loads(journal.serde.dumps(error))
        found: dict[Any, Any] = {**dict(enumerate(restored.args)), **vars(restored)}
    except Exception:  # of a serializer of the user's own; who reads the record is told
        return ()
    return tuple(
        item for name, item in given.items() if type(found.get(name)) is str and type(item) is not str
    )


_SCALARS = frozenset({str, int, float, bool, bytes, type(None)})


def act_on_errors(journal: Journal) -> None:
    """Note that code calls something while it handles an error, or in a thread or a branch that has its context."""
    error, run = exc_info()[1], _run_of(journal)
    if error is not None:
        journal.acted_on.update([each.place for each in _causes(journal, error, journal.acted_on)])
    else:
        journal.acted_on.update(each.place for each in met_elsewhere() if each.run == run)


def failed_rows(journal: Journal, error: BaseException, acted_on: Set[Place]) -> list[Writes]:
    """The rows that say of recorded calls that their errors ended the run, or an attempt."""
    return [
        Writes(recorded.place[0], recorded.checkpoint, [_row(journal, recorded)])
        for recorded in _causes(journal, error, acted_on)
    ]


def tell_what_stays(journal: Journal, error: BaseException) -> None:
    """Note on an error of the code's own that a call which failed won't run again, as it was acted on: who resumes the
    run would else wonder why it ends in the same way, whatever was repaired."""
    ended = {id(each) for each, _ in _sources(journal, error, journal.acted_on)}
    for each, _ in _sources(journal, error, frozenset()):
        if id(each) not in ended:
            with suppress(Exception):  # its class lets nobody change it
                error.add_note(
                    f"{type(each).__name__} was handled by calling a task, and stays part of the run: what raised it "
                    "doesn't run again. To have it run again, raise your own error `from` it"
                )


async def record_failed(frame: Frame, failure: Exception, host: Host) -> None:
    """Record what the error of an attempt came from, for the next attempt to run it again, whatever was done about it:
    the task is told to try anew."""
    journal = frame.run.journal
    if journal is None:
        return
    failed = failed_rows(journal, failure, frozenset())
    if failed or frame.failures:
        await journal.write(host, [*failed, *journal.riders()])


def ride_unseen(frame: Frame) -> None:
    """Say, with the next commit, which errors nobody had looked at when an attempt failed: calls that were made after
    them weren't made because of them."""
    journal = frame.run.journal
    if journal is None:
        return
    for call, error in frame.failures:
        if call.future is not None and not call.future.seen:
            place = call.run.namespace, call.task
            for recorded in _notes(error, journal):
                if recorded.place == place:
                    journal.ride(place[0], recorded.checkpoint, [_row(journal, recorded)])


def _row(journal: Journal, recorded: Recorded) -> WriteRow:
    return one_row(recorded.place[1], FAILED, journal.serde.dumps(recorded.order))


def _causes(journal: Journal, error: BaseException, acted_on: Set[Place]) -> Iterator[Recorded]:
    """The calls whose error it is, contains or came from."""
    return chain.from_iterable(notes for _, notes in _sources(journal, error, acted_on))


def _sources(
    journal: Journal, error: BaseException, acted_on: Set[Place]
) -> Iterator[tuple[BaseException, tuple[Recorded, ...]]]:
    """The errors of calls that it is, contains or came from, each with what is noted on it; what was acted on isn't
    what another error came from."""
    seen: set[int] = set()
    waiting: list[_From] = [_From(error, None, is_beside=False)]
    while waiting:
        each, under, is_beside = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        notes = _notes(each, journal)
        if notes and under is not None and not any(under in note.around for note in notes):
            continue
        if is_beside and notes and {note.place for note in notes} <= acted_on:
            continue
        if notes:
            yield each, notes
        under = notes[-1].place if notes else under
        inner = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        found = [_From(each.__context__, under, is_beside=True)]
        found += [_From(other, under, is_beside) for other in (*reversed(inner), each.__cause__)]
        waiting += [one for one in found if one.error is not None]


class _From(NamedTuple):
    """An error that another one came from: made under which call, and whether the other was raised while this one was
    handled."""

    error: Any
    under: Place | None
    is_beside: bool


def _notes(error: BaseException, journal: Journal) -> tuple[Recorded, ...]:
    """What was noted on an error in this run; the same object may have been raised in others."""
    run = _run_of(journal)
    try:
        return tuple(each for each in vars(error).get(RECORDED_AS, ()) if each.run == run)
    except Exception:  # its class lets nobody look
        return ()


def _run_of(journal: Journal) -> tuple[str, int]:
    return journal.thread, journal.lease.token


def _around(call: Call) -> Iterator[Place]:
    """The calls that a call is under, the nearest first."""
    frame = call.parent or call.run.frame
    while frame is not None:
        yield frame.run.namespace, frame.call.task
        frame = frame.call.parent or frame.run.frame
