"""Threads, calls and questions as people read them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from flowfn.cli.table import Table
from flowfn.cli.terminal import in_line, printable
from flowfn.history.reading import ThreadView, Unreadable, describe
from flowfn.ports import ThreadRow
from flowfn.rendering import represented
from flowfn.report import Report
from flowfn.values import Interrupt
from flowfn.watching.tree import call_tree, status_text, without_lines

Questions = Sequence[Interrupt] | Unreadable

MOST = 100
"""Calls of one caller that have a line each, unless all are asked for."""

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60))


def thread_table(threads: Sequence[tuple[ThreadRow, Questions]], now: datetime) -> RenderableType:
    """A line for each thread."""
    table = Table("THREAD", "WORKFLOW", "STATUS", "AGE", "QUESTIONS", right=("AGE", "QUESTIONS"))
    for row, questions in threads:
        count = "?" if isinstance(questions, Unreadable) else str(len(questions) or "")
        age = age_of(row, now)
        table.add_row(_text(row.id), _text(row.workflow), _standing(row), age, count)
    return table


def _standing(row: ThreadRow) -> Text:
    """How a thread stands; and that the run after the one that it tells of was killed."""
    status = status_text(row.standing)
    return status if row.died is None else Text.assemble(status, ", then ", status_text("killed"))


def age_of(row: ThreadRow, now: datetime) -> str:
    """How long ago the thread's run began, ended or stopped: `5s`, `3m`, `2h` or `9d`."""
    return ago((now - datetime.fromisoformat(row.updated_at)) / timedelta(seconds=1))


def ago(seconds: float) -> str:
    """How long ago, in the largest unit that fits: `5s`, `3m`, `2h` or `9d`."""
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{seconds // size:.0f}{unit}"
    return f"{max(seconds, 0):.0f}s"


def thread_page(view: ThreadView, most: int | None = MOST) -> RenderableType:
    """All that is known of a thread's last run; of one caller's calls at most so many one by one."""
    tree = call_tree(thread_head(view.row), view.calls, most, results=True)
    return Group(
        tree, *_without_calls(view), *_left_out(without_lines(tree)), *thread_ending(view), *_died(view.row)
    )


def _died(row: ThreadRow) -> list[Text]:
    """That there was a later run, of which nothing is known."""
    if row.died is None:
        return []
    said = f"{row.died} died in a later run, before it had recorded anything: call it again, as nothing else does"
    return [Text(in_line(said)), Text(_EXIT_RECORDS_NOTHING, "dim")]


_EXIT_RECORDS_NOTHING = 'a run that has durability="exit" records nothing before its end'

_NO_CALLS = (
    'no calls are recorded: the run made none, or had durability="exit", which keeps them if it fails or asks'
)


def _without_calls(view: ThreadView) -> list[Text]:
    """Why there are none; the record doesn't say which reason it is."""
    return [] if view.calls else [Text(_NO_CALLS, "dim")]


def _left_out(count: int) -> list[Text]:
    return (
        [Text(f"{counted(count, 'call')} without a line: flowfn show --all has them", "dim")] if count else []
    )


def thread_ending(view: ThreadView) -> list[Text]:
    """What a thread's last run came to."""
    return [
        *question_lines(view.questions),
        *([_labelled("result", shown(view.result), "green")] if view.result is not None else []),
        *([_labelled("error", describe(view.error), "red")] if view.error is not None else []),
        *_report_lines(view.report),
    ]


def question_lines(questions: Questions) -> list[Text]:
    """A line for each open question."""
    if isinstance(questions, Unreadable):
        return [_labelled("question", str(questions), "yellow")]
    return [_labelled("question", question_text(question), "yellow") for question in questions]


def question_text(question: Interrupt) -> str:
    """What is asked, and how it is addressed."""
    key = f", key {question.key!r}" if question.key is not None else ""
    until = "" if question.expires_at is None else f", until {question.expires_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"{shown(question.value)} (id {question.id}{key}{until})"


def shown(value: Any) -> str:
    """A value in a line: text as it is, else JSON where it has it, else as Python shows it."""
    if isinstance(value, str | Unreadable):
        return str(value)
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return represented(value)


def thread_head(row: ThreadRow) -> Text:
    """A thread in a line: its id, its workflow, how it stands."""
    status = _standing(row)
    return Text.assemble(in_line(row.id), "  ", in_line(row.workflow), "  ", status)


def _report_lines(report: Report) -> list[Text]:
    if not report:
        return []
    head = f"{counted(len(report.differences), 'difference')}, {report.counts}"
    return [_labelled("report", head, "magenta"), *(_text(f"  {difference}") for difference in report)]


def counted(number: int, noun: str) -> str:
    """`1 thread`, `2 threads`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _labelled(label: str, text: str, style: str) -> Text:
    return Text.assemble((f"{label}: ", style), printable(text))


def _text(text: str) -> Text:
    return Text(in_line(text))


def now() -> datetime:
    """The time that ages are measured from."""
    return datetime.now(UTC)
