"""Libraries that build on LangGraph, and programs of theirs, run unmodified on graph_compat.

A program in `programs/` is run twice, as `python program.py` and as `python -m graph_compat program.py`, and has to
print the same. What races in LangGraph, such as the order of parallel chunks, a program sorts before it prints.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

PROGRAMS = sorted(
    path for path in (Path(__file__).parent / "programs").glob("*.py") if path.name != "acting.py"
)


class Printed(NamedTuple):
    """What a program printed, and how it ended."""

    code: int
    out: str
    err: str


def both(program: Path, cwd: Path) -> tuple[Printed, Printed]:
    """A program on LangGraph, and on graph_compat; side by side, since most of their time is imports."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore::DeprecationWarning", "PYTHONHASHSEED": "0"}
    running = [
        subprocess.Popen(
            [sys.executable, *prefix, str(program)],
            cwd=cwd,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for prefix in ([], ["-m", "graph_compat"])
    ]
    ended = [(process.communicate(), process.returncode) for process in running]
    (theirs, ours) = (Printed(code, *texts) for texts, code in ended)
    return theirs, ours


@pytest.mark.timeout(300)  # of a machine that does much else: imports alone take seconds
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_prints_what_it_prints_on_langgraph(program: Path, tmp_path: Path) -> None:
    """Messages, chunks, questions, states and stores are LangGraph's."""
    theirs, ours = both(program, tmp_path)
    assert theirs.code == 0, theirs.err
    assert ours.code == 0, ours.err
    assert ours.out.splitlines() == theirs.out.splitlines()
    assert "graph_compat answers for langgraph" in ours.err


def test_a_difference_is_found(tmp_path: Path) -> None:
    """The two runs are on two libraries, and what they print is compared as it is."""
    program = tmp_path / "program.py"
    program.write_text("from langgraph.graph import StateGraph\nprint(StateGraph.__module__)\n")
    theirs, ours = both(program, tmp_path)
    assert (theirs.out, ours.out) == ("langgraph.graph.state\n", "graph_compat.graph.state\n")
