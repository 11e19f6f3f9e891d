"""What came before what in a run, as its records tell.

Rule: a call comes after each call of the same caller whose outcome was known when it was made; of those, it waited
for the ones that no other of them came after. Whether it used a value is seen in its arguments, as far as these are
written out in its record. A node waited for those that led to it since it last ran, where that is told; and used
what they wrote.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from flowfn.rendering import render

if TYPE_CHECKING:
    from flowfn.history.reading import CallView

__all__ = ["Waits", "critical", "uses"]

_TRIVIAL = 2
"""Characters: a value that is written shorter is seen everywhere."""


class Waits:
    """The calls of one caller, by what each of them waited for."""

    def __init__(self, calls: Sequence[CallView]) -> None:
        self.calls = calls
        self._ended = sorted((call for call in calls if call.place is not None), key=_place)
        self._places = [_place(call) for call in self._ended]
        self._latest = list(accumulate((call.known for call in self._ended), max))
        """Of the calls up to each that ended: what the last one made knew."""

    def for_(self, call: CallView) -> Sequence[CallView]:
        """The calls that a call waited for."""
        known = bisect_right(self._places, call.known)
        if leaders := self._leaders(call, known):
            return leaders
        if known == 0:
            return ()
        return self._ended[bisect_right(self._places, self._latest[known - 1]) : known]

    def _leaders(self, call: CallView, known: int) -> Sequence[CallView]:
        """The nodes that led to a node, of the first `known` that ended."""
        if call.step is None:
            return ()
        last = max(
            (c.known for c in self.calls if c.name == call.name and c.known < call.known), default=(-9, 0)
        )
        first = bisect_right(self._places, last)
        return [each for each in self._ended[first:known] if call.name in each.leads]

    def before(self, call: CallView) -> Sequence[CallView]:
        """All calls that a call came after."""
        return self._ended[: bisect_right(self._places, call.known)]

    def last(self) -> Iterator[CallView]:
        """The calls that nobody waited for."""
        latest = max((call.known for call in self.calls), default=(0, 0))
        return (call for call in self.calls if call.place is None or call.place > latest)


def critical(calls: Sequence[CallView]) -> list[CallView]:
    """The chain of waits that ended last: had one of its calls been quicker, so might have been the run."""
    timed = [call for call in calls if call.started is not None]
    if not timed:
        return []
    waits, path = Waits(calls), [max(timed, key=_end)]
    while before := [call for call in waits.for_(path[0]) if call.started is not None]:
        path.insert(0, max(before, key=_end))
    return path


def uses(call: CallView, earlier: CallView) -> bool:
    """Whether the value of an earlier call is seen in a call's arguments."""
    if call.step is not None:
        return call.name in earlier.leads
    if earlier.status not in ("done", "answered") or earlier.result is None:
        return False
    value = render({"": earlier.result}, 90).removeprefix("=").rstrip("…")
    if len(value) < _TRIVIAL:
        return False
    return re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.])", call.arguments) is not None


def _place(call: CallView) -> tuple[int, int]:
    assert call.place is not None
    return call.place


def _end(call: CallView) -> float:
    return (call.started or 0.0) + (call.seconds or 0.0)
