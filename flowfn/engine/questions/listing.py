"""The thread's list of the questions that wait, while its run goes on and asks more.

Rule: one list is written at a time, each with all that was asked by then; a question counts as listed once the list is
committed that has it. So no list replaces a longer one, and who leaves the run knows what is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn.engine.questions.waiting import left_waiting, pending_rows

if TYPE_CHECKING:
    from flowfn.engine.questions.waiting import Pending
    from flowfn.engine.records.journal import Journal
    from flowfn.engine.runs.run import Run
    from flowfn.ports import Host, Writes


async def list_what_waits(run: Run, journal: Journal, host: Host, *, whole: bool = False) -> None:
    """Write the list, unless whoever had the turn has written it meanwhile; `whole`, however little is new."""
    questions = run.root.questions
    await questions.listing.take(host)
    try:
        if questions.unlisted if whole else questions.list_is_due:
            pending = tuple(questions.pending)
            await journal.write(host, [await _waiting_now(run, journal, host, pending)])
            for question in pending:
                questions.unlisted.pop(id(question), None)
    finally:
        questions.listing.give_back()


async def _waiting_now(run: Run, journal: Journal, host: Host, pending: tuple[Pending, ...]) -> Writes:
    while run.parent is not None:
        run = run.parent
    loaded = await journal.load(host, run.namespace, run.checkpoint.id)
    if loaded is None:
        return pending_rows(journal, run.checkpoint.id, pending)
    return left_waiting(journal, loaded, run.root.questions.refused, pending)
