"""LangGraph's channels: how the writes of one superstep become what the next one reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flowfn import pregel
from flowfn.pregel import Channel
from flowfn.values import MISSING, Overwrite
from graph_compat.channels.base import BaseChannel
from graph_compat.errors import EmptyChannelError, InvalidUpdateError

__all__ = [
    "AnyValue",
    "BaseChannel",
    "BinaryOperatorAggregate",
    "DeltaChannel",
    "EmptyChannelError",
    "EphemeralValue",
    "InvalidUpdateError",
    "LastValue",
    "LastValueAfterFinish",
    "NamedBarrierValue",
    "NamedBarrierValueAfterFinish",
    "Topic",
    "UntrackedValue",
]


class LastValue(BaseChannel[Any, Any, Any]):
    """Keeps the last value; takes one write per superstep."""

    __slots__ = ()
    rule: Channel = pregel.LastValue()


class LastValueAfterFinish(BaseChannel[Any, Any, Any]):
    """Keeps the last value, shows it once no node is left to run, and forgets it when read."""

    __slots__ = ()
    rule: Channel = pregel.LastValueAfterFinish()


class AnyValue(BaseChannel[Any, Any, Any]):
    """Keeps the last of any number of writes, for one superstep."""

    __slots__ = ()
    rule: Channel = pregel.AnyValue()


class EphemeralValue(BaseChannel[Any, Any, Any]):
    """Keeps a value for one superstep; `guard` refuses more than one write."""

    __slots__ = ("guard",)

    def __init__(self, typ: Any, guard: bool = True) -> None:
        super().__init__(typ)
        self.guard = guard

    @property
    def rule(self) -> Channel:
        return pregel.EphemeralValue(self.guard)


class UntrackedValue(BaseChannel[Any, Any, Any]):
    """Keeps the last value in memory alone; `guard` refuses more than one write."""

    __slots__ = ("guard",)

    def __init__(self, typ: Any, guard: bool = True) -> None:
        super().__init__(typ)
        self.guard = guard

    @property
    def rule(self) -> Channel:
        return pregel.UntrackedValue(self.guard)

    def copy(self) -> UntrackedValue:
        new = self._empty()
        new._cell = self._cell
        return new


class Topic(BaseChannel[Any, Any, Any]):
    """Collects every write of a superstep, or with `accumulate` of all."""

    __slots__ = ("accumulate",)

    def __init__(self, typ: Any, accumulate: bool = False) -> None:
        super().__init__(typ)
        self.accumulate = accumulate

    @property
    def rule(self) -> Channel:
        return pregel.Topic(self.accumulate)

    @property
    def ValueType(self) -> Any:
        return Sequence[self.typ]  # type: ignore[name-defined]

    @property
    def UpdateType(self) -> Any:
        return self.typ | list[self.typ]  # type: ignore[name-defined]


class BinaryOperatorAggregate(BaseChannel[Any, Any, Any]):
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BinaryOperatorAggregate) and other.operator is self.operator

    __hash__ = BaseChannel.__hash__


@dataclass(frozen=True, slots=True)
class Naming(pregel.Reducer):
    """The rule of a reducer that makes ids: `operator.at_place(place)` is one that makes the same each time."""

    def at(self, place: str) -> Channel:
        operator: Any = self.operator
        return pregel.Reducer(operator.at_place(place), self.typ)


class NamedBarrierValue(BaseChannel[Any, Any, Any]):
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


class NamedBarrierValueAfterFinish(NamedBarrierValue):
    """A `NamedBarrierValue` that also waits until no other node is left to run."""

    __slots__ = ()

    @property
    def rule(self) -> Channel:
        return pregel.NamedBarrierAfterFinish(frozenset(self.names))

    def checkpoint(self) -> Any:
        names, finished = ((), False) if self._cell is MISSING else self._cell
        return set(names), finished


class DeltaChannel(BaseChannel[Any, Any, Any]):
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

    def from_checkpoint(self, checkpoint: Any) -> DeltaChannel:
        new = super().from_checkpoint(checkpoint)
        if checkpoint is MISSING:
            new._cell = _empty(self.typ)
        return new

    def copy(self) -> DeltaChannel:
        return super().from_checkpoint(self._cell)


@dataclass(frozen=True, slots=True)
class Batched(Channel):
    """The rule of a `DeltaChannel`. An `Overwrite` replaces the value, and what was written with it."""

    reducer: Callable[[Any, Sequence[Any]], Any]
    typ: Any = None

    def update(self, name: str, cell: Any, writes: Sequence[Any]) -> Any:
        replaced = [write for write in writes if isinstance(write, Overwrite)]
        if len(replaced) > 1:
            raise InvalidUpdateError(
                "Can receive only one Overwrite value per super-step. "
                f"Key '{name}' received several: let one node of the step write it."
            )
        if replaced:
            return replaced[0].value
        return self.reducer(_empty(self.typ) if cell is MISSING else cell, list(writes))


def _empty(typ: Any) -> Any:
    """What a reduced value of a type begins with."""
    return pregel.Reducer(lambda value, write: value, typ).initial()
