"""Threads and calls as JSON has them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from flowfn.ports import ThreadRow
from flowfn.reading import CallView, ThreadView, Unreadable, describe, status_of
from flowfn.values import Interrupt


def listed(row: ThreadRow, questions: Sequence[Interrupt] | Unreadable) -> dict[str, Any]:
    """A thread in a listing; `questions` counts them, and is None where they can't be read here."""
    count = None if isinstance(questions, Unreadable) else len(questions)
    return {**row._asdict(), "status": status_of(row), "questions": count}


def page(view: ThreadView) -> dict[str, Any]:
    """A thread's last run; `questions` is None where they can't be read here."""
    questions = view.questions
    return {
        **listed(view.row, questions),
        "calls": [_call(call) for call in view.calls],
        "questions": None if isinstance(questions, Unreadable) else [_question(each) for each in questions],
        "result": _value(view.result),
        "error": None if view.error is None else describe(view.error),
        "report": view.report.to_data() if view.report.resumed else None,
    }


def _call(call: CallView) -> dict[str, Any]:
    failed = call.status == "failed"
    return {
        "name": call.name,
        "arguments": call.arguments,
        "site": call.site,
        "status": call.status,
        "result": None if failed else _value(call.result),
        "error": describe(call.result) if failed else None,
        "answered_by": call.answered_by,
        "answered_at": None if call.answered_at is None else call.answered_at.isoformat(),
        "calls": [_call(below) for below in call.calls],
    }


def _question(question: Interrupt) -> dict[str, Any]:
    until = question.expires_at
    return {
        "id": question.id,
        "key": question.key,
        "value": _value(question.value),
        "response_schema": question.response_schema,
        "expires_at": None if until is None else until.isoformat(),
    }


def _value(value: Any) -> Any:
    """The value itself where JSON has it, else how Python shows it."""
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return str(value) if isinstance(value, Unreadable) else repr(value)
    return value
