"""Answers that a run brings along to what it will ask: where the question that somebody answered will be asked anew.

Rule: an answer goes to the question that it was given to, and to no other; what its code was told before comes along.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowfn.described import metadata_of
from flowfn.engine.records.ledger import Ledger
from flowfn.row_channels import ANSWER

if TYPE_CHECKING:
    from flowfn.engine.questions.answers import Answered
    from flowfn.engine.questions.waiting import Pending
    from flowfn.engine.records.journal import Journal
    from flowfn.engine.records.record import Record
    from flowfn.ports import Host


@dataclass(frozen=True, eq=False, slots=True)
class Offer:
    """An answer that a run brings along to what it will ask; `by` whom it was given.

    It is for whichever question is asked first: if `nodes` is given, which lists the nodes around a question from the
    root inwards, there; and if `task` is, as that.
    """

    value: Any
    by: str | None
    nodes: tuple[str, ...] | None = None
    task: str | None = None

    def is_for(self, nodes: tuple[str, ...], task: str) -> bool:
        """Whether it answers what is asked there, as `task`."""
        return self.nodes in (None, nodes) and self.task in (None, task)


async def is_asked_anew(journal: Journal, host: Host, question: Pending) -> bool:
    """Whether a nested run that it was asked in, or one between it and the root, doesn't stand where it did."""
    asking = await journal.load(host, question.namespace, question.checkpoint) if question.namespace else None
    if asking is None:
        return False
    parents = metadata_of(asking.checkpoint, journal.serde).get("parents") or {}
    stood = {**parents, question.namespace: question.checkpoint}
    for namespace, _ in question.under[1:]:
        head = await journal.load(host, namespace, None)
        if head is None or head.checkpoint.id != stood.get(namespace):
            return True
    return False


async def asked_anew(
    journal: Journal, host: Host, answers: Sequence[Answered], asked: Sequence[Pending], by: str | None
) -> list[Offer]:
    """Answers to questions that will be asked anew, with those that the code which asked them was given before.

    Each is for the same question in the same words; only what was its nodes' first and only one may have other words
    by now.
    """
    named = {(question.namespace, question.task) for question, _ in answers}
    anew = []
    for question, value in answers:
        loaded = await journal.load(host, question.namespace, question.checkpoint)
        records = Ledger(() if loaded is None else loaded.writes, journal).records
        beside = _answered_beside(records, question.task)
        before = [one for one in beside if (question.namespace, one.task) not in named]
        alone = not before and sum(other.nodes == question.nodes for other in asked) == 1
        anew += [Offer(one.value(), one.answered_by, question.nodes, one.task) for one in before]
        anew.append(Offer(value, by, question.nodes, None if alone else question.task))
    return anew


def _answered_beside(records: Mapping[str, Record], task: str) -> Iterator[Record]:
    """The answered questions of the code that asked one."""
    own = records.get(task)
    if own is None or own.info is None:
        return
    for one in records.values():
        if one.info is not None and one.info.scope == own.info.scope and _is_answered(one):
            yield one


def _is_answered(record: Record) -> bool:
    return record.outcome is not None and record.outcome.channel == ANSWER
