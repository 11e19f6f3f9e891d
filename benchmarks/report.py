"""What a run of the benchmarks prints and writes."""

import importlib.metadata
import os
import platform
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from benchmarks.harness import Result

DISTRIBUTIONS = ("flowfn-durable", "langgraph", "langgraph-checkpoint-sqlite")
FOOTNOTE = """\
"Survives" says what is kept of work whose caller has seen it finish. LangGraph's SQLite saver commits with
full fsync, but in the background, after the result is seen: after a kill the last few tasks run again."""


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
        return "absent"


def table(results: Sequence[Result]) -> Iterator[str]:
    """One block per workload and storage, each line with its ratios to the floor and to LangGraph."""
    for (workload, storage), group in groupby(results, lambda r: (r.case.workload, r.case.storage)):
        rows = list(group)
        yield f"\n{workload}{storage and f' ({storage})'}, {rows[0].case.unit}"
        for result in rows:
            ratios = [ratio(result, rows, other) for other in ("floor", "LangGraph")]
            note = result.error or (result.case.survives and f"survives: {result.case.survives}")
            line = f"  {result.case.subject:13}{shown(result):>10}  {ratios[0]:>16}{ratios[1]:>20}   {note}"
            yield line.rstrip()


def shown(result: Result) -> str:
    """A result's figure, or why there is none."""
    if result.figure is not None:
        return f"{result.figure:,.2f}"
    return "failed" if result.error else "absent"


def ratio(result: Result, rows: Sequence[Result], other: str) -> str:
    """How many times another subject's figure this one is, such as `0.08 x LangGraph`."""
    base = next((row.figure for row in rows if row.case.subject == other), None)
    if not base or result.figure is None or result.case.subject == other:
        return ""
    times = result.figure / base
    return f"{times:,.0f} x {other}" if times >= 100 else f"{times:.3g} x {other}"


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
