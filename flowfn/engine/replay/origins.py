"""Where the times and ids among a recorded call's arguments come from.

Rule: what is recorded is the same on each attempt. So a call whose time or id is part of an earlier outcome, or of what
its caller was given, is made with that again: one that differs from it in that is another call, and neither the clock
nor chance made it anew. An outcome that hands on what its own call was given says nothing of where that came from, and
a time that isn't told to the microsecond may be the same by chance.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, compress, count
from typing import TYPE_CHECKING, Any

from flowfn.engine.records.unclaimed import Unclaimed
from flowfn.identity.digest import Digest, digest
from flowfn.row_channels import ERROR

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.engine.records.record import Record

_Sorted = Mapping[tuple[int, ...], Mapping[tuple[str, ...], Unclaimed]]

_LAST = 253_402_300_799.0
"""The end of the year 9999, in seconds since the epoch."""

_DIGITS = 15
"""Of a time that is told to the microsecond."""


class Origins:
    """The times and ids that the records of one superstep give back."""

    def __init__(self, records: Iterable[Record], dropped: Container[str]) -> None:
        self._dropped = dropped
        """The calls whose outcomes aren't reused."""
        self._outcomes: dict[str, list[Record]] = {}
        self._given: dict[str, frozenset[str]] = {}
        """By scope: those of what the code there was given."""
        self._sorted: dict[Unclaimed, _Sorted] = {}
        for record in records:
            if record.outcome is not None and record.outcome.channel != ERROR:
                self._add(record)

    def _add(self, record: Record) -> None:
        handed_on = set() if record.info is None else {text for _, _, text in record.info.leaves}
        with suppress(Exception):  # who asks for the value is told that it can't be restored
            for text in _told_in({"": record.value()}) - handed_on:
                self._outcomes.setdefault(text, []).append(record)

    def sort_again(self) -> None:
        """Another outcome isn't reused."""
        self._sorted.clear()

    def possible(self, similar: Unclaimed, now: Digest, frame: Frame) -> Iterator[Record]:
        """Of recorded calls that differ from one of a frame's code in times and ids alone, those that may be it: but
        for those that will be made with one that it hasn't."""
        known = self._sorted.get(similar)
        if known is None:
            known = self._sorted[similar] = self._sort(similar, frame)
        texts = {at: leaf.text for at, leaf in enumerate(now.leaves)}
        found = (records.get(tuple(texts.get(at, "") for at in places)) for places, records in known.items())
        return chain.from_iterable(filter(None, found))

    def _sort(self, similar: Unclaimed, frame: Frame) -> _Sorted:
        """Similar calls by the places and the texts of their leaves that are recorded elsewhere."""
        given = self._given.get(frame.scope)
        if given is None:
            given = self._given[frame.scope] = _told_in({"": [frame.call.args, frame.call.kwargs]})
        found: dict[tuple[int, ...], dict[tuple[str, ...], list[Record]]] = {}
        for record in similar:
            if (info := record.info) is not None:
                texts = [text for _, _, text in info.leaves]
                come_again = [text in given or self._gave(text, info.born) for text in texts]
                places = tuple(compress(count(), come_again))
                found.setdefault(places, {}).setdefault(tuple(compress(texts, come_again)), []).append(record)
        return {
            places: {texts: Unclaimed(records) for texts, records in each.items()}
            for places, each in found.items()
        }

    def _gave(self, text: str, before: int) -> bool:
        sources = self._outcomes.get(text, ())
        return any(each.index <= before and each.task not in self._dropped for each in sources)


def _told_in(values: Mapping[str, Any]) -> frozenset[str]:
    """The random values, and the times of whenever, in something."""
    leaves = digest(values, since=0, now=lambda: _LAST, passed=lambda: 0).leaves
    return frozenset(leaf.text for leaf in leaves if leaf.kind == "random" or _is_precise(leaf.text))


def _is_precise(text: str) -> bool:
    return sum(map(str.isdigit, text)) >= _DIGITS
