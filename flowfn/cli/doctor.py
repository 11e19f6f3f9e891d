"""`flowfn doctor`: what an edited script would make of the open runs of a database."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from flowfn.cli import program
from flowfn.cli.database import Place, reading
from flowfn.cli.diff import code_lines
from flowfn.cli.table import Table
from flowfn.cli.terminal import in_line
from flowfn.doctor import Checkup, examine

_STYLES = {"continues": "green", "anew": "yellow", "decide": "red", "live": "dim"}
_ORDER = ("decide", "anew", "continues", "live")


def checkups(script: Path, place: Place) -> list[Checkup]:
    """Each open run of a database. What the code of workflows prints meanwhile is dropped."""
    with reading(place) as saver:
        recorded = {row.workflow for row in saver.threads()}
    workflows = program.all_of(script, recorded)
    with reading(place) as saver, redirect_stdout(io.StringIO()):
        return asyncio.run(
            examine(program.readable(saver, workflows), lambda row: workflows.of_run(row)._self_setup)
        )


def checkup_page(found: Sequence[Checkup]) -> RenderableType:
    """A line for all runs that fare alike, those that need a decision first; then the code that was edited."""
    if not found:
        return Text("no open runs")
    table = Table("", "RUNS", "WORKFLOW", "WHY", "SUCH AS", right=("RUNS",))
    alike: dict[tuple[str, str, str], list[str]] = {}
    for each in sorted(found, key=lambda each: _ORDER.index(each.verdict)):
        alike.setdefault((each.verdict, each.workflow, each.why), []).append(each.thread)
    for (verdict, *told), threads in alike.items():
        cells = (str(len(threads)), *told, threads[0])
        table.add_row(Text(verdict, style=_STYLES[verdict]), *(Text(in_line(cell)) for cell in cells))
    edits = {(edit.name, edit.recorded): edit for each in found for edit in each.report.edits}
    return Group(table, *map(code_lines, edits.values()))
