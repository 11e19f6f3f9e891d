"""A list of what was written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flowfn import pregel
from flowfn.pregel import Channel
from flowfn.python.lazy import lend
from flowfn.values import MISSING
from graph_compat.channels.base import BaseChannel, Value

if TYPE_CHECKING:
    from graph_compat.errors import EmptyChannelError as EmptyChannelError

__all__ = ["Topic"]


# What programs also import from here.
lend(
    __name__,
    {
        "EmptyChannelError": "graph_compat.errors",
    },
)


class Topic(BaseChannel[Value, Value, Value]):
    """Collects every write of a superstep, or with `accumulate` of all."""

    __slots__ = ("accumulate",)

    def __init__(self, typ: Any, accumulate: bool = False) -> None:
        super().__init__(typ)
        self.accumulate = accumulate

    @property
    def rule(self) -> Channel:
        return pregel.Topic(self.accumulate)

    @property
    def values(self) -> list[Any]:
        """What was collected, in the list that it is kept in."""
        if self._cell is MISSING:
            self._cell = []
        return self._cell  # type: ignore[no-any-return]

    @values.setter
    def values(self, values: list[Any]) -> None:
        self._cell = values

    def _now(self) -> Any:
        return self._cell or MISSING

    @property
    def ValueType(self) -> Any:
        return Sequence[self.typ]  # type: ignore[name-defined]

    @property
    def UpdateType(self) -> Any:
        return self.typ | list[self.typ]  # type: ignore[name-defined]
