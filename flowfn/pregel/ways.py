"""The ways to a node, which are channels: an edge, and a join, which waits for several nodes.

Rule: the name of a channel says where it leads, so that it is known also of one that a program no longer has.
"""

from __future__ import annotations

from collections.abc import Sequence

_EDGE, _JOIN = "branch:to:", "join:"

_NOWHERE = "__end__"


def edge(node: str) -> str:
    """The channel that triggers a node."""
    return f"{_EDGE}{node}"


def join(sources: Sequence[str], node: str) -> str:
    """The channel that triggers a node once all of `sources` have written to it."""
    return f"{_JOIN}{'+'.join(sources)}:{node}"


def end(channel: str) -> str | None:
    """The node that a channel leads to; None where it leads nowhere."""
    found = channel.removeprefix(_EDGE) if channel.startswith(_EDGE) else None
    if is_join(channel):
        found = channel.rpartition(":")[2]
    return None if found == _NOWHERE else found


def is_join(channel: str) -> bool:
    """Whether it waits for several nodes."""
    return channel.startswith(_JOIN)


def sources(channel: str) -> str:
    """The nodes that a join waits for, in a line."""
    return channel.removeprefix(_JOIN).rpartition(":")[0]
