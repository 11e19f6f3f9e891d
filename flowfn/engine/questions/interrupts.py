"""Questions to humans: asked by `interrupt()`, answered by id, key or order, never asked twice.

A question is a call whose outcome is its answer: it has an identity in its scope, made from its
`key=`, else from its payload. An answer goes to the question of the same identity, or to one that
differs only in the clock; where neither fits, the question is asked again, and the log says so of one that was
answered, and differs in what looks random alone: it would be asked for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from flowfn.definition import OnDivergence
from flowfn.engine.calls.identifying import identity_apart, next_identity
from flowfn.engine.questions.answers import DEADLINE, answer_rows, expired, unfit, validated
from flowfn.engine.questions.listing import list_what_waits
from flowfn.engine.questions.offers import Offer
from flowfn.engine.questions.waiting import Pending, encode_questions
from flowfn.engine.records.record import CallInfo, Record, one_row
from flowfn.engine.replay.matching import Ambiguous, Same, Sought, judge
from flowfn.errors import InvalidAnswer, Suspended
from flowfn.identity.digest import Digest, digest, render
from flowfn.instance_ids import instance_id
from flowfn.kinds import spelled
from flowfn.logs import logger
from flowfn.rendering import quoted
from flowfn.row_channels import ANSWER, QUESTION
from flowfn.values import MISSING, Interrupt

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.engine.records.notes import Note
    from flowfn.engine.records.unclaimed import Unclaimed
    from flowfn.ports import Host

NAME = "interrupt"

Refusal = Callable[[ValueError], Exception]
"""Makes of what is wrong with an answer the error to raise."""


Deadline = tuple[float, Any]
"""Seconds that a question waits from when it was first asked, and what is answered then."""


class Asked:
    """A question of the running attempt; `known` if it was recorded before; `rejected` its unfit answer."""

    __slots__ = ("known", "note", "pending", "rejected")

    def __init__(self, pending: Pending, note: Note | None, known: bool, rejected: bool = False) -> None:
        self.pending = pending
        self.note = note
        self.known = known
        self.rejected = rejected


@dataclass(frozen=True, slots=True)
class Question:
    """What code asks: a `value` that is shown, named by `key`, whose answer is validated as `kind`, asked at `site`.

    `name` says what kind of question it is, `id` what to show it under, `schema` what to show of its answer. An
    answer that is no `kind` is asked for again, or, with `refuse`, raised to the code that asks, as the error that
    `refuse` makes of it. After the `deadline` its default is the answer.
    """

    value: Any
    key: str | None
    kind: Any
    site: str
    id: str | None = None
    schema: Any = None
    refuse: Refusal | None = None
    deadline: Deadline | None = None
    name: str = NAME


def ask(frame: Frame, question: Question) -> Any:
    """The answer to a question, or `Suspended` where there is none yet."""
    frame.check()
    return _ask(frame, question)


def ask_together(frame: Frame, questions: Iterable[Question]) -> None:
    """Return once all have their answers; until then `Suspended`, with those that wait.

    Of questions with one `id` the first that has no answer waits alone, so that an answer by id has one to go to.
    """
    frame.check()
    waiting: dict[str, Interrupt] = {}
    for question in questions:
        if question.id not in waiting:
            try:
                _ask(frame, question)
            except Suspended as signal:
                waiting.update((interrupt.id, interrupt) for interrupt in signal.args[0])
    if waiting:
        raise Suspended(tuple(waiting.values()))


def _ask(frame: Frame, question: Question) -> Any:
    run = frame.run
    if run.journal is None:
        if run.frame is not None:
            return _ask_around(frame, run.frame, question)
        shown = Interrupt(question.value, question.id or _unstored_id(frame), question.key, question.schema)
        _wait_for(frame, Asked(Pending(shown, "", "", ""), None, True))
    info, task, record = _identify(frame, question)
    if record is not None and _answered(record):
        answer, problem = validated(record.value(), None if record.answered_by == DEADLINE else question.kind)
        if problem is None:
            run.root.reused.count()
            return answer
        again = _asked(frame, question, task, info, record, rejected=True)
        if question.refuse is not None:
            frame.calls.questions.append(again)
            run.root.questions.refused.add(again.pending.interrupt.id)
            raise question.refuse(problem)
        run.root.questions.rejected = unfit(question.value, problem)
        _wait_for(frame, _spelling(again, question.kind))
    if run.root.questions.offered and (offered := _offered_to(frame, task)) is not None:
        return _take_offered(frame, offered, task, info, question.kind)
    asked = _asked(frame, question, task, info, record)
    if asked.known and question.deadline is not None and expired(asked.pending.interrupt, run.host.now()):
        return _take(frame, task, info, question.deadline[1], DEADLINE)
    _wait_for(frame, asked if question.refuse is not None else _spelling(asked, question.kind))


def _offered_to(frame: Frame, task: str) -> Offer | None:
    """What the caller brought along, if it is for this question; of several that are asked at once, one gets it."""
    offers, nodes = frame.run.root.questions.offered, tuple(node for _, node in _places(frame))
    for offer in tuple(offers):
        if offer.is_for(nodes, task):
            with suppress(ValueError):  # another thread has taken it
                offers.remove(offer)
                return offer
    return None


def _take_offered(frame: Frame, offered: Offer, task: str, info: CallInfo, kind: Any) -> Any:
    """The answer that the caller of a run that went back brought along; recorded with the next commit.

    Raises:
        InvalidAnswer: it doesn't fit.
    """
    answer, problem = validated(offered.value, kind)
    if problem is not None:
        frame.run.root.questions.offered.append(offered)
        raise InvalidAnswer(f"the answer {quoted(offered.value)} does not fit: {problem}")
    return _take(frame, task, info, answer, offered.by)


def _take(frame: Frame, task: str, info: CallInfo, answer: Any, by: str | None) -> Any:
    """Go on with an answer that nobody committed before; it rides on the next commit."""
    run, journal = frame.run, frame.run.journal
    assert journal is not None
    note = journal.note(run.namespace, run.checkpoint.id, task, info)
    data = journal.encode(answer, "an answer")
    run.ledger.note(None, data)
    rows = answer_rows(journal, task, data, by, run.host.now())
    journal.ride(note.namespace, note.checkpoint, rows)
    return answer


def _ask_around(frame: Frame, around: Frame, question: Question) -> Any:
    """Ask in the name of the attempt that an unrecorded run is part of: what has a record can be answered.

    That attempt may have been told of a question by another part of the run, which mustn't hide this one.
    """
    try:
        return _ask(around, question)
    except Suspended as signal:
        asking: Frame | None = frame
        while asking is not None and asking is not around:
            asking.call.questions.extend(*signal.args)
            asking = asking.call.parent or asking.run.frame
        frame.suspended = True
        frame.tell()
        raise


def _places(frame: Frame | None) -> tuple[tuple[str, str], ...]:
    """The nodes that a frame is under, from the root inwards."""
    found: list[tuple[str, str]] = []
    while frame is not None:
        while frame.call.parent is not None:
            frame = frame.call.parent
        found.insert(0, (frame.run.namespace, frame.call.task))
        frame = frame.run.frame
    return tuple(found)


def _wait_for(frame: Frame, asked: Asked) -> None:
    frame.calls.questions.append(asked)
    frame.run.root.questions.ask(asked.pending)
    around: Frame | None = frame
    while around is not None:
        around.call.questions.append(asked.pending.interrupt)
        around = around.call.parent or around.run.frame
    frame.suspended = True
    frame.tell()
    raise Suspended((asked.pending.interrupt,))


def _identify(frame: Frame, question: Question) -> tuple[CallInfo, str, Record | None]:
    run, name, key = frame.run, question.name, question.key
    assert run.journal is not None
    payload = {"value": question.value} if key is None else {"key": key}
    digested = digest(payload, run.root.window)
    task, occurrence, branch = next_identity(frame, name, digested.exact)
    code, position = frame.call.definition.code, frame.calls.position(name)

    is_told = key is not None or run.settings.positional
    seeker = _Seeker(frame, digested, None if is_told else branch)
    equal = run.ledger.records.get(task)
    if equal is not None and seeker.is_others(equal):
        task, occurrence = identity_apart(frame, name, digested.exact, branch)
    info = CallInfo(
        name, name, frame.scope, digested.skeleton, [*map(list, digested.leaves)], bool(digested.weak),
        occurrence, run.journal.order, run.host.now(), question.site, render(payload), "", code, position,
        digested.form, branch,
    )  # fmt: skip
    sought = Sought(task, frame.scope, code, name, digested, occurrence, position)
    policy: OnDivergence = "reuse" if run.settings.positional and key is None else "doubt"
    while isinstance(verdict := judge(run.ledger, sought, policy, seeker), Same):
        if verdict.record.claim():
            frame.goes_on_with(verdict.record, branch)
            return info, verdict.record.task, verdict.record
    if isinstance(verdict, Ambiguous):
        _log_asked_anew(info, verdict.record)
    return info, task, None


def _log_asked_anew(question: CallInfo, answered: Record) -> None:
    logger.warning(
        "%s: %s is asked again, as %s was answered, and differs in what looks random alone: make that with "
        "flowfn.uuid4(), or name the question: interrupt(…, key=…)",
        question.site,
        question,
        answered.info,
    )


class _Seeker:
    """A question of a frame's code, as it looks for its record; `branch` is None where branches tell none apart."""

    def __init__(self, frame: Frame, digest: Digest, branch: int | None) -> None:
        self._frame = frame
        self._digest = digest
        self._branch = branch

    def claimant(self) -> None:
        """Nobody's name is shared: it is the question's own."""

    def is_others(self, record: Record) -> bool:
        frame, branch = self._frame, self._branch
        return branch is not None and frame.keeps(record, branch) and frame.tells(record, branch)

    def possible(self, similar: Unclaimed) -> Iterator[Record]:
        return self._frame.run.ledger.similar.possible(similar, self._digest, self._frame)

    def by_the_clock(self, similar: Unclaimed) -> Iterator[Record]:
        return self._frame.run.ledger.similar.by_the_clock(similar, self._digest, self._frame)


