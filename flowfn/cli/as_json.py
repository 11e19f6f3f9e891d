"""Threads and calls as JSON has them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from flowfn.history.call_trees import folded
from flowfn.history.reading import CallView, ThreadView, Unreadable, describe
from flowfn.ports import ThreadRow
from flowfn.rendering import represented
from flowfn.values import Interrupt


def listed(row: ThreadRow, questions: Sequence[Interrupt] | Unreadable) -> dict[str, Any]:
    """A thread in a listing; `questions` counts them, and is None where they can't be read here."""
    count = None if isinstance(questions, Unreadable) else len(questions)
    return {
        "thread": row.id,
        "workflow": row.workflow,
        "call": row.call,
        "status": row.standing,
        "owner": row.owner,
        "died": row.died,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "questions": count,
    }


def page(view: ThreadView) -> dict[str, Any]:
    """A thread's last run; `questions` is None where they can't be read here."""
    questions = view.questions
    return {
        **listed(view.row, questions),
        "calls": list(folded(view.calls, lambda call: call.calls, _call)),
        "questions": asked(questions),
        "result": plain(view.result),
        "error": None if view.error is None else describe(view.error),
        "report": view.report.to_data() if view.report.resumed else None,
    }


def outcome(thread: str, result: Any, questions: Sequence[Interrupt]) -> dict[str, Any]:
    """What a run came to that ended well, or that waits for answers."""
    return {
        "thread": thread,
        "status": "interrupted" if questions else "done",
        "result": None if questions else plain(result),
        "questions": asked(questions),
    }


def asked(questions: Sequence[Interrupt] | Unreadable) -> list[dict[str, Any]] | None:
    """Open questions; None where they can't be read here."""
    return None if isinstance(questions, Unreadable) else [_question(each) for each in questions]


def call_line(call: CallView) -> dict[str, Any]:
    """A call without those under it."""
    failed = call.status == "failed"
    return {
        "id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "site": call.site,
        "step": call.step,
        "status": call.status,
        "started_at": None if call.started is None else datetime.fromtimestamp(call.started, UTC).isoformat(),
        "seconds": call.seconds,
        "attempts": call.attempts,
        "result": None if failed else plain(call.result),
        "error": describe(call.result) if failed else None,
        "answered_by": call.answered_by,
        "answered_at": None if call.answered_at is None else call.answered_at.isoformat(),
    }


def _call(call: CallView, below: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    return {**call_line(call), "calls": list(below)}


def _question(question: Interrupt) -> dict[str, Any]:
    until = question.expires_at
    return {
        "id": question.id,
        "key": question.key,
        "value": plain(question.value),
        "response_schema": question.response_schema,
        "expires_at": None if until is None else until.isoformat(),
    }


def plain(value: Any) -> Any:
    """The value itself where JSON has it, else how Python shows it."""
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return str(value) if isinstance(value, Unreadable) else represented(value)
    return value
