"""Which runs would go on if somebody called: those whose process died, and those whose question has expired.

Rule: what was due when it was listed is looked at again once its thread is held. What somebody else has made of it
meanwhile, a failure or a cancellation say, is as due as any other: not at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from flowfn.errors import ThreadBusy
from flowfn.history.reading import Unreadable, open_questions
from flowfn.ports import Saver, ThreadRow


def due(saver: Saver, rows: Iterable[ThreadRow], now: datetime) -> list[ThreadRow]:
    """Those of some threads, the one first that has waited longest."""
    found = [row for row in rows if row.owner is None and _is_due(saver, row, now)]
    return sorted(found, key=lambda row: row.updated_at)


def check_still_due(saver: Saver, thread: str, now: datetime) -> None:
    """Look again at a thread that is held by now.

    Raises:
        ThreadBusy: somebody else was there first.
    """
    row = saver.thread(thread)
    if row is None or not _is_due(saver, row, now):
        stands = "gone" if row is None else row.status
        raise ThreadBusy(f"thread {thread!r} is {stands} by now: somebody else went on with it, or ended it")


def _is_due(saver: Saver, row: ThreadRow, now: datetime) -> bool:
    """Whether a run that nobody runs waits for nobody."""
    if row.status == "running":
        return True
    questions = open_questions(saver, row)
    if isinstance(questions, Unreadable):
        return False
    return any(each.expires_at is not None and each.expires_at <= now for each in questions)
