"""The questions that a thread waits on, as its rows keep them.

Rule: each is in the list that the run left when it stopped last, answered or not, with the place that its answer goes
to; a newer list replaces the last one.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.engine.records.record import one_row
from flowfn.errors import SerializationError
from flowfn.instance_ids import instance_id, task_uuid
from flowfn.ports import Loaded, Place, WriteRow, Writes
from flowfn.rendering import render_value
from flowfn.row_channels import QUESTION, RUN_TASK
from flowfn.values import Interrupt

if TYPE_CHECKING:
    from flowfn.engine.records.journal import Journal


class Pending(NamedTuple):
    """A question that waits, and where its answer goes.

    `under` lists, from the root inwards, the namespace and the task of each node that it was asked in.
    `answered`: it waits no more. `kind` spells the type of its answer, if it has one; see `kinds`.
    """

    interrupt: Interrupt
    namespace: str
    checkpoint: str
    task: str
    under: tuple[tuple[str, str], ...] = ()
    answered: bool = False
    kind: Any = None

    def holds_up(self, namespace: str, checkpoint: str, scope: str) -> bool:
        """Whether a task of that checkpoint waits for it: one that asked it of an earlier state of its own doesn't."""
        asked_here = self.namespace == namespace
        return (namespace, scope) in self.under and not (asked_here and self.checkpoint != checkpoint)

    def was_asked_at(self, thread: str, namespace: str, checkpoint: str | None) -> bool:
        """Whether it was asked in a run that stood there, or nested in that; None stands for any checkpoint.

        Of what is asked in a run that remembers, inside another one, that isn't known: it leaves that itself.
        """
        task = dict(self.under).get(namespace)
        if task is None or checkpoint is None:
            return task is not None
        if self.namespace == namespace:
            return self.checkpoint == checkpoint
        return task_uuid(thread, namespace, checkpoint, task) in self.namespace

    @property
    def itself(self) -> Hashable:
        """What tells it from others of its run: code may give the questions of several nodes one id."""
        return self.under, self.task, self.interrupt.id

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes that it was asked in, from the root inwards, by what they are called in any run of the program."""
        return tuple(node for _, node in self.under)

    def on(self, old: str, new: str, spots: Mapping[Place, Place]) -> Pending:
        """The same question of a thread's copy, whose id tells it from this one, unless the asking code gave it one.

        `spots` says where in the copy the checkpoints of the runs around it are.
        """
        namespace, checkpoint = spots[self.namespace, self.checkpoint]
        namespaces = {was: now for (was, _), (now, _) in spots.items()}
        under = tuple((namespaces[around], task) for around, task in self.under)
        interrupt = self.interrupt
        if interrupt.id == instance_id(old, self.namespace, self.checkpoint, self.task):
            interrupt = replace(interrupt, id=instance_id(new, namespace, checkpoint, self.task))
        return self._replace(interrupt=interrupt, namespace=namespace, checkpoint=checkpoint, under=under)


def pending_rows(journal: Journal, checkpoint: str, pending: Sequence[Pending]) -> Writes:
    """The list of waiting questions, as a row that replaces the last one."""
    data = encode_questions(
        journal, [tuple(question) for question in pending], [each.interrupt for each in pending]
    )
    return Writes("", checkpoint, [one_row(RUN_TASK, QUESTION, data)])


def encode_questions(journal: Journal, kept: Any, asked: Sequence[Interrupt]) -> bytes:
    """The bytes of what holds questions.

    Raises:
        SerializationError: one can't be stored; says which one, and where inside what was asked the trouble lies.
    """
    try:
        return journal.serde.dumps(kept)
    except SerializationError:
        for interrupt in asked:
            journal.encode(interrupt.value, f"the question {render_value(interrupt.value)} of interrupt()")
        return journal.encode(kept, "interrupt()")  # what holds them may be too deep by itself


def read_pending(serde: Any, rows: Sequence[WriteRow]) -> list[Pending]:
    """The questions that wait, in the order in which they were asked."""
    return [question for question in read_asked(serde, rows) if not question.answered]


def read_asked(serde: Any, rows: Sequence[WriteRow]) -> list[Pending]:
    """The questions that the run stopped for last, answered or not."""
    return [_read(question) for question in _stopped_for(serde, rows) or ()]


def stopped_at_breakpoint(serde: Any, rows: Sequence[WriteRow]) -> bool:
    """Whether the run stopped last without a question."""
    return _stopped_for(serde, rows) == []


def _stopped_for(serde: Any, rows: Sequence[WriteRow]) -> list[Any] | None:
    for row in reversed(rows):
        if row.channel == QUESTION and row.task == RUN_TASK:
            return list(serde.loads(row.value))
    return None


def asked_ids(serde: Any, rows: Sequence[WriteRow]) -> set[str]:
    """The ids of the questions among a checkpoint's writes, be it that the run has stopped for them yet or not."""
    found = {question.interrupt.id for question in read_asked(serde, rows)}
    of_calls = [serde.loads(row.value) for row in rows if row.channel == QUESTION and row.task != RUN_TASK]
    found.update(each.id for each in of_calls if isinstance(each, Interrupt))  # else LangGraph's names put it
    return found


def _read(question: Sequence[Any]) -> Pending:
    interrupt, space, checkpoint, asked, under, *more = question
    places = tuple((namespace, task) for namespace, task in under)
    return Pending(interrupt, space, checkpoint, asked, places, *more)


def left_waiting(
    journal: Journal, loaded: Loaded, refused: Collection[str], pending: Sequence[Pending]
) -> Writes:
    """The list of questions that a failed run leaves: `refused` answers are asked for again, and `pending` is new."""
    new = {question.itself for question in pending}
    asked = [q for q in read_asked(journal.serde, loaded.writes) if q.itself not in new]
    now = [q._replace(answered=q.answered and q.interrupt.id not in refused) for q in asked]
    return pending_rows(journal, loaded.checkpoint.id, [*now, *pending])
