"""Channels say how the writes of one superstep become the value that the next one reads.

Rule: a channel is a frozen specification. What it holds, its *cell*, is plain data that lives in
`Checkpoint.values`; every method takes a cell and returns a new one, and never changes it in place.
`MISSING` stands for an empty cell, and `Unread` for one whose value nobody has decoded yet.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from flowfn.errors import InvalidUpdateError
from flowfn.values import MISSING


class Unchanged:
    """The type of `UNCHANGED`; it has one instance."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Final[Any] = Unchanged()
"""What a channel answers when its cell, and therefore its version, stays as it is."""


@dataclass(frozen=True, slots=True)
class Channel:
    """Base of all channels: each answer is a cell, `MISSING` for none, or `UNCHANGED`.

    A `Program` visits a channel for `at`, `clear`, `consume`, `finish` and `stored` only where its class overrides
    them, so that a superstep costs nothing for the channels that don't. `spent` says that its value is gone
    after the superstep that it triggered nodes in, unless it is written anew.
    """

    spent: ClassVar[bool] = False
    lazy: ClassVar[bool] = False
    """Whether its cell, loaded, is `Unread`."""

    def initial(self) -> Any:
        """The cell of a channel that nobody has written to, made anew on each call."""
        return MISSING

    def update(self, name: str, cell: Any, writes: Sequence[Any]) -> Any:
        """Merge one superstep's writes, at least one; `name` is for messages.

        Raises `InvalidUpdateError` where they can't be merged.
        """
        raise NotImplementedError

    def at(self, place: str, writers: Sequence[str]) -> Channel:
        """The channel as it merges writes at a place: the checkpoint that they come on top of, and its own name.

        For a channel that makes names: derived from the place and the writer of each write, they are the same when a
        superstep is applied again, be it to show where a run stands or after a crash, and when a task looks at what it
        has written alone.
        """
        return self

    def get(self, cell: Any) -> Any:
        """The value that nodes read, or `MISSING` while there is none."""
        return cell

    def clear(self, cell: Any) -> Any:
        """A superstep went by in which nobody wrote."""
        return UNCHANGED

    def consume(self, cell: Any) -> Any:
        """A node that this channel triggered has run."""
        return UNCHANGED

    def finish(self, cell: Any) -> Any:
        """No other node is left to run."""
        return UNCHANGED

    def stored(self, cell: Any) -> Any:
        """What to persist of a cell, or `MISSING` to persist nothing."""
        return cell

    def restored(self, data: Any) -> Any:
        """The cell that `stored` was given."""
        return data


def _not_one(name: str, writes: Sequence[Any], rule: str) -> InvalidUpdateError:
    return InvalidUpdateError(f"At key '{name}': {rule} Received {reprlib.repr(list(writes))}.")


def _guarded(kind: str, name: str, writes: Sequence[Any]) -> InvalidUpdateError:
    rule = (
        f"{kind}(guard=True) can receive only one value per step. "
        "Use guard=False if you want to store any one of multiple values."
    )
    return _not_one(name, writes, rule)


@dataclass(frozen=True, slots=True)
class LastValue(Channel):
    """Keeps the last value; takes one write per superstep."""

    def update(self, name: str, cell: Any, writes: Sequence[Any]) -> Any:
        if len(writes) != 1:
            rule = "Can receive only one value per step. Use an Annotated key to handle multiple values."
            raise _not_one(name, writes, rule)
        return writes[0]


class Unread:
    """A cell that was loaded, and is decoded by who reads it first."""

    __slots__ = ("_decode", "_value")

    def __init__(self, decode: Callable[[], Any]) -> None:
        self._decode = decode
        self._value: Any = MISSING

    def read(self) -> Any:
        """The value; the same one whenever it is asked for. Raises what decoding raises."""
        if self._value is MISSING:
            self._value = self._decode()
        return self._value


@dataclass(frozen=True, slots=True)
class Result(LastValue):
    """Keeps the last value, which is decoded only if somebody reads it: a run mostly replaces it unread."""

    lazy = True

    def get(self, cell: Any) -> Any:
        return cell.read() if type(cell) is Unread else cell

    def stored(self, cell: Any) -> Any:
        return self.get(cell)


@dataclass(frozen=True, slots=True)
class LastValueAfterFinish(Channel):
    """Keeps the last value, shows it once no other node is left to run, and forgets it when read.

    The cell is `(value, finished)`. It triggers deferred nodes. What was due before its node was deferred is due.
    """

    spent = True

    def update(self, name: str, cell: Any, writes: Sequence[Any]) -> Any:
        return (writes[-1], False)

    def get(self, cell: Any) -> Any:
        return cell[0] if cell is not MISSING and cell[1] else MISSING

    def consume(self, cell: Any) -> Any:
        return MISSING if cell is not MISSING and cell[1] else UNCHANGED

    def finish(self, cell: Any) -> Any:
        return UNCHANGED if cell is MISSING or cell[1] else (cell[0], True)

    def restored(self, data: Any) -> Any:
        value, finished = (None, True) if data is None else data
        return (value, finished)


