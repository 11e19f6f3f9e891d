"""The base of LangGraph's channels: objects that hold a value, over flowfn's channels, which are rules.

A graph takes the rule of a channel and leaves the object alone; the object's methods are for code that uses
a channel by itself. A channel class of one's own overrides the methods, be they of `BaseChannel` or of a class with a
rule; what a graph does with it is made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Final, Generic, Self

from typing_extensions import TypeVar

from flowfn.errors import EmptyChannelError
from flowfn.pregel import UNCHANGED, Channel
from flowfn.values import MISSING

Value = TypeVar("Value", default=Any)
Update = TypeVar("Update", default=Any)
Stored = TypeVar("Stored", default=Any)


class BaseChannel(Generic[Value, Update, Stored]):
    """A channel that holds a value of type `typ`; `key` is its name in the graph, for messages.

    One of your own overrides `from_checkpoint`, `update` and `get`; `checkpoint` where it stores something other than
    its value; `consume` and `finish` where those change it.
    """

    __slots__ = ("_cell", "key", "typ")

    def __init__(self, typ: Any, key: str = "") -> None:
        self.typ = typ
        self.key = key
        self._cell: Any = MISSING

    @property
    def rule(self) -> Channel:
        """What the methods do that its class doesn't override."""
        return Custom(self)

    @property
    def in_graph(self) -> Channel:
        """What a graph does with the channel: what its methods do, whoever wrote them."""
        return Custom(self) if _overrides(type(self)) else self.rule

    @property
    def ValueType(self) -> Any:
        """The type of the value."""
        return self.typ

    @property
    def UpdateType(self) -> Any:
        """The type of what is written."""
        return self.typ

    def copy(self) -> Self:
        """A channel of the same rule and value."""
        return self.from_checkpoint(self.checkpoint())

    def checkpoint(self) -> Any:
        """What to store of it, or `MISSING` for nothing."""
        if type(self.rule) is Custom:
            try:
                return self.get()
            except EmptyChannelError:
                return MISSING
        return MISSING if self._cell is MISSING else self.rule.stored(self._cell)

    def stored(self) -> Any:
        """What a graph stores of it, or `MISSING` for nothing."""
        return self.checkpoint()

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """A channel of the same rule with what `checkpoint` gave; `MISSING` makes an empty one."""
        new = self._empty()
        new._cell = MISSING if checkpoint is MISSING else self.rule.restored(checkpoint)
        return new

    def _empty(self) -> Self:
        new = self.__class__.__new__(self.__class__)
        for kind in type(self).__mro__:
            for name in getattr(kind, "__slots__", ()):
                if hasattr(self, name):
                    setattr(new, name, getattr(self, name))
        for name, value in getattr(self, "__dict__", {}).items():
            setattr(new, name, value)
        new._cell = MISSING
        return new

    def get(self) -> Any:
        """The value.

        Raises:
            EmptyChannelError: there is none.
        """
        value = self.rule.get(self._now())
        if value is MISSING:
            raise EmptyChannelError
        return value

    def is_available(self) -> bool:
        """Whether there is a value."""
        try:
            self.get()
        except EmptyChannelError:
            return False
        return True

    def update(self, values: Sequence[Any]) -> bool:
        """Take one superstep's writes, perhaps none; whether that changed anything.

        Raises:
            InvalidUpdateError: they can't be merged.
        """
        rule = self.rule
        return self._take(rule.update(self.key, self._now(), values) if values else rule.clear(self._now()))

    def consume(self) -> bool:
        """A node that it triggered has run; whether that changed anything."""
        rule = self.rule
        return type(rule) is not Custom and self._take(rule.consume(self._now()))

    def finish(self) -> bool:
        """No node is left to run; whether that changed anything."""
        rule = self.rule
        return type(rule) is not Custom and self._take(rule.finish(self._now()))

    def _now(self) -> Any:
        return self.rule.initial() if self._cell is MISSING else self._cell

    def _take(self, cell: Any) -> bool:
        if cell is UNCHANGED:
            return False
        self._cell = cell
        return True

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.rule == self.rule

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.typ!r})"


class ValueChannel(BaseChannel[Value, Update, Stored]):
    """A channel whose cell is its value, which methods of one's own read and set as `value`; `MISSING` for none."""

    __slots__ = ()

    @property
    def value(self) -> Any:
        return self._cell

    @value.setter
    def value(self, value: Any) -> None:
        self._cell = value


_METHODS: Final = {"update", "get", "checkpoint", "from_checkpoint", "consume", "finish"}


def _overrides(kind: type) -> bool:
    """Whether a class has methods other than those of the class that says its rule."""
    for each in kind.__mro__:
        if "rule" in vars(each):
            return False
        if not _METHODS.isdisjoint(vars(each)):
            return True
    return False


@dataclass(frozen=True, slots=True)
class Unstored:
    """The cell of a channel that has a value and stores nothing."""

    channel: BaseChannel[Any, Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Custom(Channel):
    """The rule of a channel class of the user's own; the cell is what it stores, or `Unstored`."""

    channel: BaseChannel[Any, Any, Any]

    def _with(self, cell: Any) -> BaseChannel[Any, Any, Any]:
        made = copy(cell.channel) if type(cell) is Unstored else self.channel.from_checkpoint(cell)
        made.key = self.channel.key
        return made

    def initial(self) -> Any:
        return _cell_of(self._with(MISSING))

    def update(self, name: str, cell: Any, writes: Sequence[Any]) -> Any:
        return self._after(cell, lambda channel: channel.update(writes))

    def get(self, cell: Any) -> Any:
        try:
            return self._with(cell).get()
        except EmptyChannelError:
            return MISSING

    def clear(self, cell: Any) -> Any:
        return self._after(cell, lambda channel: channel.update([]))

    def consume(self, cell: Any) -> Any:
        return self._after(cell, lambda channel: channel.consume())

    def finish(self, cell: Any) -> Any:
        return self._after(cell, lambda channel: channel.finish())

    def stored(self, cell: Any) -> Any:
        return MISSING if type(cell) is Unstored else cell

    def _after(self, cell: Any, change: Callable[[BaseChannel[Any, Any, Any]], bool]) -> Any:
        channel = self._with(cell)
        return _cell_of(channel) if change(channel) else UNCHANGED


def _cell_of(channel: BaseChannel[Any, Any, Any]) -> Any:
    stored = channel.stored()
    return Unstored(channel) if stored is MISSING and channel.is_available() else stored
