"""Where the times and ids among a call's arguments come from.

Rule: what is recorded is the same on each attempt. So a recorded call whose time or id is part of an earlier outcome,
or of what its caller was given, is made with that again; and a call whose own time or id is part of what its code was
told in this attempt is about what that names. Where the two differ in it, neither the clock nor chance made it anew:
they are two calls. What code makes itself it wasn't told, though an earlier outcome may have it, as it was handed on.
A time that isn't told to the microsecond may be in both by chance: then the calls are in doubt. An outcome that hands
on what its own call was given says nothing of where that came from. Nor does what was made once (`flowfn.uuid4()`): it
goes by its place, and with another item where one was put in front.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.engine.records.unclaimed import Unclaimed
from flowfn.identity.told import keys_of, known_as, told_in

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.engine.calls.frame import Frame
    from flowfn.engine.records.record import CallInfo, Record
    from flowfn.identity.digest import Digest

Places = tuple[int, ...]
"""Of leaves, among those of a call."""

_COUNT = -1
"""In the place of a leaf: how many there are."""


class _Sought(NamedTuple):
    """What similar records are looked for by."""

    similar: Unclaimed
    told: frozenset[int]
    """The places of the call's leaves that its code was told: there a record's is the same, if it comes again."""
    surely: frozenset[int]
    """Those of them that are no time, or are told to the microsecond."""
    by_the_clock: bool
    """Whether it is the same wherever it isn't the clock's; else a time that may be by chance doesn't count."""


class Origins:
    """The times and ids that recorded outcomes give back, and those that this attempt was told beside."""

    def __init__(
        self, records: Iterable[Record], dropped: Container[str], anew: Anew, fractions: bool
    ) -> None:
        self._dropped = dropped
        """The calls whose outcomes aren't reused."""
        self._anew = anew
        self._outcomes: dict[str, list[Record]] = {}
        self._telling: set[str] = set()
        """The calls whose outcomes these are."""
        self._given: dict[str, set[str]] = {}
        """By scope: those of what the code there was given."""
        self._sorted: dict[_Sought, dict[Places, dict[tuple[str, ...], Unclaimed]]] = {}
        self._fractions = fractions
        for record in records:
            leaves = () if record.info is None else (text for _, _, text in record.info.leaves)
            for key in _told_by(record.value, leaves, fractions):
                self._outcomes.setdefault(key, []).append(record)
                self._telling.add(record.task)

    def sort_again(self, without: str) -> None:
        """The outcome of one more call isn't reused."""
        if without in self._telling:
            self._sorted.clear()

    def possible(self, similar: Unclaimed, now: Digest, frame: Frame) -> Iterator[Record]:
        """Of recorded calls that differ from one of a frame's code in times and ids alone, those that may be it: but
        for those that will be made with one that it hasn't."""
        return self._found(similar, now, frame, by_the_clock=False)

    def by_the_clock(self, similar: Unclaimed, now: Digest, frame: Frame) -> Iterator[Record]:
        """Those of them that differ in the clock's times alone, and in none that may be another item's."""
        return self._found(similar, now, frame, by_the_clock=True)

    def _found(
        self, similar: Unclaimed, now: Digest, frame: Frame, *, by_the_clock: bool
    ) -> Iterator[Record]:
        texts = _texts(leaf.text for leaf in now.leaves)
        told = [
            at for at in range(len(now.leaves)) if self._was_told(texts[at], frame, exactly=not by_the_clock)
        ]
        surely = (at for at in told if known_as(texts[at]).surely)
        sought = _Sought(similar, frozenset(told), frozenset(surely), by_the_clock)
        known = self._sorted.get(sought)
        if known is None:
            known = self._sorted[sought] = self._sort(sought, frame)
        found = (records.get(tuple(texts.get(at, "") for at in where)) for where, records in known.items())
        return chain.from_iterable(filter(None, found))

    def _sort(self, sought: _Sought, frame: Frame) -> dict[Places, dict[tuple[str, ...], Unclaimed]]:
        """Similar calls by the places and the texts of their leaves in which they don't differ from the one sought."""
        found: dict[Places, dict[tuple[str, ...], list[Record]]] = {}
        for record in sought.similar:
            if (info := record.info) is not None:
                texts = _texts(text for _, _, text in info.leaves)
                where = self._settled(info, sought, frame)
                found.setdefault(where, {}).setdefault(tuple(texts[at] for at in where), []).append(record)
        return {
            where: {texts: Unclaimed(records) for texts, records in each.items()}
            for where, each in found.items()
        }

    def _settled(self, info: CallInfo, sought: _Sought, frame: Frame) -> Places:
        """Where the same call has the same."""
        leaves, by_the_clock = enumerate(info.leaves), sought.by_the_clock
        places = [
            at
            for at, (_, kind, text) in leaves
            if (by_the_clock and kind != "clock")
            or (
                at in sought.told
                and (by_the_clock or at in sought.surely or known_as(text).surely)
                and self._comes_again(text, frame, info.born, exactly=not by_the_clock)
            )
        ]
        return (_COUNT, *places) if by_the_clock else tuple(places)

    def _comes_again(self, text: str, frame: Frame, born: int, *, exactly: bool) -> bool:
        """Whether a recorded call will be made with a leaf that it had again."""
        return self._is_told(text, frame, lambda record: record.index <= born, exactly)

    def _was_told(self, text: str, frame: Frame, *, exactly: bool) -> bool:
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
            arguments = [frame.call.args, frame.call.kwargs]
            given = self._given[frame.scope] = told_in(arguments, fractions=self._fractions)
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
            if not call.definition.all_count:
                left_out = told_in([call.args, call.kwargs], fractions=fractions)
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


def _texts(leaves: Iterable[str]) -> dict[int, str]:
    """Leaves by their places."""
    texts = dict(enumerate(leaves))
    return {_COUNT: str(len(texts)), **texts}


_KEPT = 4_000_000
"""Bytes of outcomes that are kept at most to be looked through later."""


def _told_by(value: Callable[[], Any], leaves: Iterable[str], fractions: bool) -> set[str]:
    """What an outcome tells of that its call, which had these leaves, wasn't given."""
    with suppress(Exception):  # who asks for the value is told that it can't be restored
        told = told_in(value(), fractions=fractions)
        return told.difference(*map(keys_of, leaves)) if told else told
    return set()
