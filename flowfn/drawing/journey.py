"""The way that a run took, drawn from its records.

Rule: calls of one place in the code are one node, with their number, how they stand and how long they took. An edge
says that a call waited for another (`waits`): solid where the value of that one is seen in its arguments, dashed where
it isn't. Whatever ran is there, and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING

from flowfn.drawing.graph import Edge, Graph, Node
from flowfn.drawing.waits import Waits, critical, uses
from flowfn.rendering import duration

if TYPE_CHECKING:
    from flowfn.history.reading import CallView, ThreadView

__all__ = ["journey"]

START = "__start__"
END = "__end__"

_WORST = ("failed", "in_doubt", "asked", "waiting", "running")
"""Of the calls of one node, the first of these that there is is its status; else that of the last call."""

_LOOKS = 100
"""How many pairs of calls of two places are looked at for a value that one made and the other used."""


def journey(view: ThreadView, xray: int | bool = False) -> Graph:
    """The picture of a thread's last run; it leads to the end only if the run is done.

    The metadata of a node has the `status`, the number of `calls`, the `site` (file:line) of calls, the `time` of all
    its calls, and `critical` where one of them is on the critical path.

    Args:
        xray: draw the calls that calls made too: all, or so many levels of them.
    """
    return _drawn([view.calls], view.row.status == "done", xray, _on_critical_paths(view.calls))


def _on_critical_paths(calls: Sequence[CallView]) -> set[str]:
    """The ids of the calls on the critical path, and on those within them."""
    found: set[str] = set()
    left = [calls]
    while left:
        path = critical(left.pop())
        found.update(call.id for call in path)
        left += [call.calls for call in path]
    return found


def _drawn(
    scopes: Sequence[Sequence[CallView]],
    is_done: bool,
    xray: int | bool,
    hot: set[str],
    caller: Node | None = None,
) -> Graph:
    """The calls of some callers as one graph; `caller` is the node of all of these."""
    groups: dict[tuple[str, str], list[CallView]] = {}
    for call in chain.from_iterable(scopes):
        groups.setdefault((call.name, call.site), []).append(call)
    nodes = {START: Node(START, START, None, None)} | ({} if caller is None else {caller.id: caller})
    keys = {}
    for place, group in groups.items():
        key = keys[place] = _unused(place[0], nodes)
        nodes[key] = _node(key, group, hot)
    edges = {} if caller is None else {(START, caller.id): True}
    entry = START if caller is None else caller.id
    for calls in scopes:
        _add_waits(edges, calls, keys, entry)
    if is_done:
        nodes[END] = Node(END, END, None, None)
        last = [keys[call.name, call.site] for calls in scopes for call in Waits(calls).last()]
        edges |= {(key, END): True for key in last or [entry]}
    graph = Graph(nodes, [Edge(*step, conditional=not solid) for step, solid in edges.items()])
    if xray:
        left = xray if isinstance(xray, bool) else xray - 1
        for place, group in groups.items():
            below = [call.calls for call in group if call.calls]
            if below:
                graph.expand(keys[place], _drawn(below, True, left, hot, nodes[keys[place]]))
    return graph


def _add_waits(
    edges: dict[tuple[str, str], bool],
    calls: Sequence[CallView],
    keys: Mapping[tuple[str, str], str],
    entry: str,
) -> None:
    """Add the edges between the calls of one caller, which is at `entry`; True for those that carry a value."""
    waits, looked, seen = Waits(calls), Counter[tuple[str, str]](), set[tuple[str, ...]]()
    for call in calls:
        target = keys[call.name, call.site]
        before = waits.for_(call)
        if not before:
            edges.setdefault((entry, target), True)
        elif (same := (before[0].id, before[-1].id, target)) not in seen:
            seen.add(same)
            for source in {keys[earlier.name, earlier.site]: None for earlier in before}:
                if source != target:
                    edges.setdefault((source, target), False)
        for earlier in reversed(waits.before(call)[-_LOOKS:]):
            step = keys[earlier.name, earlier.site], target
            if step[0] == target or edges.get(step) or looked[step] > _LOOKS:
                continue
            looked[step] += 1
            if uses(call, earlier):
                edges[step] = True


def _unused(name: str, taken: Container[str]) -> str:
    return next(key for key in chain([name], (f"{name}_{number}" for number in count(2))) if key not in taken)


def _node(key: str, calls: Sequence[CallView], hot: set[str]) -> Node:
    states = {call.status for call in calls}
    status = next((each for each in _WORST if each in states), calls[-1].status)
    metadata = {"status": status, "calls": len(calls)}
    if calls[0].site:
        metadata["site"] = calls[0].site
    seconds = sum(call.seconds or 0.0 for call in calls)
    if seconds >= 0.001:
        metadata["time"] = duration(seconds)
    if any(call.id in hot for call in calls):
        metadata["critical"] = True
    return Node(key, calls[0].name, None, metadata)
