"""`flowfn diff`: how a run differed from its record, side by side.

Rule: recorded calls stand on the left, this run's on the right, in the order in which they were noticed; what
probably caused it comes last, with its evidence.
"""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from flowfn.cli.table import Table
from flowfn.cli.terminal import in_line, printable
from flowfn.history.reading import ThreadView
from flowfn.report import CallSummary, Difference, Edit, Report

_STYLES = {"doubt": "red", "forbidden": "red", "orphan": "yellow", "in_doubt": "yellow"}

_LINES = {"+": "green", "-": "red", "@": "cyan"}
"""The style of a line of a unified diff, by how it begins."""


def diff_page(view: ThreadView) -> RenderableType:
    """The report of a thread's last resumed run."""
    report = view.report
    head = Text(in_line(f"{view.row.id}  {view.row.workflow}"))
    if not report.resumed:
        return Group(head, Text("nothing to compare: the last run was not resumed"))
    if not report:
        return Group(head, Text(f"no differences: {report.counts}"))
    return Group(head, Text(report.counts), _table(report), *_causes(report))


def _table(report: Report) -> Table:
    table = Table("", "RECORDED", "THIS RUN", "WHY")
    for each in report:
        kind = Text(in_line(each.kind), style=_STYLES.get(each.kind, "magenta"))
        table.add_row(kind, _call(each.recorded), _call(each.current), _why(each))
    return table


def _call(call: CallSummary | None) -> Text:
    """`name(arguments)`, and below it where it stands and the fingerprint of its code."""
    if call is None:
        return Text("-")
    below = "  ".join(filter(None, [call.site, f"code {call.code}" if call.code else ""]))
    shown = Text(in_line(f"{call.name}({call.arguments})"))
    return shown.append(f"\n{in_line(below)}", style="dim") if below else shown


def _why(each: Difference) -> Text:
    return Text(printable("\n".join(map(str, each.changes)) or each.cause))


def _causes(report: Report) -> list[Text]:
    found = [_labelled("first difference", report.first), *map(code_lines, report.edits)]
    return [*found, _labelled("probable cause", report.cause)] if report.cause else found


def code_lines(edit: Edit) -> Text:
    """A function that was edited, and the diff of its source."""
    shown = _labelled("code", edit)
    for line in edit.diff.splitlines():
        shown.append(f"\n{printable(line)}", style=_LINES.get(line[:1], ""))
    return shown


def _labelled(label: str, what: object) -> Text:
    return Text.assemble((f"{label}: ", "magenta"), printable(str(what)))
