"""The last of any number of writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn import pregel
from flowfn.pregel import Channel
from flowfn.python.lazy import lend
from graph_compat.channels.base import Value, ValueChannel

if TYPE_CHECKING:
    from graph_compat.errors import EmptyChannelError as EmptyChannelError

__all__ = ["AnyValue"]


# What programs also import from here.
lend(
    __name__,
    {
        "EmptyChannelError": "graph_compat.errors",
    },
)


class AnyValue(ValueChannel[Value, Value, Value]):
    """Keeps the last of any number of writes, for one superstep."""

    __slots__ = ()
    rule: Channel = pregel.AnyValue()
