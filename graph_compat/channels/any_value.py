"""The last of any number of writes."""

from __future__ import annotations

from flowfn import pregel
from flowfn.pregel import Channel
from flowfn.python.lazy import lazily
from graph_compat.channels.base import Value, ValueChannel

__all__ = ["AnyValue"]


# What programs also import from here.
__getattr__, __dir__ = lazily(
    __name__,
    {
        "EmptyChannelError": "graph_compat.errors",
    },
)


class AnyValue(ValueChannel[Value, Value, Value]):
    """Keeps the last of any number of writes, for one superstep."""

    __slots__ = ()
    rule: Channel = pregel.AnyValue()
