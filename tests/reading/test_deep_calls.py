"""Tasks that call themselves more deeply than Python's own limit: what they did can be looked at as well."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import pytest
from rich.text import Text

from checkpointers import MemorySaver
from flowfn import Thread, entrypoint, task
from flowfn.cli.tailing import ended
from flowfn.cli.terminal import print_json
from flowfn.drawing.journey import journey
from flowfn.errors import InvalidInput
from flowfn.history.reading import ThreadView, view
from flowfn.watching.tree import call_tree

DEPTH = 1200


@task
def below(levels: int) -> int:
    return levels if levels == 0 else below(levels - 1).result()


@pytest.fixture(scope="module")
def thread() -> Thread[Any, Any]:
    """A run whose task calls itself `DEPTH` times."""

    @entrypoint(checkpointer=MemorySaver())
    def descend(levels: int) -> int:
        return below(levels).result()

    assert sys.getrecursionlimit() < DEPTH
    thread = descend.thread("t")
    thread(DEPTH - 1)
    return thread


@pytest.fixture(scope="module")
def seen(thread: Thread[Any, Any]) -> ThreadView:
    """What is read of it without its program."""
    saver = thread.workflow._self_setup.checkpointer
    row = saver.thread("t")
    assert row is not None
    return view(saver, row)


def depth(calls: Sequence[Any], under: str = "calls") -> int:
    found = 0
    while calls:
        found, calls = found + 1, getattr(calls[0], under)
    return found


def test_its_history_has_all_calls(thread: Thread[Any, Any]) -> None:
    """Each under the one that called it."""
    *_, first = thread.history()
    assert depth(first.tasks[0].calls) == DEPTH


def test_it_is_read_without_its_program(seen: ThreadView) -> None:
    """As the command line does."""
    assert depth(seen.calls) == DEPTH


def test_it_is_shown_as_a_tree(seen: ThreadView) -> None:
    """`flowfn show`, and the live tree."""
    assert depth([call_tree(Text("t"), seen.calls)], "children") == 1 + DEPTH


def test_it_is_told_line_by_line(seen: ThreadView) -> None:
    """`flowfn tail`: the innermost call ended first, and none is told of twice."""
    told: set[tuple[int, str]] = set()
    assert [call.arguments for call in ended(seen.calls, told)] == [f"levels={n}" for n in range(DEPTH)]
    assert list(ended(seen.calls, told)) == []


def test_it_is_drawn(thread: Thread[Any, Any], seen: ThreadView) -> None:
    """The lines of `thread.timeline()` and the places of the run's graph."""
    lines = thread.timeline().lines
    assert [line.depth for line in lines] == list(range(DEPTH))
    assert [node.metadata and node.metadata["calls"] for node in journey(seen).nodes.values()] == [
        None,
        1,
        None,
    ]


def test_json_has_a_limit_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever reads it has one, too. It is Python's, and from 3.12 on a higher one."""
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(InvalidInput, match="nested too deeply for JSON: leave --json out"):
        print_json(nested)
    assert capsys.readouterr().out == ""
