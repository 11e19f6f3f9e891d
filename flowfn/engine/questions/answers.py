"""What becomes of the answers that somebody gives to the questions that a thread waits on.

Rule: an answer is committed before the run goes on, and before that it is checked: that it has a question, that
the question still takes it, and, as far as that can be told here, that it fits. One that doesn't leaves no trace.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from flowfn.engine.questions.offers import Offer, asked_anew, is_asked_anew
from flowfn.engine.questions.waiting import Pending, pending_rows
from flowfn.engine.records.record import one_row
from flowfn.errors import AmbiguousAnswer, InvalidAnswer, NoPendingInterrupt
from flowfn.kinds import read
from flowfn.ports import WriteRow, Writes
from flowfn.rendering import quoted, render_value
from flowfn.row_channels import ANSWER, ANSWERED_BY
from flowfn.values import MISSING, Answers, Interrupt

if TYPE_CHECKING:
    from flowfn.engine.records.journal import Journal
    from flowfn.ports import Host

DEADLINE = "deadline"
"""Who answered a question with its default."""

_DATA = (bool, int, float, str, bytes, list, dict, tuple, type(None))
"""What an answer looks like that comes from outside; objects of other classes the asking code looks at."""


Answered = tuple[Pending, Any]
"""A question, and somebody's answer to it."""


def expired(interrupt: Interrupt, now: float) -> bool:
    """Whether a question's deadline has passed."""
    until = interrupt.expires_at
    return until is not None and until.timestamp() <= now


def validated(answer: Any, kind: Any) -> tuple[Any, ValueError | None]:
    """The answer as its type, or what is wrong with it."""
    if kind is None:
        return answer, None
    from flowfn.validation import validate

    try:
        return validate(answer, kind), None
    except ValueError as error:
        return None, error


def unfit(question: Any, problem: ValueError) -> InvalidAnswer:
    """The error that tells who answered what is wrong."""
    return InvalidAnswer(f"the answer to {quoted(question)} does not fit: {problem}")


def answer_rows(journal: Journal, task: str, value: bytes, by: str | None, at: float) -> list[WriteRow]:
    """An answer, and who gave it when."""
    who = {"by": by, "at": datetime.fromtimestamp(at, UTC)}
    return [
        WriteRow(task, journal.next_order(), ANSWER, value),
        one_row(task, ANSWERED_BY, journal.serde.dumps(who)),
    ]


async def answer(
    journal: Journal, host: Host, checkpoint: str, asked: Sequence[Pending], resume: Any, by: str | None
) -> tuple[list[Writes], list[Offer]]:
    """Commit answers to those of the questions that wait, all of them or none, and give what was committed.

    Beside it those of questions that will be asked anew: of a nested run whose state was updated since.

    Raises:
        NoPendingInterrupt: nothing waits, or not under that id, or its deadline has passed.
        AmbiguousAnswer: one plain answer to several questions.
        InvalidAnswer: it doesn't fit the type that the question asks for.
    """
    at = host.now()
    answers = assign(
        [question for question in asked if not question.answered], resume, at, journal.known_questions
    )
    for question, value in answers:
        _check(question, value)
    fresh: list[Answered] = []
    stale: list[Answered] = []
    for each in answers:
        (stale if await is_asked_anew(journal, host, each[0]) else fresh).append(each)
    writes = []
    for question, value in fresh:
        data = journal.encode(value, f"the answer to {render_value(question.interrupt.value)}")
        rows = answer_rows(journal, question.task, data, by, at)
        writes.append(Writes(question.namespace, question.checkpoint, rows))
    if writes:
        done = {question.interrupt.id for question, _ in fresh}
        now = [q._replace(answered=q.answered or q.interrupt.id in done) for q in asked]
        writes.append(pending_rows(journal, checkpoint, now))
        await journal.write(host, writes)
        await journal.catch_up(host)
    return writes, await asked_anew(journal, host, stale, asked, by)


