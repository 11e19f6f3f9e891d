"""Cells under headers, in columns as wide as the widest of them.

Where a cell has several lines, or the console is too narrow, rich's table does it. That measures, wraps and pads each
cell several times over, of which a list of 20,000 threads took half a minute.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from rich import table
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

_GAP = 2
"""Cells between columns."""


class Table:
    """Rows under `headers`; the columns of those in `right` are ranged right."""

    def __init__(self, *headers: str, right: Container[str] = ()) -> None:
        self._headers = [Text(name, style="bold") for name in headers]
        self._to_the_right = [name in right for name in headers]
        self._rows: list[Sequence[Text]] = []

    def add_row(self, *cells: Text | str) -> None:
        """A row with a cell for each header."""
        self._rows.append([Text(cell) if isinstance(cell, str) else cell for cell in cells])

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType | Segment]:
        rows = [self._headers, *self._rows]
        widths = [max(cell.cell_len for cell in column) for column in zip(*rows, strict=True)]
        fits = sum(widths) + _GAP * (len(widths) - 1) <= options.max_width
        if fits and all(cell.plain.isprintable() for row in rows for cell in row):
            for row in rows:
                yield from self._line(row, widths, console)
        else:
            yield self._folded()

    def _line(self, row: Iterable[Text], widths: Sequence[int], console: Console) -> Iterator[Segment]:
        before = 0
        for cell, width, right in zip(row, widths, self._to_the_right, strict=True):
            space = width - cell.cell_len
            yield Segment(" " * (before + space * right))
            yield from Segment.apply_style(cell.render(console), console.get_style(cell.style))
            before = _GAP + space * (not right)
        yield Segment(" " * (before - _GAP) + "\n")

    def _folded(self) -> table.Table:
        made = table.Table(box=None, pad_edge=False, header_style="bold")
        for header, right in zip(self._headers, self._to_the_right, strict=True):
            made.add_column(header, overflow="fold", justify="right" if right else "left")
        for row in self._rows:
            made.add_row(*row)
        return made
