"""Random programs do the same wherever their threads are kept, though nothing but what is stored outlives a step.

Before each operation of a program a new saver opens the database and the graph is made anew, as other processes would.
What it leaves is compared with the same program in memory, of which the tests beside this one say that it does what
LangGraph does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpointers import MemorySaver, PostgresSaver, SqliteSaver
from flowfn.ports import Saver

from .generator import Graph, Program, program
from .loading import CALLERS, GRAPH_COMPAT
from .player import Player
from .seeds import played, seeds
from .trace import Trace

SEEDS = seeds(15)

Open = Callable[[], Saver]


class Reopening(Player):
    """A program whose graph is made anew for each operation, on what `opened` opens."""

    def __init__(self, program: Program, trace: Trace, opened: Open) -> None:
        operations = [dataclasses.replace(operation, anew=True) for operation in program.operations]
        super().__init__(dataclasses.replace(program, operations=operations), GRAPH_COMPAT, trace)
        self.opened = opened
        self.saver: Any = None

    def built(self, graph: Graph, checkpointer: Any) -> Any:
        if graph is not self.program.graph:
            return super().built(graph, checkpointer)
        if self.saver is not None:
            self.saver.close()
        self.saver = self.opened()
        return super().built(graph, self.saver)


class Kept(MemorySaver):
    """Memory that a `close` leaves as it is."""

    def close(self) -> None:
        return None


def kept(seed: int, caller: str, opened: Open) -> str | None:
    """The trace of a program that `opened` keeps; None if it says nothing."""
    trace = Trace(caller)
    player = Reopening(program(seed), trace, opened)
    try:
        return played(player, trace)
    finally:
        if player.saver is not None:
            player.saver.close()


def in_memory(seed: int, caller: str) -> str | None:
    memory = Kept()
    return kept(seed, caller, lambda: memory)


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_sqlite_leaves_the_same_trace(seed: int, caller: str, tmp_path: Path) -> None:
    """G7, section 5: a file that is closed between any two steps keeps what memory does."""
    assert kept(seed, caller, lambda: SqliteSaver(tmp_path / "runs.db")) == in_memory(seed, caller)


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_postgres_leaves_the_same_trace(seed: int, caller: str, postgres_url: str) -> None:
    """G7, section 5: a server keeps what memory does, for whoever connects next."""
    assert kept(seed, caller, lambda: PostgresSaver(postgres_url)) == in_memory(seed, caller)


@pytest.mark.parametrize("caller", CALLERS)
def test_most_programs_say_something(caller: str) -> None:
    """What the tests before this one compare is seldom nothing."""
    assert sum(in_memory(seed, caller) is None for seed in SEEDS) <= len(SEEDS) / 3
