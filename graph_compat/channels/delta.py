"""A value that the writes of a superstep are folded into at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from flowfn import pregel
from flowfn.pregel import Channel, is_overwrite, unwrapped
from flowfn.python.lazy import lend
from flowfn.values import MISSING
from graph_compat.channels.base import Value, ValueChannel
from graph_compat.errors import InvalidUpdateError

if TYPE_CHECKING:
    from graph_compat.errors import EmptyChannelError as EmptyChannelError

__all__ = ["DeltaChannel"]


# What programs also import from here.
lend(
    __name__,
    {
        "EmptyChannelError": "graph_compat.errors",
    },
)


class DeltaChannel(ValueChannel[Value, Any, Any]):
    """Folds all writes of a superstep at once, with `reducer(value, writes)`, from `typ()`.

    Every list and dict is stored by its new parts here, so that `snapshot_frequency` changes nothing; it is
    checked as LangGraph checks it.

    Raises:
        ValueError: `snapshot_frequency` is no positive int.
    """

    __slots__ = ("reducer", "snapshot_frequency")

    def __init__(
        self,
        reducer: Callable[[Any, Sequence[Any]], Any],
        typ: Any = None,
        *,
        snapshot_frequency: int = 100,
    ) -> None:
        if not isinstance(snapshot_frequency, int) or snapshot_frequency < 1:
            raise ValueError(f"snapshot_frequency must be a positive int, got {snapshot_frequency!r}")
        super().__init__(typ)
        self.reducer = reducer
        self.snapshot_frequency = snapshot_frequency

    @property
    def rule(self) -> Channel:
        return Batched(self.reducer, self.typ)

    def checkpoint(self) -> Any:
        return MISSING

    def stored(self) -> Any:
        return self._cell

    def from_checkpoint(self, checkpoint: Any) -> Self:
        new = super().from_checkpoint(checkpoint)
        if checkpoint is MISSING:
            new._cell = _empty(self.typ)
        return new

    def _now(self) -> Any:
        return self._cell  # by itself it has no value before the first write, unlike in a graph

    def copy(self) -> Self:
        return super().from_checkpoint(self._cell)


@dataclass(frozen=True, slots=True)
class Batched(Channel):
    """The rule of a `DeltaChannel`. An `Overwrite` replaces the value, and what was written with it."""

    reducer: Callable[[Any, Sequence[Any]], Any]
    typ: Any = None

    def initial(self) -> Any:
        return _empty(self.typ)

    def update(self, name: str, cell: Any, writes: Sequence[Any]) -> Any:
        replaced = [write for write in writes if is_overwrite(write)]
        if len(replaced) > 1:
            raise InvalidUpdateError(
                "Can receive only one Overwrite value per super-step. "
                f"Key '{name}' received several: let one node of the step write it."
            )
        if replaced:
            return unwrapped(replaced[0])
        return self.reducer(self.initial() if cell is MISSING else cell, list(writes))


def _empty(typ: Any) -> Any:
    """What a reduced value of a type begins with."""
    return pregel.Reducer(lambda value, write: value, typ).initial()
