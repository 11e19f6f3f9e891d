"""Random programs of either kind: which seeds are tried, and what each saw on either library.

`FLOWFN_EXAMPLES` is how many are tried, from seed `FLOWFN_SEED` on.
"""

import asyncio
import functools
import os
from collections.abc import Callable
from typing import Any

from .loading import GRAPH_COMPAT, LANGGRAPH
from .player import Incomparable
from .trace import Trace, drive

FIRST = int(os.environ.get("FLOWFN_SEED", "0"))

Make = Callable[[int, str, Trace], Any]
"""A seed, a library and a trace to what plays the program of that seed."""


def seeds(examples: int) -> range:
    """The seeds that are tried, so many where nobody says."""
    return range(FIRST, FIRST + int(os.environ.get("FLOWFN_EXAMPLES", examples)))


@functools.cache
def traced(make: Make, seed: int, library: str, caller: str) -> str | None:
    """What a random program saw; None where it says nothing."""
    trace = Trace(caller)
    return played(make(seed, library, trace), trace)


def played(player: Any, trace: Trace) -> str | None:
    """What a program saw that is played; None where it says nothing."""
    try:
        if trace.asyncio:
            asyncio.run(player.play())
        else:
            drive(player.play())
    except Incomparable:
        return None
    return trace.text


def traces(make: Make, seed: int, caller: str) -> tuple[list[str], list[str]]:
    """The lines of graph_compat's trace and of LangGraph's; none of a program that says nothing on one of them."""
    ours, theirs = (traced(make, seed, library, caller) for library in (GRAPH_COMPAT, LANGGRAPH))
    return ([], []) if ours is None or theirs is None else (ours.splitlines(), theirs.splitlines())


def silent(make: Make, tried: range, caller: str) -> list[int]:
    """The seeds of programs that say nothing."""
    return [seed for seed in tried if traced(make, seed, LANGGRAPH, caller) is None]
