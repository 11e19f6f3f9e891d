"""Channels of one value: the last one, and the last one once the run has no node left."""

from __future__ import annotations

from flowfn import pregel
from flowfn.pregel import Channel
from flowfn.python.lazy import lazily
from graph_compat.channels.base import BaseChannel, Value

__all__ = ["LastValue", "LastValueAfterFinish"]


# What programs also import from here.
__getattr__, __dir__ = lazily(
    __name__, dict.fromkeys(("EmptyChannelError", "InvalidUpdateError"), "graph_compat.errors")
)


class LastValue(BaseChannel[Value, Value, Value]):
    """Keeps the last value; takes one write per superstep."""

    __slots__ = ()
    rule: Channel = pregel.LastValue()


class LastValueAfterFinish(BaseChannel[Value, Value, Value]):
    """Keeps the last value, shows it once no node is left to run, and forgets it when read."""

    __slots__ = ()
    rule: Channel = pregel.LastValueAfterFinish()
