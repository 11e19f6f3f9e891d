"""What a run of the benchmarks prints and writes: data first, and the tables are made of the data."""

import importlib.metadata
import os
import platform
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.harness import Result
from benchmarks.targets import Verdicts, verdicts

DISTRIBUTIONS = (
    "flowfn-durable",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
    "dbos",
)
BASES = ("floor", "LangGraph", "DBOS")
"""The subjects that others are compared with."""
FOOTNOTE = """\
"Survives" says what is kept of work whose caller has seen it finish. LangGraph's savers commit what tasks wrote
in the background, after the result is seen: after a kill the last few tasks run again."""
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

Row = dict[str, Any]


def machine() -> dict[str, Any]:
    """What the figures were measured on and with."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        **{name: installed(name) for name in DISTRIBUTIONS},
    }


def installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not here"


def data(results: Sequence[Result], size: int, rounds: int) -> dict[str, Any]:
    """The run as JSON-ready data, with every sample."""
    return {
        "machine": machine(),
        "size": size,
        "rounds": rounds,
        "results": [
            {
                "workload": result.case.workload,
                "storage": result.case.storage,
                "subject": result.case.subject,
                "unit": result.case.unit,
                "survives": result.case.survives,
                "figure": result.figure,
                "samples": result.samples,
                "error": result.error,
            }
            for result in results
        ],
    }


def heading(run: dict[str, Any]) -> str:
    """What a run measured, and where."""
    said = " · ".join(f"{key} {value}" for key, value in run["machine"].items())
    return f"{run['size']} tasks, {run['rounds']} rounds · {said}"


def groups(run: dict[str, Any]) -> Iterator[tuple[str, list[Row]]]:
    """The results of each workload and storage, under its title."""
    for (workload, storage), found in groupby(run["results"], lambda row: (row["workload"], row["storage"])):
        yield f"{workload}{storage and f' ({storage})'}", list(found)


# -- for a terminal ---------------------------------------------------------------------------------------


def text(run: dict[str, Any]) -> Iterator[str]:
    """One block per workload and storage, a line for each subject: figure, ratios, targets, survival."""
    judged = verdicts(run["results"])
    for title, rows in groups(run):
        yield f"\n{title}, {rows[0]['unit']}"
        for row in rows:
            ratios = "".join(f"{ratio(row, rows, base):>18}" for base in BASES)
            notes = [row["error"], *held(judged, row), row["survives"] and f"survives: {row['survives']}"]
            said = "; ".join(note for note in notes if note)
            yield f"  {row['subject']:13}{shown(row):>10}{ratios}   {said}".rstrip()


def held(judged: Verdicts, row: Row) -> Iterator[str]:
    """Each target of a result, and whether it holds."""
    for target, holds in judged.of(row["workload"], row["storage"], row["subject"]):
        yield f"{target}: {SAID[holds]}"


SAID = {True: "holds", False: "doesn't hold", None: "not measured"}


def shown(row: Row) -> str:
    """A result's figure, or why there is none."""
    if row["figure"] is not None:
        return number(row["figure"])
    return "failed" if row["error"] else "absent"


def number(figure: float) -> str:
    """Three digits that matter, such as `0.0123`, `4.56` or `1,234`."""
    if figure == 0:
        return "0"
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"


def ratio(row: Row, rows: Sequence[Row], base: str) -> str:
    """How many times another subject's figure this one is, such as `0.08 x LangGraph`."""
    figure = figure_of(rows, base)
    if not figure or row["figure"] is None or row["subject"] == base:
        return ""
    return f"{number(row['figure'] / figure)} x {base}"


def figure_of(rows: Sequence[Row], subject: str) -> float | None:
    """A subject's figure among the results of one workload."""
    return next((row["figure"] for row in rows if row["subject"] == subject), None)


# -- for the documents ------------------------------------------------------------------------------------

COLUMNS = ("floor", *peers.OURS, "LangGraph", "DBOS")


def markdown(run: dict[str, Any]) -> str:
    """A table with a line for each workload and storage."""
    judged = verdicts(run["results"])
    titles = ["workload", "unit", *COLUMNS, "others", "of LangGraph", "target", "", "survives"]
    lines = [f"{heading(run)}", "", cells(titles), cells(["---"] * len(titles))]
    for title, rows in groups(run):
        lines.append(cells(line(judged, title, rows)))
    return "\n".join(lines) + "\n"


def line(judged: Verdicts, title: str, rows: Sequence[Row]) -> Iterator[str]:
    """The cells of one workload on one storage. Ratio and targets are those of the first of our front ends."""
    named = {row["subject"]: row for row in rows}
    own = next((named[name] for name in peers.OURS if name in named), rows[0])
    yield title
    yield rows[0]["unit"]
    for name in COLUMNS:
        figure = named[name]["figure"] if name in named else None
        yield "" if figure is None else number(figure)
    others = [row for row in rows if row["subject"] not in COLUMNS and row["figure"] is not None]
    yield ", ".join(f"{row['subject']} {number(row['figure'])}" for row in others)
    base = figure_of(rows, "LangGraph")
    yield number(own["figure"] / base) if base and own["figure"] is not None else ""
    targets = list(judged.of(own["workload"], own["storage"], own["subject"]))
    yield ", ".join(str(target) for target, _ in targets)
    yield VERDICT[verdict([holds for _, holds in targets])]
    yield survival(own, rows)


VERDICT = {True: "yes", False: "**no**", None: ""}


def verdict(holding: Sequence[bool | None]) -> bool | None:
    """Whether all targets hold; None where there are none, or one couldn't be judged and the others hold."""
    if False in holding:
        return False
    return True if holding and None not in holding else None


def survival(own: Row, rows: Sequence[Row]) -> str:
    """What flowfn's setting survives, and in brackets whose doesn't survive the same."""
    differing = [
        f"{row['subject']}: {row['survives']}"
        for row in rows
        if row["figure"] is not None and row["survives"] not in ("", own["survives"])
    ]
    return f"{own['survives']} ({'; '.join(differing)})" if differing else str(own["survives"])


def cells(found: Sequence[str] | Iterator[str]) -> str:
    return f"| {' | '.join(found)} |"


def rewrite(page: Path, run: dict[str, Any]) -> None:
    """Put a run's table between the two marks of a page.

    Raises:
        ValueError: the page doesn't have both.
    """
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page} has no lines {BEGIN!r} and {END!r} for the table to stand between")
    page.write_text(f"{before}{BEGIN}\n\n{markdown(run)}\n{END}{after}")
