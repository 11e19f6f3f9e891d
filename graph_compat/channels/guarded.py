"""Channels that refuse more than one write of a superstep, where they are told to guard."""

from __future__ import annotations

from typing import Any

from graph_compat.channels.base import Value, ValueChannel


class GuardedChannel(ValueChannel[Value, Value, Value]):
    """Refuses more than one write of a superstep; with `guard=False` the last one counts."""

    __slots__ = ("guard",)

    def __init__(self, typ: Any, guard: bool = True) -> None:
        super().__init__(typ)
        self.guard = guard
