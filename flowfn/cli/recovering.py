"""`flowfn recover`: the runs of a script that would go on if somebody called.

Rule: due is a run whose process died, and one that waits for an answer whose time is up. What one comes to is its own
affair: the others go on.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from flowfn.cli import program
from flowfn.cli.database import choose, reading
from flowfn.cli.failures import FAILED, RAISED, sentence
from flowfn.cli.options import Db, Json
from flowfn.cli.outcome import progress
from flowfn.cli.showing import counted, now
from flowfn.cli.terminal import errors, in_line, output, print_json
from flowfn.errors import ThreadBusy
from flowfn.history.reading import Unreadable, open_questions
from flowfn.ports import Saver, ThreadRow

Workflows = Mapping[str, program.AnyWorkflow]
"""A script's, by the names that their threads are recorded under."""


@dataclass(frozen=True)
class Recovered:
    """What a thread's run came to; `running` where another process was there first."""

    thread: str
    status: Literal["done", "interrupted", "failed", "running"]
    error: str | None = None

    def __str__(self) -> str:
        return "  ".join(part for part in (self.thread, self.status, self.error) if part)


def command(
    script: Annotated[
        Path,
        typer.Argument(metavar="APP.PY", help="The script that defines the workflows: imported, not run."),
    ],
    at_once: Annotated[int, typer.Option(min=1, help="How many runs go on at the same time.")] = 8,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Go on with every run that was killed, or whose question has expired."""
    place = choose(db)
    with reading(place) as saver:
        names = {row.workflow for row in saver.threads()}
    workflows = program.all_of(script, names)
    with reading(place) as saver:  # after the import: a question may be of one of the script's types
        rows = due(program.readable(saver, workflows.values()), now())
    ours = [row for row in rows if row.workflow in workflows]
    _warn_of([row for row in rows if row.workflow not in workflows], script)
    meant = {name: program.on_database(workflows[name], place) for name in {row.workflow for row in ours}}
    found: list[Recovered] = []

    def tell(run: Recovered) -> None:
        found.append(run)
        if not as_json:
            output().print(in_line(str(run)))

    with progress():
        asyncio.run(recover(meant, ours, at_once, tell))
    if as_json:
        print_json([asdict(run) for run in found])
    elif not found:
        output().print(
            in_line(f"no runs to recover in {place}" if isinstance(place, Path) else "no runs to recover")
        )
    if any(run.status == "failed" for run in found):
        raise typer.Exit(FAILED)


def due(saver: Saver, now: datetime) -> list[ThreadRow]:
    """The threads whose runs go on if somebody calls, those first that wait longest."""
    rows = [row for row in saver.threads() if row.standing == "killed" or _has_expired(saver, row, now)]
    return sorted(rows, key=lambda row: row.updated_at)


def _has_expired(saver: Saver, row: ThreadRow, now: datetime) -> bool:
    questions = open_questions(saver, row)
    if isinstance(questions, Unreadable):
        return False
    return any(each.expires_at is not None and each.expires_at <= now for each in questions)


async def recover(
    workflows: Workflows, rows: Sequence[ThreadRow], at_once: int, tell: Callable[[Recovered], None]
) -> None:
    """Resume threads, so many at a time, and tell of each when it ends."""
    places = asyncio.Semaphore(at_once)

    async def one(row: ThreadRow) -> None:
        async with places:
            tell(await _recovered(workflows[row.workflow], row.id))

    await asyncio.gather(*map(one, rows))


async def _recovered(workflow: program.AnyWorkflow, thread: str) -> Recovered:
    try:
        result = await workflow.ainvoke(None, thread_id=thread, on_busy="reject")
    except ThreadBusy:
        return Recovered(thread, "running")
    except RAISED as error:
        return Recovered(thread, "failed", sentence(error))
    waits = isinstance(result, dict) and "__interrupt__" in result
    return Recovered(thread, "interrupted" if waits else "done")


def _warn_of(rows: Sequence[ThreadRow], script: Path) -> None:
    """Say which runs are nobody's here: another script's, or a workflow's that was renamed."""
    for workflow, count in Counter(row.workflow for row in rows).items():
        text = f"flowfn: {counted(count, 'run')} left of {workflow!r}, which isn't in {script}"
        errors().print(in_line(text), soft_wrap=True)
