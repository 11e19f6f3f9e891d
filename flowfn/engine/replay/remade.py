"""Which of its recorded calls code has yet to make again.

Rule: an outcome was heard of after the calls that had been made before it was recorded, whoever made them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowfn.engine.records.record import Record


class Remade:
    """The recorded calls of one scope, until they are made again, in the order in which they had been made."""

    def __init__(self, records: Iterable[Record]) -> None:
        made = [(record.info.born, record) for record in records if record.info is not None]
        self._left = deque(sorted(made, key=lambda each: each[0]))

    def is_left_before(self, place: float) -> bool:
        """Whether one is left that had been made before the outcome of that place was recorded."""
        left = self._left
        while left and left[0][1].claimed:
            left.popleft()
        return bool(left) and left[0][0] < place

    def pass_by(self, place: float) -> None:
        """Expect no longer those that had been made before that."""
        while self.is_left_before(place):
            self._left.popleft()
