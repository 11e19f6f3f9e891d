"""What many programs are made of. Nothing here imports LangGraph, so both libraries get the very same."""

import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, Any

from typing_extensions import TypedDict

from .trace import Trace

ONE: dict[str, Any] = {"configurable": {"thread_id": "1"}}
TWO: dict[str, Any] = {"configurable": {"thread_id": "2"}}


class State(TypedDict):
    """A list to which every node appends."""

    x: Annotated[list, operator.add]


def says(t: Trace, name: str) -> Callable[..., Any]:
    """A node that appends its name."""

    def node(state: State) -> dict[str, list[str]]:
        return {"x": [name]}

    return t.node(node)


def nodes(t: Trace, builder: Any, *names: str, **functions: Callable[..., Any]) -> Any:
    """The builder with a node for each name: one that says its name, or the given function in the caller's colour."""
    for name in names:
        builder.add_node(name, says(t, name))
    for name, function in functions.items():
        builder.add_node(name, t.node(function))
    return builder


def edges(builder: Any, *arrows: str) -> Any:
    """The builder with the edges of each arrow: `". a b ."` is START to a, a to b, and b to END."""
    for arrow in arrows:
        names = arrow.split(" ")
        if names[0] == ".":
            names[0] = "__start__"
        if names[-1] == ".":
            names[-1] = "__end__"
        for start, end in pairwise(names):
            builder.add_edge(start, end)
    return builder


def in_turn(t: Trace, config: dict[str, Any]) -> dict[str, Any]:
    """The config for a run of which the order among parallel nodes shows: one node after another.

    In asyncio nodes that wait for nothing run so anyway. Without it LangGraph may also lose what has finished in a
    blocking call beside a failing node; and with the limit it loses that in asyncio.
    """
    return config if t.asyncio else {**config, "max_concurrency": 1}