async def offers(
    journal: Journal, host: Host, asked: Sequence[Pending], resume: Any, by: str | None
) -> list[Offer]:
    """Answers that somebody brings who goes back to where questions were `asked`: by their ids, which were these.

    Raises:
        NoPendingInterrupt: one is for no question that was asked there.
    """
    if isinstance(resume, Mapping) and resume and _names(resume, _by_name(asked)):
        return await asked_anew(journal, host, assign(asked, Answers(resume), None), asked, by)
    return [Offer(resume, by)]


def _check(question: Pending, value: Any) -> None:
    """Refuse what doesn't fit, where the type is known here; the code that asks looks again in any case."""
    kind = MISSING if question.kind is None or type(value) not in _DATA else read(question.kind)
    problem = None if kind is MISSING else validated(value, kind)[1]
    if problem is not None:
        raise unfit(question.interrupt.value, problem)


def assign(
    pending: Sequence[Pending], resume: Any, now: float | None, known: Collection[str] | None = None
) -> list[Answered]:
    """Which answer goes to which question: by id or key where a mapping names them, else to the only one.

    Their deadlines are of `now`, if given. `known`, if given, are the ids of those that a plain answer can be for.
    """
    if not pending:
        raise NoPendingInterrupt(
            f"nothing waits for the answer {quoted(resume)}: the run asked no question, or it was answered; "
            "see thread.state.interrupts, or get_state(config).interrupts"
        )
    by_name = _by_name(pending)
    if isinstance(resume, Answers) or (isinstance(resume, Mapping) and resume and _names(resume, by_name)):
        unknown = [name for name in resume if name not in by_name]
        if unknown:
            raise NoPendingInterrupt(
                f"no question waits under {unknown[0]!r}; those that do: {_listed(pending)}"
            )
        return [(_in_time(by_name[name], now), value) for name, value in resume.items()]
    waiting = [question for question in pending if now is None or not expired(question.interrupt, now)]
    if len(waiting) > 1:
        raise AmbiguousAnswer(
            f"{len(waiting)} questions wait, and {quoted(resume)} doesn't say which it answers: "
            f"pass Command(resume={{id: answer}}) with ids, or keys, of {_listed(waiting)}"
        )
    question = _in_time((waiting or pending)[0], now)
    if known is not None and question.interrupt.id not in known:
        raise NoPendingInterrupt(
            f"the answer {quoted(resume)} came while another run had the thread, which has asked "
            f"{quoted(question.interrupt.value)} since: to answer that, name it, as in "
            f"Command(resume={{{question.interrupt.id!r}: answer}})"
        )
    return [(question, resume)]


def _by_name(pending: Sequence[Pending]) -> dict[str, Pending]:
    return {q.interrupt.id: q for q in pending} | {q.interrupt.key: q for q in pending if q.interrupt.key}


def _in_time(question: Pending, now: float | None) -> Pending:
    if now is not None and expired(question.interrupt, now):
        until = question.interrupt.expires_at
        raise NoPendingInterrupt(
            f"the deadline of {quoted(question.interrupt.value)} passed at {until}, and its default counts: go on "
            "without an answer, with thread.resume() or invoke(None, config)"
        )
    return question


def _names(resume: Mapping[Any, Any], by_name: Mapping[Any, Pending]) -> bool:
    """Whether a mapping addresses questions, rather than being an answer itself."""
    return any(name in by_name for name in resume) or are_ids(resume)


def are_ids(resume: Any) -> bool:
    """Whether this can only be answers by the ids of their questions."""
    return isinstance(resume, Answers) or (
        isinstance(resume, Mapping) and bool(resume) and all(map(_is_id, resume))
    )


def _is_id(name: Any) -> bool:
    return isinstance(name, str) and len(name) == 32 and set(name) <= set("0123456789abcdef")


def _listed(pending: Sequence[Pending]) -> str:
    return ", ".join(f"{q.interrupt.key or q.interrupt.id!r}: {quoted(q.interrupt.value)}" for q in pending)
