"""The last of any number of writes."""

from __future__ import annotations

from typing import Any

from flowfn import pregel
from flowfn.pregel import Channel
from graph_compat.channels.base import BaseChannel

__all__ = ["AnyValue"]


class AnyValue(BaseChannel[Any, Any, Any]):
    """Keeps the last of any number of writes, for one superstep."""

    __slots__ = ()
    rule: Channel = pregel.AnyValue()
