"""A value that isn't kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from flowfn import pregel
from flowfn.pregel import Channel
from flowfn.python.lazy import lend
from graph_compat.channels.base import Value
from graph_compat.channels.guarded import GuardedChannel

if TYPE_CHECKING:
    from graph_compat.errors import EmptyChannelError as EmptyChannelError
    from graph_compat.errors import InvalidUpdateError as InvalidUpdateError

__all__ = ["UntrackedValue"]


# What programs also import from here.
lend(__name__, dict.fromkeys(("EmptyChannelError", "InvalidUpdateError"), "graph_compat.errors"))


class UntrackedValue(GuardedChannel[Value]):
    """Keeps the last value in memory alone; `guard` refuses more than one write."""

    __slots__ = ()

    @property
    def rule(self) -> Channel:
        return pregel.UntrackedValue(self.guard)

    def copy(self) -> Self:
        new = self._empty()
        new._cell = self._cell
        return new