@dataclass(frozen=True, slots=True)
class AnyValue(Channel):
    """Keeps the last of any number of writes, for one superstep."""

    spent = True

    def update(self, name: str, cell: Any, writes: Sequence[Any]) -> Any:
        return writes[-1]

    def clear(self, cell: Any) -> Any:
        return UNCHANGED if cell is MISSING else MISSING


@dataclass(frozen=True, slots=True)
class EphemeralValue(Channel):
    """Keeps a value for one superstep; `guard` refuses more than one write."""

    spent = True

    guard: bool = True

    def update(self, name: str, cell: Any, writes: Sequence[Any]) -> Any:
        if self.guard and len(writes) != 1:
            raise _guarded("EphemeralValue", name, writes)
        return writes[-1]

    def clear(self, cell: Any) -> Any:
        return UNCHANGED if cell is MISSING else MISSING


@dataclass(frozen=True, slots=True)
class UntrackedValue(Channel):
    """Keeps the last value in memory alone; a resumed run doesn't have it."""

    guard: bool = True

    def update(self, name: str, cell: Any, writes: Sequence[Any]) -> Any:
        if self.guard and len(writes) != 1:
            raise _guarded("UntrackedValue", name, writes)
        return writes[-1]

    def stored(self, cell: Any) -> Any:
        return MISSING


@dataclass(frozen=True, slots=True)
class Topic(Channel):
    """Collects every write of a superstep, or with `accumulate` of all; a written list adds its items."""

    accumulate: bool = False

    def update(self, name: str, cell: Any, writes: Sequence[Any]) -> Any:
        items = [item for write in writes for item in (write if isinstance(write, list) else (write,))]
        if self.accumulate and cell is not MISSING:
            return [*cell, *items] if items else UNCHANGED
        return items or self._emptied(cell)

    def get(self, cell: Any) -> Any:
        return MISSING if cell is MISSING else list(cell)

    def clear(self, cell: Any) -> Any:
        return UNCHANGED if self.accumulate else self._emptied(cell)

    def _emptied(self, cell: Any) -> Any:
        return UNCHANGED if cell is MISSING else MISSING


@dataclass(frozen=True, slots=True)
class NamedBarrier(Channel):
    """Waits until each of `names` was written; its value is None. The cell is the set of those seen."""

    spent = True

    names: frozenset[str]

    def update(self, name: str, cell: Any, writes: Sequence[Any]) -> Any:
        seen = self._add(name, self.arrived(cell), writes)
        return UNCHANGED if seen == self.arrived(cell) else seen

    def get(self, cell: Any) -> Any:
        return None if self.arrived(cell) == self.names else MISSING

    def consume(self, cell: Any) -> Any:
        return MISSING if self.arrived(cell) == self.names else UNCHANGED

    def stored(self, cell: Any) -> Any:
        return sorted(cell)

    def restored(self, data: Any) -> Any:
        names, _ = _arrived(data)
        return names

    def arrived(self, cell: Any) -> frozenset[str]:
        """Those of `names` that were written."""
        return frozenset() if cell is MISSING else cell

    def _add(self, name: str, seen: frozenset[str], writes: Sequence[Any]) -> frozenset[str]:
        for value in writes:
            if value not in self.names:
                known = ", ".join(map(repr, sorted(self.names)))
                raise InvalidUpdateError(f"At key '{name}': Value {value} not in {{{known}}}")
        return seen.union(writes)


def _arrived(data: Any) -> tuple[frozenset[str], bool | None]:
    """The names that a barrier has seen, and whether it had finished, if it waited for that."""
    match data:
        case [seen, bool() as finished]:
            return frozenset(seen), finished
        case _:  # names alone, which LangGraph stores as a set
            return frozenset(data), None


@dataclass(frozen=True, slots=True)
class NamedBarrierAfterFinish(NamedBarrier):
    """A `NamedBarrier` that also waits until no other node is left to run. The cell is `(seen, finished)`."""

    def update(self, name: str, cell: Any, writes: Sequence[Any]) -> Any:
        before = self.arrived(cell)
        seen = self._add(name, before, writes)
        return UNCHANGED if seen == before else (seen, False)

    def get(self, cell: Any) -> Any:
        return None if self._finished(cell) else MISSING

    def consume(self, cell: Any) -> Any:
        return MISSING if self._finished(cell) else UNCHANGED

    def finish(self, cell: Any) -> Any:
        if self.arrived(cell) != self.names or self._finished(cell):
            return UNCHANGED
        return (self.names, True)

    def stored(self, cell: Any) -> Any:
        return (sorted(cell[0]), cell[1])

    def restored(self, data: Any) -> Any:
        names, finished = _arrived(data)
        return (names, names == self.names if finished is None else finished)

    def arrived(self, cell: Any) -> frozenset[str]:
        return frozenset() if cell is MISSING else cell[0]

    def _finished(self, cell: Any) -> bool:
        return cell is not MISSING and cell[1]
