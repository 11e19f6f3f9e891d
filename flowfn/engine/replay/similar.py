"""Recorded calls that differ from a call in times and ids alone: which of them it may be.

Rule: where both were told to the code (`origins`) and differ, they are two calls: neither the clock nor chance made
that anew. A time that isn't told to the microsecond may have been told by chance: where they differ in one, the record
isn't taken as the same but for the clock, and the calls are in doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from flowfn.engine.records.unclaimed import Unclaimed
from flowfn.identity.told import known_as

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.engine.records.record import CallInfo, Record
    from flowfn.engine.replay.origins import Origins
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


class Similar:
    """Looks for calls among similar ones at the same cost for each, however many of these it can't be."""

    def __init__(self, origins: Origins) -> None:
        self._origins = origins
        self._sorted: dict[_Sought, dict[Places, dict[tuple[str, ...], Unclaimed]]] = {}

    def sort_again(self, without: str) -> None:
        """The outcome of one more call isn't reused."""
        if without in self._origins.telling:
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
        texts, was_told = _texts(leaf.text for leaf in now.leaves), self._origins.was_told
        told = [at for at in range(len(now.leaves)) if was_told(texts[at], frame, exactly=not by_the_clock)]
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
                and self._origins.comes_again(text, info, frame, exactly=not by_the_clock)
            )
        ]
        return (_COUNT, *places) if by_the_clock else tuple(places)


def _texts(leaves: Iterable[str]) -> dict[int, str]:
    """Leaves by their places."""
    texts = dict(enumerate(leaves))
    return {_COUNT: str(len(texts)), **texts}
