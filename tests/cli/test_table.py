"""Tables and trees of the command line, as rich would lay them out."""

from __future__ import annotations

import io

import pytest
from rich import table
from rich.console import Console, RenderableType
from rich.text import Text
from rich.tree import Tree

from flowfn.cli.table import Table
from flowfn.watching.tree import CallTree

ROWS = [
    ("order-1", "12", "failed"),
    ("客户-2", "3", ""),
    ("o", "", "it said 👋 and went on for longer than a narrow terminal is wide"),
    ("", "4", "two\nlines"),
]

GUIDES = "│├─└"


def printed(page: RenderableType, width: int) -> list[tuple[str, str]]:
    """The characters that a terminal of a width is sent, each with its style, but for spaces and guides."""
    segments = Console(file=io.StringIO(), width=width, highlight=False).render(page)
    return [
        (char, "" if char.isspace() or char in GUIDES else str(style or "none"))
        for text, style, _ in segments
        for char in text
    ]


@pytest.mark.parametrize("width", [30, 80, 10_000])
@pytest.mark.parametrize("rows", [ROWS, ROWS[:3], ROWS[:1], []])
def test_a_table_is_laid_out_as_richs(rows: list[tuple[str, ...]], width: int) -> None:
    """Whether all fits in lines or has to be folded: wide characters, empty cells and styles included."""
    ours = Table("THREAD", "CALLS", "STATUS", right=("CALLS",))
    richs = table.Table(box=None, pad_edge=False, header_style="bold")
    for name in ("THREAD", "CALLS", "STATUS"):
        richs.add_column(name, overflow="fold", justify="right" if name == "CALLS" else "left")
    for thread, calls, status in rows:
        for each in (ours, richs):
            each.add_row(thread, calls, Text(status, style="red"))
    assert printed(ours, width) == printed(richs, width)


@pytest.mark.parametrize("width", [30, 80, 10_000])
def test_a_tree_is_laid_out_as_richs(width: int) -> None:
    """Guides before the first line of a call, and beside the lines that it is folded to."""
    ours, richs = CallTree(Text("t-1  order")), Tree(Text("t-1  order"))
    for tree in (ours, richs):
        for label in (
            "charge(客户=2)",
            "two\nlines",
            "a call that has to be folded where the terminal is narrow",
        ):
            branch = tree.add(Text.assemble(label, "  ", ("done", "green")))
            branch.add(Text("below it", style="dim")).add(Text("deeper, and also longer than fits"))
            branch.add(Text("beside that"))
    assert printed(ours, width) == printed(richs, width)


def test_what_is_nested_more_deeply_than_the_terminal_is_wide_is_shown() -> None:
    """It goes over the edge, where rich has no place for it."""
    tree = branch = CallTree(Text("t-1  order"))
    for number in range(40):
        branch = branch.add(Text(f"call-{number:02}  done"))
    shown = "".join(char for char, _ in printed(tree, 80))
    assert [f"call-{number:02}  done" in shown for number in range(40)] == [True] * 40
