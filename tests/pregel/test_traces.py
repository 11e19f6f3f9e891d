"""Whole runs of hand-lowered graphs against traces recorded from LangGraph."""

from __future__ import annotations

import pytest

from flowfn.pregel import advance, begin
from flowfn.values import Send, Write

from .lowering import Graph, checkpoint, run

DIAMOND = Graph(("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"))
UNEVEN = [("a", "b"), ("b", "b2"), ("a", "c")]


def started(program):
    """The checkpoint after START has sent the run to its first node."""
    return checkpoint(program, x=[], **{"to:a": None})


def test_diamond():
    """C1: both branches run in one superstep, in alphabetical order, and their target once."""
    trace, last = run(DIAMOND.lowered(), started(DIAMOND.lowered()))
    assert (trace, last.values["x"]) == ([["a"], ["b", "c"], ["d"]], ["a", "b", "c", "d"])


def test_diamond_again():
    """C1: a second input on the same thread goes on with the state."""
    p = DIAMOND.lowered()
    _, last = run(p, started(p))
    again = advance(last, begin(p, last, [Write("x", ["j"]), Write("to:a", None)]))
    assert run(p, again)[1].values["x"] == ["a", "b", "c", "d", "j", "a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("edges", "deferred", "expected"),
    [
        ([(["b2", "c"], "d")], (), ["a", "b", "c", "b2", "d"]),
        ([("b2", "d"), ("c", "d")], (), ["a", "b", "c", "b2", "d", "d"]),
        ([("b2", "d"), ("c", "d")], ("d",), ["a", "b", "c", "b2", "d"]),
    ],
    ids=["join", "plain", "deferred"],
)
def test_uneven_branches(edges, deferred, expected):
    """C2: a join waits, plain edges run the target per arrival, a deferred target runs once at the end."""
    p = Graph(*UNEVEN, *edges).lowered(*deferred)
    assert run(p, started(p))[1].values["x"] == expected


def test_map_reduce():
    """C3: Sends run in one superstep, are applied in the order sent, and their common target runs once."""
    sends = [("sends", Send("w", i)) for i in (2, 0, 1)]
    runs = {
        "a": lambda state: [("x", ["gen"]), *sends],
        "w": lambda i: [("x", [f"w{i}"])],
    }
    p = Graph(("w", "r"), runs=runs).lowered()
    trace, last = run(p, started(p))
    assert trace == [["a"], ["w", "w", "w"], ["r"]]
    assert last.values["x"] == ["gen", "w2", "w0", "w1", "r"]


def test_goto_and_send_and_edge():
    """C4: a command's goto, its Send and a static edge add up; PULL b, PULL z, then PUSH b."""
    runs = {
        "a": lambda state: [("x", ["a"]), ("to:b", None), ("sends", Send("b", {"x": ["custom"]}))],
        "b": lambda state: [("x", [f"b{len(state['x'])}"])],
    }
    p = Graph(("a", "z"), runs=runs).lowered()
    assert run(p, started(p))[1].values["x"] == ["a", "b1", "z", "b1"]
