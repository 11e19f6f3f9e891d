"""Questions to humans: asked by `interrupt()`, answered by id, key or order, never asked twice.

A question is a call whose outcome is its answer: it has an identity in its scope, made from its
`key=`, else from its payload. An answer goes to the question of the same identity, or to one that
differs only in the clock; where neither fits, the question is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.definition import OnDivergence
from flowfn.digest import digest, render
from flowfn.engine.identity import (
    ANSWER,
    QUESTION,
    RUN_TASK,
    CallInfo,
    Record,
    Same,
    call_id,
    instance_id,
    judge,
)
from flowfn.errors import AmbiguousAnswer, InvalidAnswer, NoPendingInterrupt, Suspended
from flowfn.ports import Loaded, WriteRow, Writes
from flowfn.values import MISSING, Answers, Interrupt

if TYPE_CHECKING:
    from flowfn.engine.frame import Frame
    from flowfn.engine.journal import Journal, Note
    from flowfn.ports import Host

NAME = "interrupt"

Refusal = Callable[[ValueError], Exception]
"""Makes of what is wrong with an answer the error to raise."""


class Pending(NamedTuple):
    """A question that waits, and where its answer goes.

    `under` lists, from the root inwards, the namespace and the task of each node that it was asked in.
    `answered`: it waits no more.
    """

    interrupt: Interrupt
    namespace: str
    checkpoint: str
    task: str
    under: tuple[tuple[str, str], ...] = ()
    answered: bool = False


class Asked:
    """A question of the running attempt; `known` if it was recorded before; `rejected` its unfit answer."""

    __slots__ = ("known", "note", "pending", "rejected")

    def __init__(self, pending: Pending, note: Note | None, known: bool, rejected: bool = False) -> None:
        self.pending = pending
        self.note = note
        self.known = known
        self.rejected = rejected


def ask(
    frame: Frame,
    value: Any,
    key: str | None,
    kind: Any,
    site: str,
    id: str | None = None,
    schema: Any = None,
    refuse: Refusal | None = None,
) -> Any:
    """The answer to a question, or `Suspended` where there is none yet.

    `id` is what to show it under, `schema` what to show of its answer. An answer that is no `kind` is asked for
    again, or, with `refuse`, raised to the code that asks, as the error that `refuse` makes of it.
    """
    frame.check()
    if frame.run.journal is None:
        if frame.run.frame is not None:
            return _ask_around(frame, frame.run.frame, value, key, kind, site, id, schema, refuse)
        shown = Interrupt(value, id or _unstored_id(frame), key, schema)
        _wait_for(frame, Asked(Pending(shown, "", "", ""), None, True))
    info, task, record = _identify(frame, value, key, site)
    if record is not None and _answered(record):
        answer, problem = _validated(record.value(), kind)
        if problem is None:
            frame.run.reused.add()
            return answer
        if refuse is not None:
            unfit = _asked(frame, value, key, task, info, id, schema, known=True, rejected=True)
            frame.questions.append(unfit)
            frame.run.root.refused.add(unfit.pending.interrupt.id)
            raise refuse(problem)
        frame.run.root.rejected = InvalidAnswer(f"the answer to {value!r} does not fit: {problem}")
        _wait_for(frame, _asked(frame, value, key, task, info, id, schema, known=True, rejected=True))
    if frame.run.root.offered is not MISSING:
        return _take_offered(frame, task, info, kind)
    known = record is not None and record.question is not None
    _wait_for(frame, _asked(frame, value, key, task, info, id, schema, known=known))


def _take_offered(frame: Frame, task: str, info: CallInfo, kind: Any) -> Any:
    """The answer that the caller of a run that went back brought along; recorded with the next commit.

    Raises:
        InvalidAnswer: it doesn't fit.
    """
    run, journal = frame.run, frame.run.journal
    assert journal is not None
    answer, problem = _validated(run.root.offered, kind)
    if problem is not None:
        raise InvalidAnswer(f"the answer {run.root.offered!r} does not fit: {problem}")
    run.root.offered = MISSING
    note = journal.note(run.namespace, run.checkpoint.id, task, info)
    row = WriteRow(task, journal.next_order(), ANSWER, journal.encode(answer, "an answer"))
    journal.ride(note.namespace, note.checkpoint, [row])
    return answer


def _ask_around(frame: Frame, around: Frame, value: Any, *asked: Any) -> Any:
    """Ask in the name of the attempt that an unrecorded run is part of: what has a record can be answered."""
    try:
        return ask(around, value, *asked)
    except Suspended:
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
    frame.questions.append(asked)
    frame.run.root.pending.append(asked.pending)
    around: Frame | None = frame
    while around is not None:
        around.call.questions.append(asked.pending.interrupt)
        around = around.call.parent or around.run.frame
    frame.suspended = True
    frame.tell()
    raise Suspended((asked.pending.interrupt,))


def _identify(frame: Frame, value: Any, key: str | None, site: str) -> tuple[CallInfo, str, Record | None]:
    run = frame.run
    assert run.journal is not None
    payload = {"value": value} if key is None else {"key": key}
    digested = digest(payload, since=run.since, now=run.host.now)
    occurrence = frame.occurrence(NAME, digested.exact)
    task = call_id(frame.scope, NAME, digested.exact, occurrence)
    code, position = frame.call.definition.code, frame.position(NAME)
    info = CallInfo(
        NAME, NAME, frame.scope, digested.skeleton, [list(leaf) for leaf in digested.leaves], digested.weak,
        occurrence, run.journal.order, run.host.now(), site, render(payload), "", code, position, digested.form,
    )  # fmt: skip
    policy: OnDivergence = "reuse" if run.settings.positional and key is None else "rerun"
    verdict = judge(run.ledger, task, frame.scope, code, NAME, digested, position, policy)
    if not isinstance(verdict, Same):
        return info, task, None
    verdict.record.claimed = True
    return info, verdict.record.task, verdict.record


def _answered(record: Record) -> bool:
    return record.outcome is not None and record.value() is not MISSING


def _asked(
    frame: Frame,
    value: Any,
    key: str | None,
    task: str,
    info: CallInfo,
    id: str | None,
    schema: Any,
    *,
    known: bool,
    rejected: bool = False,
) -> Asked:
    run = frame.run
    assert run.journal is not None
    note = run.journal.note(run.namespace, run.checkpoint.id, task, info)
    shown = id or instance_id(run.thread, run.namespace, run.checkpoint.id, task)
    interrupt = Interrupt(value, shown, key, schema)
    pending = Pending(interrupt, run.namespace, run.checkpoint.id, task, _places(frame))
    return Asked(pending, note, known, rejected)


def _unstored_id(frame: Frame) -> str:
    return instance_id("", "", frame.run.host.new_id(), "")


def _validated(answer: Any, kind: Any) -> tuple[Any, ValueError | None]:
    """The answer as its type, or what is wrong with it."""
    if kind is None:
        return answer, None
    from flowfn.validation import validate

    try:
        return validate(answer, kind), None
    except ValueError as error:
        return None, error


async def record_questions(frame: Frame, host: Host) -> None:
    """Commit the questions that an attempt ended on."""
    journal = frame.run.journal
    if journal is None:
        return
    for asked in frame.questions:
        assert asked.note is not None
        if asked.rejected:
            await journal.record(host, asked.note, ANSWER, MISSING, "an answer")
        if not asked.known:
            interrupt = asked.pending.interrupt
            data = journal.encode(interrupt, f"the question {interrupt.value!r} of interrupt()")
            await journal.append(host, asked.note, WriteRow(asked.pending.task, -3, QUESTION, data))


# -- the thread's list of what waits --------------------------------------------------------------


def pending_rows(journal: Journal, checkpoint: str, pending: Sequence[Pending]) -> Writes:
    """The list of waiting questions, as a row that replaces the last one."""
    data = journal.encode([tuple(question) for question in pending], "interrupt()")
    return Writes("", checkpoint, [WriteRow(RUN_TASK, -3, QUESTION, data)])


def read_pending(serde: Any, rows: Sequence[WriteRow]) -> list[Pending]:
    """The questions that wait, in the order in which they were asked."""
    return [question for question in read_asked(serde, rows) if not question.answered]


def read_asked(serde: Any, rows: Sequence[WriteRow]) -> list[Pending]:
    """The questions that the run stopped for last, answered or not."""
    found: list[Pending] = []
    for row in rows:
        if row.task == RUN_TASK and row.channel == QUESTION:
            found = [_read(question) for question in serde.loads(row.value)]
    return found


def _read(question: Sequence[Any]) -> Pending:
    interrupt, space, checkpoint, asked, under, answered = question
    places = tuple((namespace, task) for namespace, task in under)
    return Pending(interrupt, space, checkpoint, asked, places, answered)


def reopened(journal: Journal, loaded: Loaded, refused: Collection[str]) -> Writes:
    """The list of questions, in which those whose answers were refused wait again."""
    asked = read_asked(journal.serde, loaded.writes)
    now = [q._replace(answered=q.answered and q.interrupt.id not in refused) for q in asked]
    return pending_rows(journal, loaded.checkpoint.id, now)


async def answer(
    journal: Journal, host: Host, checkpoint: str, asked: Sequence[Pending], resume: Any
) -> None:
    """Commit answers to those of the questions that wait.

    Raises:
        NoPendingInterrupt: nothing waits, or not under that id.
        AmbiguousAnswer: one plain answer to several questions.
    """
    answers = assign([question for question in asked if not question.answered], resume)
    writes = []
    for question, value in answers:
        data = journal.encode(value, f"the answer to {question.interrupt.value!r}")
        row = WriteRow(question.task, journal.next_order(), ANSWER, data)
        writes.append(Writes(question.namespace, question.checkpoint, [row]))
    done = {question.interrupt.id for question, _ in answers}
    now = [q._replace(answered=q.answered or q.interrupt.id in done) for q in asked]
    await journal.write(host, [*writes, pending_rows(journal, checkpoint, now)])


def assign(pending: Sequence[Pending], resume: Any) -> list[tuple[Pending, Any]]:
    """Which answer goes to which question: by id or key where a mapping names them, else to the only one."""
    if not pending:
        raise NoPendingInterrupt(
            f"nothing waits for the answer {resume!r}: the run asked no question, or it was answered; "
            "see get_state(config).interrupts"
        )
    by_name = {q.interrupt.id: q for q in pending} | {q.interrupt.key: q for q in pending if q.interrupt.key}
    if isinstance(resume, Answers) or (isinstance(resume, Mapping) and resume and _names(resume, by_name)):
        unknown = [name for name in resume if name not in by_name]
        if unknown:
            raise NoPendingInterrupt(
                f"no question waits under {unknown[0]!r}; those that do: {_listed(pending)}"
            )
        return [(by_name[name], value) for name, value in resume.items()]
    if len(pending) > 1:
        raise AmbiguousAnswer(
            f"{len(pending)} questions wait, and {resume!r} doesn't say which it answers: "
            f"pass Command(resume={{id: answer}}) with ids of {_listed(pending)}"
        )
    return [(pending[0], resume)]


def _names(resume: Mapping[Any, Any], by_name: Mapping[Any, Pending]) -> bool:
    """Whether a mapping addresses questions, rather than being an answer itself."""
    return any(name in by_name for name in resume) or all(_is_id(name) for name in resume)


def _is_id(name: Any) -> bool:
    return isinstance(name, str) and len(name) == 32 and set(name) <= set("0123456789abcdef")


def _listed(pending: Sequence[Pending]) -> str:
    return ", ".join(f"{q.interrupt.id!r}: {q.interrupt.value!r}" for q in pending)
