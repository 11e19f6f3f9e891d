"""Programs written for LangGraph do the same on graph_compat when the prefix of their imports is replaced."""

import functools

import pytest

from .loading import CALLERS, GRAPH_COMPAT, LANGGRAPH, Name, mark, names, run

# By the scope, the tests of one program follow each other, and find its traces where they were made.
of_each_program = pytest.mark.parametrize(
    "name", [pytest.param(name, id=str(name)) for name in names()], scope="session"
)


@functools.cache
def langgraphs(name: Name, caller: str) -> str:
    return run(name, LANGGRAPH, caller)


@pytest.mark.parametrize("caller", CALLERS)
@of_each_program
def test_both_libraries_leave_the_same_trace(name: Name, caller: str) -> None:
    """Results, chunks, snapshots, errors and their messages are those of LangGraph, unless the program says why not."""
    theirs = langgraphs(name, caller)
    ours = run(name, GRAPH_COMPAT, caller)
    if reason := mark(name, "differs"):
        assert ours != theirs, f"{name} no longer differs: take away @differs({reason!r})"
    else:
        assert ours.splitlines() == theirs.splitlines()


@of_each_program
def test_langgraph_treats_both_callers_alike(name: Name) -> None:
    """A program of which this isn't true says so, so that no difference between callers is ours unnoticed."""
    blocking, asyncio = (langgraphs(name, caller) for caller in CALLERS)
    if reason := mark(name, "differs_by_caller"):
        assert blocking != asyncio, f"{name} no longer differs: take away @differs_by_caller({reason!r})"
    else:
        assert asyncio.splitlines() == blocking.splitlines()
