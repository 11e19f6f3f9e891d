"""Channels that wait until all of certain names were written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowfn import pregel
from flowfn.pregel import Channel
from flowfn.python.lazy import lend
from flowfn.values import MISSING
from graph_compat.channels.base import BaseChannel, Value

if TYPE_CHECKING:
    from graph_compat.errors import EmptyChannelError as EmptyChannelError
    from graph_compat.errors import InvalidUpdateError as InvalidUpdateError

__all__ = ["NamedBarrierValue", "NamedBarrierValueAfterFinish"]


# What programs also import from here.
lend(__name__, dict.fromkeys(("EmptyChannelError", "InvalidUpdateError"), "graph_compat.errors"))


class NamedBarrierValue(BaseChannel[Value, Value, Value]):
    """Waits until each of `names` was written; its value is None."""

    __slots__ = ("names",)

    def __init__(self, typ: Any, names: set[str]) -> None:
        super().__init__(typ)
        self.names = names

    @property
    def rule(self) -> Channel:
        return pregel.NamedBarrier(frozenset(self.names))

    @property
    def seen(self) -> set[str]:
        """The names that were written: a copy; to change them, set it."""
        return set() if self._cell is MISSING else set(self._cell)

    @seen.setter
    def seen(self, seen: set[str]) -> None:
        self._cell = frozenset(seen)

    def checkpoint(self) -> Any:
        return self.seen


class NamedBarrierValueAfterFinish(NamedBarrierValue[Value]):
    """A `NamedBarrierValue` that also waits until no other node is left to run."""

    __slots__ = ()

    @property
    def rule(self) -> Channel:
        return pregel.NamedBarrierAfterFinish(frozenset(self.names))

    def checkpoint(self) -> Any:
        return self.seen, self.finished

    @property
    def seen(self) -> set[str]:
        return set() if self._cell is MISSING else set(self._cell[0])

    @seen.setter
    def seen(self, seen: set[str]) -> None:
        self._cell = (frozenset(seen), self.finished)

    @property
    def finished(self) -> bool:
        """Whether no other node is left to run."""
        return self._cell is not MISSING and bool(self._cell[1])

    @finished.setter
    def finished(self, finished: bool) -> None:
        self._cell = (frozenset(self.seen), finished)
