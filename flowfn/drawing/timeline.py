"""When the calls of a run ran: a line for each, with bars along the time, as data and as pictures (a Gantt chart).

Rule: calls of one caller that are many share a line for each place in the code. Questions take no time: they are marks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from flowfn.drawing.waits import critical
from flowfn.history.call_trees import with_inner
from flowfn.history.reading import CallView, ThreadView
from flowfn.rendering import duration, printable

__all__ = ["Bar", "Line", "Timeline", "timeline"]

MOST = 40
"""Calls of one caller that have a line each."""

_COLUMNS = 60
_NAME = 40
_ROW, _LEFT, _WIDTH = 22, 300, 700

_QUESTIONS = ("asked", "answered")

_COLOURS = {
    "done": "#7bc794",
    "answered": "#7bc794",
    "running": "#7fb3ec",
    "asked": "#e8c55b",
    "waiting": "#e8c55b",
    "failed": "#e0776c",
    "in_doubt": "#e0776c",
}


class Bar(NamedTuple):
    """A call on its line: when it began, after the run did, and how long it took, in seconds."""

    start: float
    seconds: float
    status: str
    critical: bool


@dataclass(frozen=True)
class Line:
    """One call, or all calls of one place, `depth` calls deep."""

    label: str
    depth: int
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Timeline:
    """The lines of a run, and how many seconds they span."""

    title: str
    lines: tuple[Line, ...]
    seconds: float

    def draw_text(self, columns: int = _COLUMNS) -> str:
        """For a terminal: a bar of `█`, of `▓` on the critical path, each at least one character wide."""
        scale = columns / self.seconds if self.seconds else 0.0
        rows = [f"{self.title}  {duration(self.seconds)}"]
        for line in self.lines:
            room = [" "] * (columns + 1)
            for bar in line.bars:
                first = min(round(bar.start * scale), columns)
                last = max(min(round((bar.start + bar.seconds) * scale), columns), first + 1)
                mark = "?" if bar.status in _QUESTIONS else "▓" if bar.critical else "█"
                room[first:last] = mark * (last - first)
            work = [bar.seconds for bar in line.bars if bar.status not in _QUESTIONS]
            took = duration(sum(work)) if work else ""
            name = _cut("  " * line.depth + line.label)
            rows.append(
                f"{name:<{_NAME}} |{''.join(room[: columns + 1]).rstrip():<{columns + 1}}| {took}".rstrip()
            )
        return "\n".join(rows)

    def draw_mermaid(self) -> str:
        """As a Gantt chart in Mermaid's language, in milliseconds."""
        rows = [
            "gantt",
            f"    title {_for_mermaid(self.title)}",
            "    dateFormat x",
            "    axisFormat %M:%S.%L",
        ]
        for line in self.lines:
            for bar in line.bars:
                first = round(bar.start * 1000)
                last = max(round((bar.start + bar.seconds) * 1000), first + 1)
                tags = "crit, " if bar.critical else "active, " if bar.status == "running" else ""
                rows.append(f"    {_for_mermaid(line.label)} :{tags}{first}, {last}")
        return "\n".join(rows) + "\n"

    def draw_svg(self) -> str:
        """As an SVG image, with no help from outside."""
        height = _ROW * (len(self.lines) + 2)
        scale = _WIDTH / self.seconds if self.seconds else 0.0
        size = f'width="{_LEFT + _WIDTH + 80}" height="{height}"'
        body = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {_LEFT + _WIDTH + 80} {height}">',
            "<style>text{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12px;fill:#222}"
            ".critical{stroke:#c0392b;stroke-width:2}</style>",
            f'<text x="8" y="{_ROW * 0.7:.0f}">{_for_svg(f"{self.title}  {duration(self.seconds)}")}</text>',
        ]
        for row, line in enumerate(self.lines, 1):
            body += _svg_line(line, row * _ROW, scale)
        return "\n".join([*body, "</svg>"])

    def _repr_svg_(self) -> str:
        return self.draw_svg()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """What a notebook shows."""
        return {
            "text/plain": self.draw_text(),
            "image/svg+xml": self.draw_svg(),
            "text/vnd.mermaid": self.draw_mermaid(),
        }


def timeline(view: ThreadView) -> Timeline:
    """When the calls of a thread's last run ran; what is reused from an earlier attempt is where it ran then."""
    began = min((call.started for call in with_inner(view.calls) if call.started is not None), default=0.0)
    lines = tuple(_lines(view.calls, began))
    ends = (bar.start + bar.seconds for line in lines for bar in line.bars)
    return Timeline(f"{view.row.id}  {view.row.workflow}", lines, max(ends, default=0.0))


def _lines(calls: Sequence[CallView], began: float) -> Iterator[Line]:
    """A line for each call or place, and after it those of what was called there."""
    left = [_of_caller(calls, began, 0, True)]
    while left:
        for line, below, hot in left[-1]:
            yield line
            left.append(_of_caller(below, began, line.depth + 1, hot))
            break
        else:
            left.pop()


def _of_caller(
    calls: Sequence[CallView], began: float, depth: int, hot: bool
) -> Iterator[tuple[Line, Sequence[CallView], bool]]:
    """The lines of one caller's calls, in the order in which they began, with what was called in each and whether that
    is on the critical path. `hot`: so is the caller."""
    path = {id(call) for call in critical(calls)} if hot else set()
    timed = sorted((call for call in calls if call.started is not None), key=lambda call: call.started or 0.0)
    if len(timed) <= MOST:
        for call in timed:
            is_hot = id(call) in path
            yield Line(call.label, depth, (_bar(call, began, is_hot),)), call.calls, is_hot
        return
    groups: dict[tuple[str, str], list[CallView]] = {}
    for call in timed:
        groups.setdefault((call.name, call.site), []).append(call)
    for (name, _), group in groups.items():
        bars = tuple(_bar(call, began, id(call) in path) for call in group)
        below = [under for call in group for under in call.calls]
        yield Line(f"{name}: {len(group)} calls", depth, bars), below, False


def _bar(call: CallView, began: float, is_critical: bool) -> Bar:
    return Bar((call.started or 0.0) - began, call.seconds or 0.0, call.status, is_critical)


def _svg_line(line: Line, y: int, scale: float) -> Iterator[str]:
    label = _for_svg(_cut(line.label, 38 - 2 * line.depth))
    yield f'<text x="{8 + 14 * line.depth}" y="{y + _ROW * 0.7:.0f}">{label}</text>'
    for bar in line.bars:
        x, width = _LEFT + bar.start * scale, max(bar.seconds * scale, 2.0)
        hot = ' class="critical"' if bar.critical else ""
        colour = _COLOURS.get(bar.status, "#bbb")
        yield (
            f'<rect x="{x:.1f}" y="{y + 4}" width="{width:.1f}" height="{_ROW - 8}" rx="3" fill="{colour}"{hot}>'
            f"<title>{_for_svg(line.label)}: {escape(duration(bar.seconds))}</title></rect>"
        )


def _cut(text: str, most: int = _NAME) -> str:
    text = printable(text).replace("\n", " ").replace("\t", " ")
    return text if len(text) <= most else text[: most - 1] + "…"


def _for_svg(text: str) -> str:
    return escape("".join(mark if mark.isprintable() else "�" for mark in text))


def _for_mermaid(text: str) -> str:
    """A label without the marks that end one."""
    return "".join(" " if mark in ":;,#\n\r" or not mark.isprintable() else mark for mark in text)
