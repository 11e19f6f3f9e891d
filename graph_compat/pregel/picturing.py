"""What a program looks like: an arrow from each node to those that run on what it writes."""

from __future__ import annotations

from graph_compat import drawing
from graph_compat.constants import END, START
from graph_compat.drawing import NodeDescription, Route
from graph_compat.pregel.lowering import Description, listed


def described(program: Description) -> drawing.Description:
    """What is known of a program; a node that writes the channel `__end__`, as an entrypoint's does, may end it."""
    written = {name: {channel for channel, _ in node.writes} for name, node in program.nodes.items()}
    sources = {START: {*listed(program.input_channels)}, **written}
    nodes = {
        name: NodeDescription(node.actions[0] if node.actions else None, node.metadata)
        for name, node in program.nodes.items()
    }
    return drawing.Description(
        nodes={**nodes, START: NodeDescription()},
        edges=[
            (source, name)
            for source, channels in sources.items()
            for name, node in program.nodes.items()
            if not channels.isdisjoint(node.triggers)
        ],
        routes=[Route(name, END) for name, channels in written.items() if END in channels],
        interrupt_before=program.interrupt_before,
        interrupt_after=program.interrupt_after,
    )
