"""What a program's environment says, and what it is told outside its code: looked at in processes of their own."""

import os
import subprocess
import sys

import pytest

from .loading import GRAPH_COMPAT, LANGGRAPH

LOOPS = """
from typing import TypedDict
from {library}.errors import GraphRecursionError
from {library}.graph import StateGraph

class Count(TypedDict):
    n: int

builder = StateGraph(Count).add_node("up", lambda state: {{"n": state["n"] + 1}}).set_entry_point("up")
builder.add_conditional_edges("up", lambda state: "up" if state["n"] < 9 else "__end__", ["up", "__end__"])
inner = builder.compile()
outer = StateGraph(Count).add_node("in", lambda state: inner.invoke(state)).set_entry_point("in").compile()
for graph in (inner, outer):
    for config in ({{}}, {{"recursion_limit": 50}}):
        try:
            print(graph.invoke({{"n": 0}}, config))
        except GraphRecursionError as error:
            print(str(error).partition(" without")[0])
"""

MISSPELT = """
from {library}.graph import StateGraph
from {library}.types import Command

graph = StateGraph(dict).add_node("a", lambda state: Command(goto="misspelt")).set_entry_point("a").compile()
graph.invoke({{}})
"""


def process(program: str, library: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program that has ended."""
    return subprocess.run(
        [sys.executable, "-c", program.format(library=library)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.parametrize("library", [LANGGRAPH, GRAPH_COMPAT])
def test_the_environment_may_have_the_default_of_the_recursion_limit(library: str) -> None:
    """A call that names no limit has that of LANGGRAPH_DEFAULT_RECURSION_LIMIT."""
    told = process(LOOPS, library, LANGGRAPH_DEFAULT_RECURSION_LIMIT="5").stdout
    assert told.splitlines() == ["Recursion limit of 5 reached", "{'n': 9}"] * 2


@pytest.mark.parametrize("library", [LANGGRAPH, GRAPH_COMPAT])
def test_a_misspelt_target_is_told_of_on_stderr(library: str) -> None:
    """A command that leads to a node that isn't there is told of where the program configures no logging."""
    told = process(MISSPELT, library).stderr
    assert [line.count("branch:to:misspelt") for line in told.splitlines()] == [1]


def test_a_program_that_configures_logging_is_told_once() -> None:
    """Its own handlers are told of it, and nobody else."""
    told = process(
        "import logging; logging.basicConfig(format='own %(message)s')" + MISSPELT, GRAPH_COMPAT
    ).stderr
    assert [line.partition(" ")[0] for line in told.splitlines()] == ["own"]


def test_a_program_that_silences_flowfn_is_told_nothing() -> None:
    """A handler of flowfn's logger alone is one too."""
    silent = "import logging; logging.getLogger('flowfn').addHandler(logging.NullHandler())"
    assert process(silent + MISSPELT, GRAPH_COMPAT).stderr == ""
