"""`flowfn cache`: what a cache keeps of which task, why a call would be a miss, and forgetting."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from flowfn.caching.listing import Kept, kept
from flowfn.caching.opening import VARIABLE, open_cache
from flowfn.cli import program, typed
from flowfn.cli.failures import Usage
from flowfn.cli.options import Json
from flowfn.cli.showing import ago
from flowfn.cli.table import Table
from flowfn.cli.terminal import in_line, output, print_json, printable

app = typer.Typer(help="Look at kept results, and forget them.", no_args_is_help=True, rich_markup_mode=None)

Place = Annotated[
    str,
    typer.Option("--cache", envvar=VARIABLE, help="The folder or the URL of the cache.", show_default=False),
]
_SUMMED = ("TASK", "RESULTS", "SIZE", "OLDEST", "NEWEST", "UNREADABLE")
_UNITS = ("B", "kB", "MB", "GB")


@app.command("ls")
def list_results(
    task: Annotated[str, typer.Argument(metavar="[TASK]", help="Only tasks whose names begin so.")] = "",
    cache: Place = "",
    as_json: Json = False,
) -> None:
    """List kept results, the newest first."""
    found = sorted(kept(_opened(cache), task), key=lambda entry: -entry.at)
    if as_json:
        print_json([_data(entry) for entry in found])
        return
    table = Table("KEY", "AGE", "SIZE", "ARGUMENTS", right=("AGE", "SIZE"))
    for entry in found:
        table.add_row(in_line(entry.key), _age(entry.at), _size(entry.size), _described(entry))
    output().print(table)


@app.command("stats")
def count_results(cache: Place = "", as_json: Json = False) -> None:
    """Count kept results and their bytes, by task."""
    tasks: dict[str, list[Kept]] = {}
    for entry in kept(_opened(cache)):
        tasks.setdefault(entry.task, []).append(entry)
    rows = [_counted(name, tasks[name]) for name in sorted(tasks)]
    if as_json:
        print_json(rows)
        return
    table = Table(*_SUMMED, right=_SUMMED[1:])
    for row in rows:
        ages = [_age(row[name]) for name in ("oldest", "newest")]
        counts = [str(row["results"]), _size(row["bytes"]), *ages, str(row["unreadable"] or "")]
        table.add_row(in_line(row["task"]), *counts)
    output().print(table)


@app.command("rm")
def remove_results(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="TASK|KEY", help="A task's name, or how a key begins.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Forget everything.")] = False,
    cache: Place = "",
) -> None:
    """Forget all results of a task, or those whose keys begin so."""
    if everything == bool(names):
        raise Usage("pass names of tasks or keys that `flowfn cache ls` shows, or --all")
    place = _opened(cache)
    for prefix in ("",) if everything else tuple(_prefix(name) for name in names or ()):
        count = sum(1 for _ in kept(place, prefix))
        if not count and not everything:
            raise Usage(f"nothing is kept under {prefix!r}: `flowfn cache ls` shows what is")
        place.clear(prefix)
        output().print(f"{count} forgotten")


@app.command("explain")
def explain_call(
    task: Annotated[str, typer.Argument(metavar="APP.PY:TASK", help="The script is imported, not run.")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=]VALUE", help="The call's arguments: JSON, or text where it isn't JSON."
        ),
    ] = None,
    cache: Place = "",
    as_json: Json = False,
) -> None:
    """Say whether a call would be a hit, and which part differs from the nearest result if not."""
    found = program.find_task(task)
    args, kwargs = typed.arguments(arguments or (), found._self_definition)
    held = found.cache.on(_opened(cache)) if cache else found.cache
    explanation = held.explain(*args, **kwargs)
    if as_json:
        print_json(asdict(explanation))
    else:
        output().print(printable(str(explanation)), soft_wrap=True)


def _opened(target: str) -> Any:
    """The cache that is named; looking makes no folder.

    Raises:
        Usage: none is named, or there is no such folder.
    """
    if not target:
        raise Usage(f"pass --cache PATH or URL, or set {VARIABLE}")
    path = target.removeprefix("disk://")
    if "://" not in path and not os.path.isfile(os.path.join(path, "cache.db")):
        raise Usage(f"there is no cache in {path!r}: pass the folder that `cache=` names")
    return open_cache(target)


def _prefix(name: str) -> str:
    return name if ":" in name else f"{name}:"


def _counted(task: str, entries: Sequence[Kept]) -> dict[str, Any]:
    times = [entry.at for entry in entries if not entry.problem]
    return {
        "task": task,
        "results": len(times),
        "bytes": sum(entry.size for entry in entries),
        "oldest": min(times, default=None),
        "newest": max(times, default=None),
        "unreadable": len(entries) - len(times),
    }


def _data(entry: Kept) -> dict[str, Any]:
    arguments = {name: text for name, (text, _) in entry.made.arguments.items()}
    shown = {"key": entry.key, "task": entry.task, "size": entry.size, "at": entry.at, "arguments": arguments}
    return shown | {"problem": entry.problem or None}


def _described(entry: Kept) -> str:
    parts: Iterator[str] = (f"{name}={text}" for name, (text, _) in entry.made.arguments.items())
    return in_line(entry.problem or ", ".join(parts))


def _age(at: float | None) -> str:
    return ago(time.time() - at) if at else ""


def _size(count: float) -> str:
    """Bytes as people read them: `109 B`, `1.2 kB`."""
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} {_UNITS[-1]}"
