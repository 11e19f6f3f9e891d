"""`flowfn ls`: the threads of a database."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from itertools import islice
from typing import Annotated, get_args

import typer
from rich.live import Live

from flowfn.cli.as_json import listed
from flowfn.cli.database import choose, reading
from flowfn.cli.failures import Usage
from flowfn.cli.housekeeping import age
from flowfn.cli.options import Db, Json
from flowfn.cli.showing import Questions, now, thread_table
from flowfn.cli.terminal import output, print_json
from flowfn.history.reading import open_questions
from flowfn.ports import Saver, Standing, ThreadRow

STATUSES = get_args(Standing)


def command(
    db: Db = None,
    status: Annotated[list[str] | None, typer.Option(help=f"Only these: {', '.join(STATUSES)}.")] = None,
    workflow: Annotated[
        str | None,
        typer.Option(help="Only this one's: its name, with or without its module; * stands for anything."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="AGE", help="Only what was used since: 30s, 5m, 2h, 7d.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, max=sys.maxsize, help="Only so many.")] = None,
    live: Annotated[bool, typer.Option("--live", help="Go on showing them, until Ctrl-C.")] = False,
    as_json: Json = False,
) -> None:
    """List the threads of a database, the last used first."""
    for name in status or ():
        if name not in STATUSES:
            raise Usage(f"--status {name!r} is none of {', '.join(STATUSES)}")
    oldest = None if since is None else age(since)
    place = choose(db)

    def wanted(row: ThreadRow) -> bool:
        return (
            (not status or row.standing in status)
            and (workflow is None or _is_of(row, workflow))
            and (oldest is None or now() - datetime.fromisoformat(row.updated_at) <= oldest)
        )

    def look() -> list[tuple[ThreadRow, Questions]]:
        with reading(place) as saver:
            return list(islice(_with_questions(saver, wanted), limit))

    if live:
        _show_live(look)
    elif as_json:
        print_json([listed(row, questions) for row, questions in look()])
    else:
        output().print(thread_table(look(), now()), crop=False)


def _with_questions(
    saver: Saver, wanted: Callable[[ThreadRow], bool]
) -> Iterator[tuple[ThreadRow, Questions]]:
    return ((row, open_questions(saver, row)) for row in saver.threads() if wanted(row))


def _is_of(row: ThreadRow, workflow: str) -> bool:
    return fnmatchcase(row.workflow, workflow) or fnmatchcase(row.workflow.rpartition(".")[2], workflow)


def _show_live(
    look: Callable[[], Sequence[tuple[ThreadRow, Questions]]], wait: Callable[[float], None] = time.sleep
) -> None:
    console = output()
    if not console.is_terminal:
        raise Usage(
            "--live is for a terminal: leave it out, or watch one thread with flowfn tail THREAD --json"
        )
    with Live(console=console, auto_refresh=False) as screen:
        while True:
            screen.update(thread_table(look(), now()), refresh=True)
            wait(1.0)