def _answered(record: Record) -> bool:
    return record.outcome is not None and record.value() is not MISSING


def _asked(
    frame: Frame,
    question: Question,
    task: str,
    info: CallInfo,
    record: Record | None,
    *,
    rejected: bool = False,
) -> Asked:
    run, deadline = frame.run, question.deadline
    assert run.journal is not None
    note = run.journal.note(run.namespace, run.checkpoint.id, task, info)
    shown = question.id or instance_id(run.thread, run.namespace, run.checkpoint.id, task)
    known = record is not None and record.question is not None
    asked_at = record.info.at if record is not None and record.info is not None else info.at
    until = None if deadline is None else datetime.fromtimestamp(asked_at + deadline[0], UTC)
    interrupt = Interrupt(question.value, shown, question.key, question.schema, until)
    pending = Pending(interrupt, run.namespace, run.checkpoint.id, task, _places(frame))
    return Asked(pending, note, known, rejected)


def _spelling(asked: Asked, kind: Any) -> Asked:
    """The question with what its answer must be: a JSON schema for a form, and the type for the check."""
    if kind is not None:
        from flowfn.validation import json_schema

        pending = asked.pending
        shown = replace(pending.interrupt, response_schema=json_schema(kind))
        asked.pending = pending._replace(interrupt=shown, kind=spelled(kind))
    return asked


