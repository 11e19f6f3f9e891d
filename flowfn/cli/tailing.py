"""`flowfn tail`: a run of another process, watched while it goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from rich.live import Live

from flowfn.cli.as_json import call_line, page
from flowfn.cli.database import choose, find_thread, reading
from flowfn.cli.failures import FAILED, WAITS
from flowfn.cli.options import Db, Json, ThreadId
from flowfn.cli.showing import thread_ending, thread_head, thread_page
from flowfn.cli.terminal import output, print_json
from flowfn.history.reading import CallView, ThreadView, view
from flowfn.watching.tree import call_text

CODES = {"done": 0, "interrupted": WAITS}


def command(
    thread: ThreadId,
    db: Db = None,
    as_json: Json = False,
    every: Annotated[float, typer.Option(min=0.05, help="Seconds between two looks.")] = 0.5,
) -> None:
    """Watch a run until it ends. In a terminal as a live tree, else by a line for each call that ends."""
    place = choose(db)
    with reading(place) as saver:
        id = find_thread(saver, thread).id

    def look() -> ThreadView:
        with reading(
            place
        ) as saver:  # anew each time: the run may be the first to write a log beside the file
            return view(saver, find_thread(saver, id))

    seen = watched(look, every)
    if as_json:
        last = _as_json(seen)
    elif output().is_terminal:
        last = _live(seen)
    else:
        last = _lines(seen)
    raise typer.Exit(CODES.get(last.row.standing, FAILED))


def watched(look: Any, every: float, wait: Any = time.sleep) -> Iterator[ThreadView]:
    """What `look` sees, each `every` seconds until nobody runs the thread any more."""
    while True:
        seen: ThreadView = look()
        yield seen
        if seen.row.standing != "running":
            return
        wait(every)


def _live(seen: Iterator[ThreadView]) -> ThreadView:
    with Live(console=output(), auto_refresh=False) as live:
        for found in seen:
            live.update(thread_page(found), refresh=True)
    return found


def _lines(seen: Iterator[ThreadView]) -> ThreadView:
    console = output()
    told: set[tuple[int, str]] = set()
    first = ""
    for found in seen:
        if not first:
            first = found.row.standing
            console.print(thread_head(found.row), soft_wrap=True)
        for call in ended(found.calls, told):
            console.print(call_text(call, result=True), soft_wrap=True)
    if found.row.standing != first:
        console.print(thread_head(found.row), soft_wrap=True)
    for line in thread_ending(found):
        console.print(line, soft_wrap=True)
    return found


def _as_json(seen: Iterator[ThreadView]) -> ThreadView:
    """A line for each call that ends or asks, and one with the whole page at the end."""
    told: set[tuple[int, str]] = set()
    for found in seen:
        for call in ended(found.calls, told):
            print_json({"call": call_line(call)}, indent=None)
    print_json({"run": page(found)}, indent=None)
    return found


def ended(calls: Sequence[CallView], told: set[tuple[int, str]]) -> Iterator[CallView]:
    """The calls that have ended, or ask, since the last look; those within a call come before it."""
    left = [(0, call, False) for call in reversed(calls)]
    while left:
        within, call, are_inner_told = left.pop()
        place = hash((within, call.id))  # a node that runs again makes calls of the same id
        if not are_inner_told:
            left.append((within, call, True))
            left += [(place, below, False) for below in reversed(call.calls)]
        elif (
            call.status not in ("running", "in_doubt", "waiting", "due") and (place, call.status) not in told
        ):
            told.add((place, call.status))
            yield call
