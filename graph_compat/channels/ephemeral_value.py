"""A value for one superstep."""

from __future__ import annotations

from typing import Any

from flowfn import pregel
from flowfn.lazy import lazily
from flowfn.pregel import Channel
from graph_compat.channels.base import BaseChannel, Value

__all__ = ["EphemeralValue"]


# What programs also import from here.
__getattr__, __dir__ = lazily(
    __name__,
    {
        **dict.fromkeys(("EmptyChannelError", "InvalidUpdateError"), "graph_compat.errors"),
    },
)


class EphemeralValue(BaseChannel[Value, Value, Value]):
    """Keeps a value for one superstep; `guard` refuses more than one write."""

    __slots__ = ("guard",)

    def __init__(self, typ: Any, guard: bool = True) -> None:
        super().__init__(typ)
        self.guard = guard

    @property
    def rule(self) -> Channel:
        return pregel.EphemeralValue(self.guard)
