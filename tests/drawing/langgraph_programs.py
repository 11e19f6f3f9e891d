"""LangGraph builders as descriptions, so that one program can be drawn by both."""

import operator
import warnings
from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from graph_compat.drawing import Description, NodeDescription, Route, picture

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from langgraph.graph import StateGraph


class State(TypedDict):
    """One key that any number of nodes may write."""

    log: Annotated[list[str], operator.add]


def passes(state: State) -> dict[str, Any]:
    """A node that does nothing."""
    return {}


def builder() -> Any:
    """An empty graph."""
    return StateGraph(State)


def described(compiled: Any) -> Description:
    """What a compiled graph of LangGraph's is, from the public attributes of its builder."""
    built = compiled.builder
    branches = [
        (source, branch.ends) for source, named in built.branches.items() for branch in named.values()
    ]
    routes = [
        Route(source, target, str(key)) for source, ends in branches for key, target in (ends or {}).items()
    ]
    for name, node in built.nodes.items():
        labels = node.ends if isinstance(node.ends, Mapping) else dict.fromkeys(node.ends or ())
        routes += [Route(name, target, label) for target, label in labels.items()]
    start = compiled.nodes["__start__"].bound
    nodes = {"__start__": NodeDescription(start)}
    for name, node in built.nodes.items():
        nodes[name] = NodeDescription(compiled.nodes[name].bound, node.metadata, node.defer)
    return Description(
        nodes=nodes,
        edges=built.edges,
        joins=built.waiting_edges,
        routes=routes,
        interrupt_before=compiled.interrupt_before_nodes,
        interrupt_after=compiled.interrupt_after_nodes,
    )


def drawn(compiled: Any, xray: Any = False) -> Any:
    """The picture of LangGraph's graph, drawn by graph_compat."""
    inner = dict(compiled.get_subgraphs())

    def inside(name: str, left: Any) -> Any:
        return drawn(inner[name], left) if name in inner else None

    return picture(described(compiled), xray, inside)