def _unstored_id(frame: Frame) -> str:
    return instance_id("", "", frame.run.host.new_id(), "")


async def record_questions(frame: Frame, host: Host) -> None:
    """Commit the questions that an attempt ended on."""
    journal = frame.run.journal
    if journal is None:
        return
    for asked in frame.calls.questions:
        assert asked.note is not None
        if asked.rejected:
            await journal.record(host, asked.note, ANSWER, journal.serde.dumps(MISSING))
        if not asked.known:
            interrupt = asked.pending.interrupt
            data = encode_questions(journal, interrupt, [interrupt])
            await journal.append(host, asked.note, one_row(asked.pending.task, QUESTION, data))
    if frame.calls.questions and _is_to_be_listed(frame):
        await list_what_waits(frame.run, journal, host)
    if frame.calls.questions and journal.durability == "async":
        await journal.catch_up(host)  # whoever is told of a question may answer at once


def _is_to_be_listed(frame: Frame) -> bool:
    """Whether to say at once that the thread waits for what this attempt asked: whoever reads the stream is shown it
    before the run stops, and may leave it meanwhile, or the process die, and the answer come.

    Each list has all, so of many questions it is written only when a thirty-second part of it is new; who leaves the
    run writes the rest.
    """
    return frame.run.root.questions.list_is_due and (frame.run.post is not None or _goes_on_beside(frame))


def _goes_on_beside(frame: Frame) -> bool:
    """Whether the run doesn't stop at once when this attempt does: other calls are under way, or a run is around it."""
    while frame.call.parent is not None:
        if len(frame.call.parent.calls.open) > 1:
            return True
        frame = frame.call.parent
    return len(frame.run.tasks) > 1 or frame.run.frame is not None
