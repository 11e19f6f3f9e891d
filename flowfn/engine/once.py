"""A value that is made once and recorded: the time, an id, a random number."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flowfn.engine.drive import drive
from flowfn.engine.matching import Same, judge
from flowfn.engine.record import RETURN, CallInfo
from flowfn.identity.digest import Digest

if TYPE_CHECKING:
    from flowfn.engine.frame import Frame

_NOTHING = Digest(b"\0" * 16, None, (), "")
"""The digest of a call without arguments."""


def once(frame: Frame, name: str, make: Callable[[], Any]) -> Any:
    """The recorded value of the frame's next call of `name`, made and committed where there is none.

    Commits in place, on an event loop too: the caller is no coroutine, and sees the value next. Where the saver can't,
    the value is recorded before the next call begins.
    """
    run, journal = frame.run, frame.run.journal
    if journal is None:
        return make()
    frame.check()
    task, occurrence, branch = frame.identity(name, _NOTHING.exact, own=True)
    code = frame.call.definition.code
    verdict = judge(run.ledger, task, frame.scope, code, name, _NOTHING, occurrence, "rerun")
    if isinstance(verdict, Same) and verdict.record.claim() and verdict.record.finished:
        return verdict.record.value()
    value = make()
    short = name.rpartition(".")[2]
    at = run.host.now()
    info = CallInfo(
        short, name, frame.scope, None, [], False, occurrence, journal.order, at, "", "", "", code, occurrence,
        None, branch,
    )  # fmt: skip
    note = journal.note(run.namespace, run.checkpoint.id, task, info)
    if frame.call.definition.is_async and journal.commits_elsewhere:
        journal.owe(note, RETURN, value, f"{name}()")
        return value
    drive(journal.record(run.hosts.threads, note, RETURN, value, f"{name}()"))
    return value
