"""Which of its recorded calls code has yet to make again.

Rule: an outcome was heard of after the calls that had been made before it was recorded, whoever made them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowfn.engine.records.record import Record


class Remade:
    """The recorded calls of one scope, until they are made again, in the order in which they had been made. Any thread
    may ask: of two that do at once neither looks past a call that is left."""

    def __init__(self, records: Iterable[Record]) -> None:
        made = [(record.info.born, record) for record in records if record.info is not None]
        self._made = sorted(made, key=lambda each: each[0])
        self._come = 0
        """So many of these are made again."""

    def is_left_before(self, place: float) -> bool:
        """Whether one is left that had been made before the outcome of that place was recorded."""
        made, come = self._made, self._come
        while come < len(made) and made[come][1].claimed:
            come += 1
        self._come = come
        return come < len(made) and made[come][0] < place

    def pass_by(self, place: float) -> None:
        """Expect no longer those that had been made before that."""
        while self.is_left_before(place):
            self._come += 1
