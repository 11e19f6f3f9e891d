"""The thread's list of the questions that wait, while its run goes on and asks more.

Rule: one list is written at a time, each with all that was asked by then; a question counts as listed once the list is
committed that has it. So no list replaces a longer one, and who leaves the run knows what is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn.engine.questions.answers import left_waiting, pending_rows

if TYPE_CHECKING:
    from flowfn.engine.questions.answers import Pending
    from flowfn.engine.records.journal import Journal
    from flowfn.engine.runs.root import Root
    from flowfn.engine.runs.run import Run
    from flowfn.ports import Host, Writes

_LEAST_PART = 32
"""With each list as long as this many times what is new in it, a thousand questions cost some 150 lists."""


def is_due(root: Root) -> bool:
    """Whether so much is new that it is worth a list, which has all."""
    unlisted = len(root.unlisted)
    return unlisted > 0 and unlisted * _LEAST_PART >= len(root.pending) - unlisted


async def list_what_waits(run: Run, journal: Journal, host: Host, *, whole: bool = False) -> None:
    """Write the list, unless whoever had the turn has written it meanwhile; `whole`, however little is new."""
    root = run.root
    await root.listing.take(host)
    try:
        if root.unlisted if whole else is_due(root):
            pending = tuple(root.pending)
            await journal.write(host, [await _waiting_now(run, journal, host, pending)])
            for question in pending:
                root.unlisted.pop(id(question), None)
    finally:
        root.listing.give_back()


async def _waiting_now(run: Run, journal: Journal, host: Host, pending: tuple[Pending, ...]) -> Writes:
    while run.parent is not None:
        run = run.parent
    loaded = await journal.load(host, run.namespace, run.checkpoint.id)
    if loaded is None:
        return pending_rows(journal, run.checkpoint.id, pending)
    return left_waiting(journal, loaded, run.root.refused, pending)
