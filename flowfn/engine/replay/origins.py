"""Where the times and ids among a call's arguments come from: whether its code was told them.

Rule: code is told what it was given, `previous` too, and what its calls came to. What is recorded of these comes again
on each attempt, so that a recorded call will be made with the ids and times in it again. An outcome that hands on what
its own call was given says nothing of where that came from: the code may have made it itself. Nor does what was made
once (`flowfn.uuid4()`): it goes by its place, and with another item where one was put in front.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from flowfn.identity.forms.attributes import attributes_of
from flowfn.identity.told import keys_of, known_as, told_in

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.engine.calls.frame import Frame
    from flowfn.engine.records.record import CallInfo, Record


class Origins:
    """The times and ids that recorded outcomes give back, and those that this attempt was told beside."""

    def __init__(
        self, records: Iterable[Record], dropped: Container[str], anew: Anew, fractions: bool
    ) -> None:
        self._dropped = dropped
        """The calls whose outcomes aren't reused."""
        self._anew = anew
        self._outcomes: dict[str, list[Record]] = {}
        self.telling: set[str] = set()
        """The calls whose outcomes these are."""
        self._given: dict[str, set[str]] = {}
        """By scope: those of what the code there was given."""
        self._fractions = fractions
        for record in records:
            leaves = () if record.info is None else (text for _, _, text in record.info.leaves)
            for key in _told_by(record.value, leaves, fractions):
                self._outcomes.setdefault(key, []).append(record)
                self.telling.add(record.task)

    def comes_again(self, text: str, info: CallInfo, frame: Frame, *, exactly: bool) -> bool:
        """Whether a recorded call of a frame's code will be made with a leaf that it had again."""
        return self._is_told(text, frame, lambda record: record.index <= info.born, exactly)

    def was_told(self, text: str, frame: Frame, *, exactly: bool) -> bool:
        """Whether the code of this attempt can have a leaf of a call from what it was told."""
        if self._is_told(text, frame, lambda record: record.claimed, exactly):
            return True
        return not self._anew.told(self._fractions).isdisjoint(_keys(text, exactly))

    def _is_told(self, text: str, frame: Frame, is_source: Callable[[Record], bool], exactly: bool) -> bool:
        keys, given = _keys(text, exactly), self._given_to(frame)
        sources = (record for key in keys for record in self._outcomes.get(key, ()))
        return not given.isdisjoint(keys) or any(
            is_source(record) and record.task not in self._dropped for record in sources
        )

    def _given_to(self, frame: Frame) -> set[str]:
        given = self._given.get(frame.scope)
        if given is None:
            what = [frame.call.args, frame.call.kwargs]
            if frame.call.parent is None:
                what.append(frame.run.previous)
            given = self._given[frame.scope] = told_in(what, fractions=self._fractions)
        return given


class Anew:
    """What calls that ran anew came to, as bytes until somebody asks what they tell."""

    def __init__(self, loads: Callable[[bytes], Any]) -> None:
        self._loads = loads
        self._numbers = count()
        self._left: dict[int, tuple[bytes, Sequence[str], set[str]]] = {}
        self._size = 0
        self._told: set[str] = set()

    def add(self, call: Call | None, data: bytes, fractions: bool) -> None:
        """Note what a call came to; without one, what was answered or made once."""
        leaves: Sequence[str] = ()
        left_out = set[str]()
        if call is not None and call.digest is not None:
            leaves = [leaf.text for leaf in call.digest.leaves]
            given = [*call.args, *call.kwargs.values()]
            if call.digest.weak:  # what an object holds doesn't count either
                given += [attributes_of(each) for each in given]
            if call.digest.weak or not call.definition.all_count:
                left_out = told_in(given, fractions=fractions)
        self._left[next(self._numbers)] = data, leaves, left_out
        self._size += len(data)
        if self._size > _KEPT:
            self.told(fractions)

    def told(self, fractions: bool) -> set[str]:
        """The keys of all that they tell of. What one thread looks through is there for another one until it has."""
        self._size = 0
        for number, (data, leaves, left_out) in [*self._left.items()]:
            self._told |= _told_by(partial(self._loads, data), leaves, fractions) - left_out
            self._left.pop(number, None)
        return self._told


def _keys(text: str, exactly: bool) -> tuple[str, ...]:
    known = known_as(text)
    return known.exact if exactly else known.keys


_KEPT = 4_000_000
"""Bytes of outcomes that are kept at most to be looked through later."""


def _told_by(value: Callable[[], Any], leaves: Iterable[str], fractions: bool) -> set[str]:
    """What an outcome tells of that its call, which had these leaves, wasn't given."""
    with suppress(Exception):  # who asks for the value is told that it can't be restored
        told = told_in(value(), fractions=fractions)
        return told.difference(*map(keys_of, leaves)) if told else told
    return set()
