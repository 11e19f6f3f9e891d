"""A value that writes are folded into, one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from flowfn import pregel
from flowfn.pregel import Channel, folded, is_overwrite
from flowfn.python.lazy import lend
from flowfn.values import MISSING
from graph_compat.channels.base import BaseChannel, Value, ValueChannel

if TYPE_CHECKING:
    from graph_compat.errors import EmptyChannelError as EmptyChannelError
    from graph_compat.errors import InvalidUpdateError as InvalidUpdateError
    from graph_compat.types import Overwrite as Overwrite

__all__ = ["BinaryOperatorAggregate"]


# What programs also import from here.
lend(
    __name__,
    {
        **dict.fromkeys(("EmptyChannelError", "InvalidUpdateError"), "graph_compat.errors"),
        "Overwrite": "graph_compat.types",
    },
)


class BinaryOperatorAggregate(ValueChannel[Value, Value, Value]):
    """Folds writes with `operator(value, write)`, from `typ()` or else from the first write."""

    __slots__ = ("_rule", "operator")

    def __init__(self, typ: Any, operator: Callable[[Any, Any], Any]) -> None:
        super().__init__(typ)
        self.operator = operator
        self._rule = (Naming if hasattr(operator, "at_place") else pregel.Reducer)(operator, typ)
        self._cell = self._rule.initial()

    @property
    def rule(self) -> Channel:
        return self._rule

    def from_checkpoint(self, checkpoint: Any) -> Self:
        new = super().from_checkpoint(checkpoint)
        if checkpoint is MISSING:
            new._cell = self._rule.initial()
        return new

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BinaryOperatorAggregate) and (
            other.operator == self.operator or _is_lambda(other.operator) or _is_lambda(self.operator)
        )

    __hash__ = BaseChannel.__hash__


def _is_lambda(operator: Any) -> bool:
    """Whether it is one that can't be told from another: each reading of an annotation in text makes its own."""
    return getattr(operator, "__name__", None) == "<lambda>"


@dataclass(frozen=True, slots=True)
class Naming(pregel.Reducer):
    """The rule of a reducer that makes ids, which are the same each time.

    `operator.named(write, place, ids)` is a write with ids of a place, of which `ids`, made by `operator.ids()`, gives
    none twice, and `operator.at_place(place)` the reducer that makes those that are missing in what was there before.
    """

    def at(self, place: str, writers: Sequence[str]) -> Channel:
        return _Placed(self, place, writers)


@dataclass(frozen=True, slots=True)
class _Placed(Channel):
    """A naming rule at a place, for so many writes."""

    rule: Naming
    place: str
    writers: Sequence[str]

    def update(self, name: str, cell: Any, writes: Sequence[Any]) -> Any:
        operator: Any = self.rule.operator
        ids = operator.ids()
        given = [
            # what a value begins with, or is replaced by, stays as it is
            write
            if is_overwrite(write) or (nth == 0 and cell is MISSING)
            else operator.named(write, f"{self.place}:{self.writers[nth]}", ids)
            for nth, write in enumerate(writes)
        ]
        return folded(operator.at_place(self.place), name, cell, given)
