"""Hand-lowered programs, and the interpreter loop that runs them: plan, run the nodes, apply."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flowfn.pregel import (
    Channel,
    EphemeralValue,
    LastValueAfterFinish,
    NamedBarrier,
    Node,
    Program,
    Reducer,
    Task,
    Topic,
    advance,
    apply,
    begin,
    plan,
)
from flowfn.values import Checkpoint, Write


def node(
    name: str, triggers: Iterable[str] = (), run: Callable[..., Any] = lambda state: [], **policies: Any
) -> Node:
    """A node that reads all of the state and returns its writes."""
    return Node(
        name, run, tuple(triggers), dict, lambda result: [Write(*pair) for pair in result], **policies
    )


def program(nodes: Iterable[Node], channels: Mapping[str, Channel], **options: Any) -> Program:
    """A program whose input is a mapping from channels to values."""
    return Program(
        {n.name: n for n in nodes},
        channels,
        lambda value: [Write(*item) for item in value.items()],
        dict,
        **options,
    )


def checkpoint(program: Program, **written: Any) -> Checkpoint:
    """The checkpoint in which `written` has just come in."""
    empty = Checkpoint("c")
    return advance(empty, begin(program, empty, [Write(*item) for item in written.items()]))


def superstep(program: Program, before: Checkpoint) -> tuple[list[Task], Checkpoint]:
    """Run what is due, last task first, and apply it."""
    tasks = plan(program, before)
    for task in reversed(tasks):
        task.writes = task.node.output(task.node.run(task.input))
    return tasks, advance(before, apply(program, before, tasks))


def run(program: Program, before: Checkpoint) -> tuple[list[list[str]], Checkpoint]:
    """Supersteps until nothing is due: the node names of each, and the last checkpoint."""
    trace = []
    while True:
        tasks, before = superstep(program, before)
        if not tasks:
            return trace, before
        trace.append([task.name for task in tasks])


class Graph:
    """Lowers nodes and edges as a `StateGraph` is lowered; node `k` appends "k" to the list `x`."""

    def __init__(self, *edges: tuple[Any, str], runs: Mapping[str, Callable[..., Any]] | None = None) -> None:
        self.edges, self.runs = edges, runs or {}

    def lowered(self, *deferred: str) -> Program:
        names = sorted({n for edge in self.edges for n in _names(edge)} | {*self.runs})
        channels: dict[str, Channel] = {"x": Reducer(operator.add, list), "sends": Topic()}
        channels |= {
            f"to:{n}": LastValueAfterFinish() if n in deferred else EphemeralValue(False) for n in names
        }
        channels |= {_join(a, b): NamedBarrier(frozenset(a)) for a, b in self.edges if isinstance(a, list)}
        return program([self._node(n) for n in names], channels, sends="sends")

    def _node(self, name: str) -> Node:
        body = self.runs.get(name, lambda state: [("x", [name])])
        joins = [_join(a, b) for a, b in self.edges if isinstance(a, list) and b == name]
        return node(name, [f"to:{name}", *joins], lambda state: [*body(state), *self._routes(name)])

    def _routes(self, name: str) -> list[tuple[str, Any]]:
        plain = [(f"to:{b}", None) for a, b in self.edges if a == name]
        return plain + [(_join(a, b), name) for a, b in self.edges if isinstance(a, list) and name in a]


def _names(edge: tuple[Any, str]) -> list[str]:
    source, target = edge
    return [*(source if isinstance(source, list) else [source]), target]


def _join(sources: list[str], target: str) -> str:
    return f"join:{'+'.join(sources)}:{target}"
