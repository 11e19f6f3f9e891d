"""The way that a run took, drawn from its records.

Rule: calls of one place in the code are one node, with their number and how they stand; an edge says that a call was
made after another, not that it used its result. Whatever ran is there, and nothing else.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import chain, count, pairwise
from typing import TYPE_CHECKING

from flowfn.drawing.graph import Edge, Graph, Node

if TYPE_CHECKING:
    from flowfn.reading import CallView, ThreadView

__all__ = ["journey"]

START = "__start__"
END = "__end__"

_WORST = ("failed", "in_doubt", "asked", "waiting", "running")
"""Of the calls of one node, the first of these that there is is its status; else that of the last call."""


def journey(view: ThreadView, xray: int | bool = False) -> Graph:
    """The picture of a thread's last run; it leads to the end only if the run is done.

    The metadata of a node has the `status`, the number of `calls` and the `site` (file:line).

    Args:
        xray: draw the calls that calls made too: all, or so many levels of them.
    """
    return _drawn(view.calls, view.row.status == "done", xray)


def _drawn(calls: Sequence[CallView], is_done: bool, xray: int | bool, caller: Node | None = None) -> Graph:
    groups: dict[tuple[str, str], list[CallView]] = {}
    for call in calls:
        groups.setdefault((call.name, call.site), []).append(call)
    nodes = {START: Node(START, START, None, None)} | ({} if caller is None else {caller.id: caller})
    keys = {}
    for place, group in groups.items():
        key = keys[place] = _unused(place[0], nodes)
        nodes[key] = _node(key, group)
    path = [*nodes][: 1 if caller is None else 2] + [keys[call.name, call.site] for call in calls]
    if is_done:
        nodes[END] = Node(END, END, None, None)
        path.append(END)
    graph = Graph(nodes, [Edge(*step) for step in dict.fromkeys(pairwise(path)) if step[0] != step[1]])
    if xray:
        left = xray if isinstance(xray, bool) else xray - 1
        for place, group in groups.items():
            below = [under for call in group for under in call.calls]
            if below:
                graph.expand(keys[place], _drawn(below, True, left, nodes[keys[place]]))
    return graph


def _unused(name: str, taken: Container[str]) -> str:
    return next(key for key in chain([name], (f"{name}_{number}" for number in count(2))) if key not in taken)


def _node(key: str, calls: Sequence[CallView]) -> Node:
    states = {call.status for call in calls}
    status = next((each for each in _WORST if each in states), calls[-1].status)
    return Node(key, calls[0].name, None, {"status": status, "calls": len(calls), "site": calls[0].site})
