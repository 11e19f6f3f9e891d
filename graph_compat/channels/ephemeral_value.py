"""A value for one superstep."""

from __future__ import annotations

from flowfn import pregel
from flowfn.pregel import Channel
from flowfn.python.lazy import lazily
from graph_compat.channels.base import Value
from graph_compat.channels.guarded import GuardedChannel

__all__ = ["EphemeralValue"]


# What programs also import from here.
__getattr__, __dir__ = lazily(
    __name__, dict.fromkeys(("EmptyChannelError", "InvalidUpdateError"), "graph_compat.errors")
)


class EphemeralValue(GuardedChannel[Value]):
    """Keeps a value for one superstep; `guard` refuses more than one write."""

    __slots__ = ()

    @property
    def rule(self) -> Channel:
        return pregel.EphemeralValue(self.guard)
