"""Which question an answer from the command line goes to, and what it says."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flowfn.cli import typed
from flowfn.cli.asking import filled
from flowfn.cli.failures import Usage
from flowfn.cli.showing import question_text, shown
from flowfn.history.reading import Unreadable
from flowfn.ports import ThreadRow
from flowfn.values import Interrupt


@dataclass(frozen=True)
class Answer:
    """An answer as it was typed, and which question it names, if it does."""

    given: str
    as_text: bool = False
    id: str | None = None
    key: str | None = None

    @property
    def value(self) -> Any:
        """What it says: JSON where it is JSON, else its text."""
        return self.given if self.as_text else typed.value(self.given)


def user() -> str | None:
    """The name of who runs the command; None where nobody knows."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None


def addressed(answer: Answer, row: ThreadRow, questions: Sequence[Interrupt] | Unreadable) -> dict[str, Any]:
    """The answer under the id of its question.

    Raises:
        Usage: it names none of the open questions, or several wait and it names none.
    """
    return {meant(answer, row, questions).id: answer.value}


def asked_for(answer: Answer, row: ThreadRow, questions: Sequence[Interrupt] | Unreadable) -> dict[str, Any]:
    """An answer that a human types now, under the id of the question.

    Raises:
        Usage: as `addressed`; or nobody is there to ask.
    """
    question = meant(answer, row, questions)
    if not sys.stdin.isatty():
        raise Usage(
            f"write the answer: flowfn answer {row.id} ANSWER APP.PY (asked: {question_text(question)})"
        )
    if answer.as_text:
        return {question.id: filled({"type": "string"}, shown(question.value))}
    return {question.id: filled(question.response_schema, shown(question.value))}


def meant(answer: Answer, row: ThreadRow, questions: Sequence[Interrupt] | Unreadable) -> Interrupt:
    """The question that an answer goes to.

    Raises:
        Usage: it names none of the open questions, or several wait and it names none.
    """
    if isinstance(questions, Unreadable):
        raise Usage(f"the questions of thread {row.id!r} can't be read: {questions.why}")
    if not questions:
        raise Usage(
            f"thread {row.id!r} is {row.standing} and asks nothing: `flowfn show` says where it stands"
        )
    if answer.id is not None and answer.key is not None:
        raise Usage("--id and --key both name the question: pass one of them")
    found = [question for question in questions if _is_meant(answer, question)]
    if len(found) == 1:
        return found[0]
    waiting = "; ".join(map(question_text, questions))
    if not found:
        name = f"--id {answer.id!r}" if answer.id is not None else f"--key {answer.key!r}"
        raise Usage(f"no open question has {name}; those that wait: {waiting}")
    raise Usage(f"{len(found)} questions wait, so pass --id or --key of one: {waiting}")


def _is_meant(answer: Answer, question: Interrupt) -> bool:
    if answer.id is not None:
        return question.id.startswith(answer.id)
    return answer.key is None or question.key == answer.key
