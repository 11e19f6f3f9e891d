"""Which runs would go on if somebody called: those whose process died, and those whose question has expired."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from flowfn.history.reading import Unreadable, open_questions
from flowfn.ports import Saver, ThreadRow


def due(saver: Saver, rows: Iterable[ThreadRow], now: datetime) -> list[ThreadRow]:
    """Those of some threads, the one first that has waited longest."""
    found = [row for row in rows if row.standing == "killed" or _has_expired(saver, row, now)]
    return sorted(found, key=lambda row: row.updated_at)


def _has_expired(saver: Saver, row: ThreadRow, now: datetime) -> bool:
    questions = open_questions(saver, row)
    if isinstance(questions, Unreadable):
        return False
    return any(each.expires_at is not None and each.expires_at <= now for each in questions)
