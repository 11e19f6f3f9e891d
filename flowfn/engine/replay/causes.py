"""Why a call may differ from its record: the code around it, its arguments, or the order of calls.

Rule: a cause is told with its evidence (the diff of the code, the path into the arguments and both values), and
nothing is decided by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.engine.replay.sources import edit
from flowfn.identity.code.functions import function_of
from flowfn.identity.code.unwrapping import attribute
from flowfn.identity.differences import changes
from flowfn.report import Change

if TYPE_CHECKING:
    from flowfn.definition import Definition
    from flowfn.engine.calls.call import Call
    from flowfn.engine.records.record import CallInfo
    from flowfn.engine.runs.run import Run


class Cause(NamedTuple):
    """In words, and the parts of the arguments that differ."""

    text: str
    changes: tuple[Change, ...] = ()


def cause_of(call: Call, recorded: CallInfo) -> Cause:
    """Why a call isn't the recorded one that stands beside it."""
    changed = _changed(call, recorded)
    return Cause("; ".join(_reasons(call, recorded, changed)), changed)


def _reasons(call: Call, recorded: CallInfo, changed: tuple[Change, ...]) -> Iterator[str]:
    assert call.parent is not None
    caller = call.parent.call.definition
    if recorded.scope_code != caller.code:
        note_edit(call.run, caller, recorded.scope_code)
        yield f"the code of {caller.name} changed"
    if changed:
        yield f"an argument changed: {', '.join(map(str, changed))}"
    elif recorded.arguments != call.info.arguments:
        yield "its arguments changed"
    if call.run.root.report.reordered:
        yield "calls came in another order"


def _changed(call: Call, recorded: CallInfo) -> tuple[Change, ...]:
    """Where the arguments differ; of long ones, which aren't kept, in which of the leaves that may be made anew."""
    found = changes(recorded.form, call.info.form)
    if found or recorded.skeleton is None or recorded.skeleton != call.info.skeleton:
        return found
    pairs = zip(recorded.leaves, call.info.leaves, strict=True)
    return tuple(Change(path, then, now) for (path, _, then), (_, _, now) in pairs if then != now)


def cause_of_orphan(run: Run, orphan: CallInfo, caller: Definition | None) -> Cause:
    """Why nobody asked for a recorded call."""
    if caller is None or orphan.scope_code == caller.code:
        return Cause("")
    now = _name_now(orphan, caller)
    if now is not None:
        return Cause(
            f"{orphan.name} was recorded as {orphan.qualified}, and is {now} now: start the program as before, "
            f"or write @task(name={orphan.qualified!r})"
        )
    note_edit(run, caller, orphan.scope_code)
    return Cause(f"the code of {caller.name} changed")


def _name_now(recorded: CallInfo, caller: Definition) -> str | None:
    """The full name of the task that a recorded call is of, where only its module has another name: a script may be
    started as one of a package, or by its path."""
    names: dict[str, Any] = getattr(function_of(caller.author_function), "__globals__", {})
    task: Definition | None = attribute(names.get(recorded.name), "_self_definition")
    is_it = task is not None and task.code == recorded.code and task.qualified != recorded.qualified
    return task.qualified if task is not None and is_it else None


def note_edit(run: Run, definition: Definition, recorded: str) -> None:
    """Report, once, that a function's code isn't what it was when a call was recorded."""
    report, journal = run.root.report, run.journal
    if journal is None or any((e.name, e.recorded) == (definition.name, recorded) for e in report.edits):
        return
    report.edits.append(edit(journal.saver, definition, recorded))
