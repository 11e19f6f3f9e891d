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
