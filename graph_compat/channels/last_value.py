"""Channels of one value: the last one, and the last one once the run has no node left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowfn import pregel
from flowfn.pregel import Channel
from flowfn.python.lazy import lend
from flowfn.values import MISSING
from graph_compat.channels.base import BaseChannel, Value, ValueChannel

if TYPE_CHECKING:
    from graph_compat.errors import EmptyChannelError as EmptyChannelError
    from graph_compat.errors import InvalidUpdateError as InvalidUpdateError

__all__ = ["LastValue", "LastValueAfterFinish"]


# What programs also import from here.
lend(__name__, dict.fromkeys(("EmptyChannelError", "InvalidUpdateError"), "graph_compat.errors"))


class LastValue(ValueChannel[Value, Value, Value]):
    """Keeps the last value; takes one write per superstep."""

    __slots__ = ()
    rule: Channel = pregel.LastValue()


class LastValueAfterFinish(BaseChannel[Value, Value, Value]):
    """Keeps the last value, shows it once no node is left to run, and forgets it when read."""

    __slots__ = ()
    rule: Channel = pregel.LastValueAfterFinish()

    @property
    def value(self) -> Any:
        """The last value; `MISSING` for none."""
        return MISSING if self._cell is MISSING else self._cell[0]

    @value.setter
    def value(self, value: Any) -> None:
        self._cell = MISSING if value is MISSING else (value, self.finished)

    @property
    def finished(self) -> bool:
        """Whether no node is left to run."""
        return self._cell is not MISSING and bool(self._cell[1])

    @finished.setter
    def finished(self, finished: bool) -> None:
        if self._cell is not MISSING:
            self._cell = (self._cell[0], finished)
