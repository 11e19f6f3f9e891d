"""Recorded calls that nobody has claimed yet, found without a look at those that somebody has.

Rule: what is asked for costs the same beside many as beside few. An edit may make all of ten thousand calls new ones,
and each of them looks for records that it might be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from flowfn.python.cached_property import cached_property

if TYPE_CHECKING:
    from flowfn.engine.records.record import Record


class Unclaimed(Iterable["Record"]):
    """Some recorded calls, in their order, but for those that have been claimed by the time of the look."""

    def __init__(self, records: list[Record]) -> None:
        self._records = records
        self._start = 0
        """Before it all are claimed, and stay so. Of threads that look at once either may set it."""

    def __iter__(self) -> Iterator[Record]:
        records, passed = self._records, True
        for at in range(self._start, len(records)):
            record = records[at]
            if not record.claimed:
                if passed:
                    self._start, passed = at, False
                yield record
        if passed:
            self._start = len(records)

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None


class Rivals(Unclaimed):
    """The unclaimed calls of one name in one scope."""

    def like(self, scope_code: str, skeleton: bytes | None) -> Unclaimed:
        """Those that this code of the scope made, and that differ in nothing but what may be made anew each time."""
        return self._by_skeleton.get((scope_code, skeleton), NONE)

    def at(self, scope_code: str, position: int) -> Unclaimed:
        """Those that this code of the scope made, and before which it had made so many of the name."""
        return self._by_position.get((scope_code, position), NONE)

    @cached_property
    def _by_skeleton(self) -> dict[tuple[str, bytes | None], Unclaimed]:
        found: dict[tuple[str, bytes | None], list[Record]] = {}
        for record in self._records:
            if (info := record.info) is not None:
                found.setdefault((info.scope_code, info.skeleton), []).append(record)
        return {key: Unclaimed(records) for key, records in found.items()}

    @cached_property
    def _by_position(self) -> dict[tuple[str, int], Unclaimed]:
        found: dict[tuple[str, int], list[Record]] = {}
        for record in self._records:
            if (info := record.info) is not None:
                found.setdefault((info.scope_code, info.position), []).append(record)
        return {key: Unclaimed(records) for key, records in found.items()}


NONE = Rivals([])
