"""What a graph must be before it can run: its edges and commands lead from and to nodes that exist.

Rule: the texts are LangGraph's, and of several mistakes the one that LangGraph finds first is told.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from graph_compat.constants import CONF, END, SENDS, START

if TYPE_CHECKING:
    from graph_compat.graph.state import StateGraph


def check_name(name: str, taken: Collection[str]) -> None:
    """Refuse a name that no node may have.

    Raises:
        ValueError: it is taken, is START or END, or has a character with a meaning in namespaces.
    """
    if name in taken:
        raise ValueError(f"Node `{name}` already present.")
    if name in (START, END):
        raise ValueError(f"Node `{name}` is reserved.")
    for character in _RESERVED:
        if character in name:
            raise ValueError(f"'{character}' is a reserved character and is not allowed in the node names.")


_RESERVED = ("|", ":")


def check_graph(builder: StateGraph[Any, Any, Any, Any], stops: Sequence[str]) -> None:
    """Refuse a graph that can't run, or can't stop at one of `stops`.

    Raises:
        ValueError: says why.
    """
    _check_reserved(builder)
    joined = [(start, end) for starts, end in builder.waiting_edges for start in starts]
    edges = [*builder.edges, *joined]
    _check_sources(builder, edges)
    _check_ends(builder, edges)
    for node in stops:
        if node not in builder.nodes:
            raise ValueError(f"Interrupt node `{node}` not found")


def _check_reserved(builder: StateGraph[Any, Any, Any, Any]) -> None:
    if SENDS in builder.channels:
        raise ValueError(f"Channel '{SENDS}' is reserved and cannot be used in the graph")
    for kind, names in (("Channel", builder.channels), ("Node", builder.nodes)):
        if CONF in names:
            raise ValueError(f"{kind} name '{CONF}' is reserved. Choose another")


def _check_sources(builder: StateGraph[Any, Any, Any, Any], edges: Sequence[tuple[str, str]]) -> None:
    for source in {*(start for start, _ in edges), *builder.branches}:
        if source not in builder.nodes and source != START:
            raise ValueError(f"Found edge starting at unknown node '{source}'")
    if not builder.branches.get(START) and not any(start == START for start, _ in edges):
        raise ValueError("Graph must have an entrypoint: add at least one edge from START to another node")


def _check_ends(builder: StateGraph[Any, Any, Any, Any], edges: Sequence[tuple[str, str]]) -> None:
    known = {*builder.nodes, END}
    for source, branches in builder.branches.items():
        for name, branch in branches.items():
            for end in branch.ends.values() if branch.ends is not None else ():
                if end not in known:
                    raise ValueError(f"At '{source}' node, '{name}' branch found unknown target '{end}'")
    commanded = [end for spec in builder.nodes.values() if not spec.is_error_handler for end in spec.ends]
    for end in (*(end for _, end in edges), *commanded):
        if end not in known:
            raise ValueError(f"Found edge ending at unknown node `{end}`")
