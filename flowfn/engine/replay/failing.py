"""Which recorded calls the error that ended a run, or an attempt, came from: nobody has acted on it, so they run again.

So do those whose errors nobody had looked at by then.

Rule: an error knows the calls whose outcome it is, as a note on itself, so that nothing has to keep it alive. Code acts
on an error by calling a task while it handles that, or one that it came from, or by having a branch or a thread do so.
What ended the run are the calls whose error it is, contains or came from; those that were acted on only where it was
raised again, or another one `from` it, by the code that called it or in what it called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from itertools import chain
from sys import exc_info
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.engine.records.record import one_row
from flowfn.errors import RECORDED_AS
from flowfn.ports import WriteRow, Writes
from flowfn.row_channels import FAILED

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.engine.calls.frame import Frame
    from flowfn.engine.records.journal import Journal
    from flowfn.ports import Host

_NONE: frozenset[tuple[str, str]] = frozenset()
"""Handled by what begins where nothing has failed: one for all, as Python makes another each time."""

Place = tuple[str, str]
"""A call of a run: its namespace and its id."""

Source = tuple[BaseException, tuple["Recorded", ...]]
"""An error of calls, and what is noted on it."""


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
    journal.unhandled.add(place)
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


def act_on_errors(frame: Frame) -> None:
    """Note that code calls something while it handles an error, or in a thread or a branch that was made then."""
    journal = frame.run.journal
    assert journal is not None
    journal.unhandled.difference_update(handled_calls(frame))


def handled_calls(frame: Frame) -> frozenset[Place]:
    """The failed calls on whose errors a frame's code acts by what it calls or begins."""
    journal = frame.run.journal
    if journal is None or not journal.unhandled:
        return _NONE
    handled = [error for error in (exc_info()[1], frame.host.handled_by_maker(frame)) if error is not None]
    found = (
        note.place for error in handled for note in _calls(_sources(journal, error, but_for=frame.around))
    )
    return frame.host.handed(frame) | {*found}


def failed_rows(journal: Journal, error: BaseException) -> list[Writes]:
    """The rows that say of recorded calls that their errors ended the run."""
    return _rows(journal, _calls(_sources(journal, error, journal.unhandled)))


def tell_what_stays(journal: Journal, error: BaseException) -> None:
    """Note on an error of the code's own that a call which failed won't run again, as it was acted on: who resumes the
    run would else wonder why it ends in the same way, whatever was repaired."""
    ended = {id(each) for each, _ in _sources(journal, error, journal.unhandled)}
    others = [source for source in _sources(journal, error) if id(source[0]) not in ended]
    stays = [(each, notes) for each, notes in others if _is_acted_on(notes, journal.unhandled)]
    places = {note.place for note in _calls(stays)}
    for each, notes in stays:
        if any(places.isdisjoint(note.around) for note in notes):  # else a call around it stays, and is told
            _add_note(
                error,
                f"{type(each).__name__} was handled by calling a task, and stays part of the run: what raised it "
                "doesn't run again. To have it run again, raise your own error `from` it",
            )


def _add_note(error: BaseException, text: str) -> None:
    with suppress(Exception):  # its class lets nobody change it
        if text not in getattr(error, "__notes__", ()):  # one that is raised by several runs
            error.add_note(text)


async def record_failed(frame: Frame, failure: Exception, host: Host) -> None:
    """Record what the error of an attempt came from, for the next attempt to run it again, whatever was done about it:
    the task is told to try anew."""
    journal = frame.run.journal
    if journal is None:
        return
    place = frame.run.namespace, frame.call.task
    under = [each for each in _calls(_sources(journal, failure)) if place in each.around]
    if under or frame.calls.failures:
        await journal.write(host, [*_rows(journal, under), *journal.riders()])


def ride_unseen(frame: Frame) -> None:
    """Say, with the next commit, which errors nobody had looked at when an attempt failed: calls that were made after
    them weren't made because of them."""
    journal = frame.run.journal
    if journal is None:
        return
    for call, error in frame.calls.failures:
        if call.future is not None and not call.future.seen:
            place = call.run.namespace, call.task
            for recorded in _notes(error, journal):
                if recorded.place == place:
                    journal.ride(place[0], recorded.checkpoint, [_row(journal, recorded)])


def _row(journal: Journal, recorded: Recorded) -> WriteRow:
    return one_row(recorded.place[1], FAILED, journal.serde.dumps(recorded.order))


def _rows(journal: Journal, calls: Iterable[Recorded]) -> list[Writes]:
    return [Writes(each.place[0], each.checkpoint, [_row(journal, each)]) for each in calls]


def _calls(sources: Iterable[Source]) -> Iterator[Recorded]:
    return chain.from_iterable(notes for _, notes in sources)


def _sources(
    journal: Journal,
    error: BaseException,
    unhandled: Set[Place] | None = None,
    *,
    but_for: BaseException | None = None,
) -> Iterator[Source]:
    """The errors of calls that it is, contains or came from, each with what is noted on it.

    With `unhandled` it came from no error of which two are true: it was handled when the other was raised, and not
    named; that one is a call's, which it isn't from; and it was acted on.
    """
    seen = {id(but_for)}
    waiting: list[_From] = [_From(error, None, is_beside=False)]
    while waiting:
        each, under, is_beside = waiting.pop()
        if id(each) in seen:
            continue
        notes = _notes(each, journal)
        if notes and unhandled is not None:
            is_given = under is not None and not any(under in note.around for note in notes)
            if is_beside + is_given + _is_acted_on(notes, unhandled) >= 2:
                continue
        seen.add(id(each))
        if notes:
            yield each, notes
        under = notes[-1].place if notes else under
        inner = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        found = [_From(each.__context__, under, is_beside=True)]
        found += [_From(other, under, is_beside) for other in (*reversed(inner), each.__cause__)]
        waiting += [one for one in found if one.error is not None]


def _is_acted_on(notes: Iterable[Recorded], unhandled: Set[Place]) -> bool:
    return unhandled.isdisjoint(note.place for note in notes)


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
