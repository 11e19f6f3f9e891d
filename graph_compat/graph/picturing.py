"""What a compiled graph looks like: its shape, as the description that pictures are drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graph_compat.constants import START
from graph_compat.drawing import Description, NodeDescription, Route

if TYPE_CHECKING:
    from graph_compat.graph.compiled_state import CompiledStateGraph


def described(graph: CompiledStateGraph[Any, Any, Any, Any]) -> Description:
    """What is known of a graph before it runs."""
    shape, shown = graph._shape, graph.nodes
    routes = [
        Route(source, target, str(key))
        for source, named in shape.branches.items()
        for branch in named.values()
        for key, target in (branch.ends or {}).items()
    ]
    for name, spec in shape.nodes.items():
        labels = spec.ends if isinstance(spec.ends, Mapping) else dict.fromkeys(spec.ends)
        routes += [Route(name, target, label) for target, label in labels.items()]
    nodes = {START: NodeDescription(shown[START].bound)}
    for name, spec in shape.nodes.items():
        nodes[name] = NodeDescription(shown[name].bound, spec.metadata, spec.defer)
    return Description(
        nodes=nodes,
        edges=shape.edges,
        joins=shape.waiting_edges,
        routes=routes,
        interrupt_before=graph.interrupt_before_nodes,
        interrupt_after=graph.interrupt_after_nodes,
    )
