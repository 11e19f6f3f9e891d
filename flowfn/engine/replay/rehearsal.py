"""A run replayed dry: its code is called on what is recorded, and nothing is executed.

Rule: what has a record is handed back as ever. A task that would run is noted instead, and stops the code that
waits for it as a question would; so does a node of a graph, a workflow that has no record yet, a run on another thread
and a wait. What the code does by itself, outside tasks, it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn.engine.replay.causes import cause_of_orphan
from flowfn.engine.replay.reporting import report_newcomers
from flowfn.engine.runs.entering import enter_recorded
from flowfn.engine.runs.superstep import go_on
from flowfn.errors import Suspended

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.engine.calls.frame import Frame
    from flowfn.engine.records.record import CallInfo
    from flowfn.engine.runs.run import Run


ANSWER_LACKS = "it waits for an answer"


class Rehearsal:
    """What a dry replay met: the calls that it `stopped` at, and the recorded ones that were `left` by then.

    `waits` says in words for what else it stopped; `lost`, that the run had something left to do, which the program
    has no more, such as a node.
    """

    def __init__(self) -> None:
        self.stopped: list[Call] = []
        self.waits: list[str] = []
        self.lost = False
        self.left: list[CallInfo] = []
        self.runs: list[Run] = []

    def admit(self, call: Call) -> None:
        """Let the code of workflows that have a record be called, and nothing else.

        Raises:
            Suspended: it isn't executed.
        """
        if call.definition.is_workflow and (call.node is not None or call.task in call.run.ledger.records):
            return
        if _waits(call):
            self.waits.append(ANSWER_LACKS)
        else:
            self.stopped.append(call)
        if call.parent is not None:
            call.parent.suspended = True
        raise Suspended

    def stop(self, frame: Frame, why: str) -> None:
        """Stop the code of an attempt where it would wait, or reach outside of its run.

        Raises:
            Suspended: always.
        """
        self.waits.append(why)
        frame.suspended = True
        frame.tell()
        raise Suspended


def _waits(call: Call) -> bool:
    """Whether a call was made before, and waits for answers that nobody has given."""
    place = (call.run.namespace, call.task)
    waiting = [question for question in call.run.root.questions.before if not question.answered]
    if call.node is not None:
        return any(place in question.under for question in waiting)
    return call.waited and bool(waiting)


async def rehearse(run: Run) -> Rehearsal:
    """Replay a root run that is recorded; its report says what differs as far as the replay came.

    Raises:
        NonDeterminismError: the run would be refused.
        Exception: the code's own.
    """
    rehearsal = run.root.rehearsal = Rehearsal()
    rehearsal.runs.append(run)
    await enter_recorded(run)
    step = run.step
    try:
        await go_on(run)
        rehearsal.lost = run.step == step
    except Suspended:
        if run.root.questions.pending:
            rehearsal.waits.append(ANSWER_LACKS)
        for each in rehearsal.runs:
            _note_left(each, rehearsal)
    return rehearsal


def _note_left(run: Run, rehearsal: Rehearsal) -> None:
    """Note which recorded calls were left where the code came by that would have asked for them, and say why."""
    left = report_newcomers(run, [info for info in run.ledger.orphans() if info.scope in run.callers])
    for info in left:
        cause_of_orphan(run, info, run.callers[info.scope])
    rehearsal.left += left
