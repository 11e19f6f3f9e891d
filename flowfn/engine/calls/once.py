"""A value that is made once and recorded: the time, an id, a random number.

Rule: it belongs to the place in the code that asked for it. What is inserted before that place, or taken away, moves no
value to another one.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from types import FrameType
from typing import TYPE_CHECKING, Any

from flowfn.engine.calls.identifying import equals_of, next_identity, told_to
from flowfn.engine.drive import drive
from flowfn.engine.records.record import CallInfo, Record
from flowfn.futures import CALLS_BACK
from flowfn.identity.code.lines import all_stand, leading_to
from flowfn.identity.differences import decoded
from flowfn.identity.digest import exact
from flowfn.row_channels import RETURN

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame


def once(frame: Frame, name: str, make: Callable[[], Any], caller: FrameType) -> Any:
    """The recorded value of the next call of `name` at this place, made and committed where there is none.

    Commits in place, on an event loop too: the caller is no coroutine, and sees the value next. Where the saver can't,
    the value is recorded before the next call begins.
    """
    run, journal = frame.run, frame.run.journal
    if journal is None:
        return make()
    frame.check()
    told = told_to(frame)
    outermost = CALLS_BACK if told else frame.call.definition.body
    lines = leading_to(caller, outermost, frame.branch_began())
    digested = exact({_LINES: lines, **told} if told else {_LINES: lines})
    earlier = _of_the_line_before_its_edit(frame, name, digested.exact, lines)
    if earlier is not None:
        frame.steps += 1  # else `next_identity` counts it
        return _again(frame, earlier)
    identity = next_identity(frame, name, digested.exact, own=not told)
    record = _recorded(frame, name, digested.exact, identity, lines) if run.ledger.records else None
    if record is not None and record.finished:
        return _again(frame, record)
    value = make()
    task, occurrence, branch = identity
    short = name.rpartition(".")[2]
    at = run.host.now()
    info = CallInfo(
        short, name, frame.scope, None, [], False, occurrence, journal.order, at, "", "", "",
        frame.call.definition.code, occurrence, digested.form, branch,
    )  # fmt: skip
    note = journal.note(run.namespace, run.checkpoint.id, task, info)
    if frame.call.definition.is_async and journal.commits_elsewhere:
        journal.owe(note, RETURN, value, f"{name}()")
        return value
    data = journal.encode(value, f"{name}()")
    drive(journal.record(run.hosts.threads, note, RETURN, data))
    return value


_LINES = "lines"


def _again(frame: Frame, record: Record) -> Any:
    """The value of a record."""
    value = record.value()
    if isinstance(value, datetime):
        frame.run.root.reads_again(value.timestamp())
    return value


def _recorded(
    frame: Frame, name: str, digest: bytes, identity: tuple[str, int, int], lines: list[bytes]
) -> Record | None:
    """The record of a call, claimed: its own, or else one whose lines were edited or have gone. Where an earlier one of
    its own lines is recorded it is one more of theirs, as of another item. `identity`: as `next_identity` has it."""
    ledger, (task, occurrence, branch) = frame.run.ledger, identity
    own = ledger.records.get(task)
    if own is not None and own.claim():
        return own
    moved = _moved(frame, name, branch, lines)
    if moved and ledger.has_before(frame.scope, name, digest, branch, occurrence):
        return None
    return next((each for each in moved if each.claim()), None)


def _of_the_line_before_its_edit(frame: Frame, name: str, digest: bytes, lines: list[bytes]) -> Record | None:
    """The record of a call, claimed, that a branch's line left before it was edited, though it has left others since:
    these are of its later calls, of other items."""
    if frame.numbers is None or not frame.run.ledger.records:
        return None  # they are told by their occurrence
    branch = frame.branch()
    later = equals_of(frame, name, digest).first_of(branch)
    if later is None or later.info is None:
        return None
    born = later.info.born
    moved = (each for each in _moved(frame, name, branch, lines) if each.info and each.info.born < born)
    return next((each for each in moved if each.finished and each.claim()), None)


def _moved(frame: Frame, name: str, branch: int, lines: list[bytes]) -> list[Record]:
    """Those of a branch that a call of it may be, the likeliest first; see `_likeliest`."""
    rivals = frame.run.ledger.rivals(frame.scope, name)
    own = [each for each in rivals if each.info and each.info.branch == branch]
    return _likeliest(own, lines, frame.call.definition.lines) if own else []


def _likeliest(rivals: list[Record], lines: list[bytes], reached: frozenset[bytes]) -> list[Record]:
    """The recorded calls that this one may be, the likeliest first.

    No other call will ask for them, as the code has no longer all lines that led there: those of the very same line,
    and then those whose own line isn't among those that are `reached` any more.
    """
    found = [(_lines_of(each), each) for each in rivals]
    gone = [(led, each) for led, each in found if not all_stand(led, reached)]
    same = [each for led, each in gone if led[:1] == lines[:1]]
    return same + [each for led, each in gone if not (led and led[0] in reached)]


def _lines_of(record: Record) -> list[bytes]:
    """The lines that led to a recorded call; one that no line ever had where they weren't kept."""
    form = None if record.info is None else record.info.form
    lines: list[bytes] = [b""] if form is None else decoded(form).get(_LINES, [b""])
    return lines
