"""A run's calls as a tree for a terminal, read from its records or heard from its events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.text import Text
from rich.tree import Tree

from flowfn.history.reading import CallView, Unreadable, describe
from flowfn.rendering import duration, in_line, printable, render_value

__all__ = ["STYLES", "CallTree", "call_text", "call_tree", "status_text", "without_lines"]

STYLES = {
    "done": "green",
    "answered": "green",
    "reused": "green dim",
    "cached": "green dim",
    "running": "cyan",
    "retried": "yellow",
    "interrupted": "yellow",
    "asked": "yellow",
    "waiting": "yellow",
    "failed": "red",
    "killed": "red",
    "in_doubt": "red",
    "cancelled": "dim",
    "due": "dim",
}


_WITH_A_RESULT = ("done", "answered")

_ENDED_WELL = ("done", "answered", "reused", "cached")


_MOST = 80
"""Characters of a result that are shown."""

_NARROWEST = 20
"""Cells that a line has at least: what is nested more deeply than the console is wide goes over its edge."""


class CallTree:
    """A line of text, and below it those of its children.

    As rich's tree, which lays out each line so many times that a run of 100,000 calls took it half a minute, and has no
    place for those that are nested more deeply than the console is wide.
    """

    def __init__(self, text: Text) -> None:
        self.text = text
        self.children: list[CallTree] = []
        self.counted = 0
        """How many of its calls have no line of their own."""

    def add(self, text: Text) -> CallTree:
        """A new branch, below those that there are."""
        branch = CallTree(text)
        self.children.append(branch)
        return branch

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Its lines; the guides before one are for its beginning, and for where it is folded."""
        space, beside, fork, end = Tree.ASCII_GUIDES if options.ascii_only else Tree.TREE_GUIDES[0]
        left = [(self, "", "")]
        while left:
            tree, guide, further = left.pop()
            for line in _folded(tree.text, console, options.max_width - len(further)):
                yield Segment(guide)
                yield from Segment.apply_style(line.render(console), console.get_style(line.style))
                yield Segment.line()
                guide = further
            below = [(branch, further + fork, further + beside) for branch in tree.children[:-1]]
            below += [(branch, further + end, further + space) for branch in tree.children[-1:]]
            left += reversed(below)


def _folded(text: Text, console: Console, width: int) -> Sequence[Text]:
    if text.cell_len <= width and text.plain.isprintable():
        return [text]
    return list(text.wrap(console, max(width, _NARROWEST)))


def call_tree(
    head: Text, calls: Sequence[CallView], most: int | None = None, *, results: bool = False
) -> CallTree:
    """A tree whose root says `head`, with a branch for each call.

    Args:
        results: say in short what each came to.
        most: of one caller's calls show at most so many one by one, and count the others that ended, those that ended
            well first, and of each kind the first.
    """
    tree = CallTree(head)
    _grow(tree, calls, most, results)
    return tree


def _grow(tree: CallTree, calls: Sequence[CallView], most: int | None, results: bool) -> None:
    left = [(tree, calls)]
    while left:
        branch, made = left.pop()
        left += [
            (branch.add(call_text(call, result=results)), call.calls) for call in _shown(branch, made, most)
        ]


def without_lines(tree: CallTree) -> int:
    """How many calls are only counted in a tree."""
    found, left = 0, [tree]
    while left:
        branch = left.pop()
        found += branch.counted
        left += branch.children
    return found


def _shown(tree: CallTree, calls: Sequence[CallView], most: int | None) -> Sequence[CallView]:
    """Those of one caller's calls that have a branch each; the others are counted."""
    if most is not None and len(calls) > most:
        ended = [call for call in calls if call.status in _ENDED_WELL]
        ended += [call for call in calls if call.status == "failed"]
        hidden = ended[: len(calls) - most]
        tree.counted += len(hidden)
        for (name, status), count in Counter((call.name, call.status) for call in hidden).items():
            tree.add(Text.assemble(in_line(f"{name}: {count} calls"), "  ", status_text(status)))
        left_out = set(map(id, hidden))
        return [call for call in calls if id(call) not in left_out]
    return calls


def call_text(call: CallView, *, result: bool = False) -> Text:
    """A call in a line: what was called, how it stands, how long it took, how often it was tried; its result in short,
    if that is wanted.

    A node has the number of its superstep before it.
    """
    step = "" if call.step is None else f"{call.step}  "
    text = Text.assemble((step, "dim"), in_line(call.label), "  ", status_text(call.status))
    if call.seconds is not None:
        text.append(f"  {duration(call.seconds)}", style="dim")
    if call.attempts > 1:
        text.append(f"  {call.attempts} attempts", style="yellow")
    if call.status == "failed":
        text.append(f"  {printable(describe(call.result))}", style="red")
    if call.answered_by is not None:
        text.append(f"  by {in_line(call.answered_by)}", style="dim")
    if call.decision:
        text.append(f"  {in_line(call.decision)}", style="dim")
    if result and call.status in _WITH_A_RESULT:
        text.append(_came_to(call), style="dim")
    return text


def _came_to(call: CallView) -> str:
    """What a call came to, in short; nothing where that is None, or known to its program only. Of `flowfn.sleep()` it
    is when that wakes."""
    if call.result is None or isinstance(call.result, Unreadable):
        return ""
    if call.qualified == "flowfn.sleep" and isinstance(call.result, float):
        with suppress(ValueError, OverflowError, OSError):  # a time that no calendar has
            return f"  until {datetime.fromtimestamp(call.result, UTC):%Y-%m-%d %H:%M:%S} UTC"
    if isinstance(call.result, datetime):
        return f"  → {call.result}"
    return f"  → {in_line(render_value(call.result, _MOST))}"


def status_text(status: str) -> Text:
    """How something stands, in its colour."""
    return Text(in_line(status), style=STYLES.get(status, ""))
