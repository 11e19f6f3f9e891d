"""`flowfn recover`: the runs of a script that would go on if somebody called.

Rule: what one comes to is its own affair: the others go on. A run that has no workflow here is told of, and left.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from flowfn.cli import program
from flowfn.cli.database import Place, choose, reading
from flowfn.cli.failures import FAILED, RAISED, Usage, sentence
from flowfn.cli.options import Db, Json
from flowfn.cli.outcome import progress
from flowfn.cli.showing import counted, now
from flowfn.cli.terminal import errors, in_line, output, print_json
from flowfn.cli.workflows import AnyWorkflow, Workflows
from flowfn.errors import ThreadBusy
from flowfn.history.due import due
from flowfn.ports import Standing, ThreadRow
from flowfn.workflow import UNNAMED


class Left(NamedTuple):
    """A run that is due, and the workflow that goes on with it."""

    workflow: AnyWorkflow
    thread: str


@dataclass(frozen=True)
class Recovered:
    """What a thread's run came to, or how it stands where another process was there first: None if it is gone."""

    thread: str
    status: Standing | None
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
    """Go on with every run that was killed. And with those whose question has expired."""
    place = choose(db)
    with reading(place) as saver:
        names = {row.workflow for row in saver.threads()}
    workflows = program.all_of(script, names)
    with reading(place) as saver:  # after the import: a question may be of one of the script's types
        saver = program.readable(saver, workflows)
        rows = due(saver, saver.threads(), now())
    runs = _with_workflows(rows, workflows, place)
    found: list[Recovered] = []

    def tell(run: Recovered) -> None:
        found.append(run)
        if not as_json:
            output().print(in_line(str(run)))

    with progress():
        asyncio.run(recover(runs, at_once, tell))
    if as_json:
        print_json([asdict(run) for run in found])
    elif not found:
        output().print(
            in_line(f"no runs to recover in {place}" if isinstance(place, Path) else "no runs to recover")
        )
    if any(run.status == "failed" for run in found):
        raise typer.Exit(FAILED)


async def recover(runs: Sequence[Left], at_once: int, tell: Callable[[Recovered], None]) -> None:
    """Resume threads, so many at a time, and tell of each when it ends."""
    places = asyncio.Semaphore(at_once)

    async def one(run: Left) -> None:
        async with places:
            tell(await _recovered(run.workflow, run.thread))

    await asyncio.gather(*map(one, runs))


async def _recovered(workflow: AnyWorkflow, thread: str) -> Recovered:
    try:
        result = await workflow._taken_up(workflow._recovery(thread, now()))
    except ThreadBusy:
        row = await workflow._on_saver(workflow._saver().thread, thread)
        return Recovered(thread, None if row is None else row.standing)
    except RAISED as error:
        return Recovered(thread, "failed", sentence(error))
    waits = isinstance(result, dict) and "__interrupt__" in result
    return Recovered(thread, "interrupted" if waits else "done")


def _with_workflows(rows: Sequence[ThreadRow], workflows: Workflows, place: Place) -> list[Left]:
    """The runs, each with the workflow that goes on with it; those that have none here are told of, and left."""
    on_place: dict[int, AnyWorkflow] = {}
    runs: list[Left] = []
    others: list[str] = []
    for row in rows:
        try:
            own = workflows.of_run(row)
        except Usage as error:
            others.append(str(error))
            continue
        if not own._has_own_name:
            others.append(UNNAMED)
            continue
        if id(own) not in on_place:
            on_place[id(own)] = program.on_database(own, place)
        runs.append(Left(on_place[id(own)], row.id))
    for why, count in Counter(others).items():
        errors().print(in_line(f"flowfn: {counted(count, 'run')} left: {why}"), soft_wrap=True)
    return runs
