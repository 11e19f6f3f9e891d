"""Channels that wait until all of certain names were written."""

from __future__ import annotations

from typing import Any

from flowfn import pregel
from flowfn.pregel import Channel
from flowfn.python.lazy import lazily
from flowfn.values import MISSING
from graph_compat.channels.base import BaseChannel, Value

__all__ = ["NamedBarrierValue", "NamedBarrierValueAfterFinish"]


# What programs also import from here.
__getattr__, __dir__ = lazily(
    __name__, dict.fromkeys(("EmptyChannelError", "InvalidUpdateError"), "graph_compat.errors")
)


class NamedBarrierValue(BaseChannel[Value, Value, Value]):
    """Waits until each of `names` was written; its value is None."""

    __slots__ = ("names",)

    def __init__(self, typ: Any, names: set[str]) -> None:
        super().__init__(typ)
        self.names = names

    @property
    def rule(self) -> Channel:
        return pregel.NamedBarrier(frozenset(self.names))

    def checkpoint(self) -> Any:
        return set() if self._cell is MISSING else set(self._cell)


class NamedBarrierValueAfterFinish(NamedBarrierValue[Value]):
    """A `NamedBarrierValue` that also waits until no other node is left to run."""

    __slots__ = ()

    @property
    def rule(self) -> Channel:
        return pregel.NamedBarrierAfterFinish(frozenset(self.names))

    def checkpoint(self) -> Any:
        names, finished = ((), False) if self._cell is MISSING else self._cell
        return set(names), finished
