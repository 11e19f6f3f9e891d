"""Names of channels that are picked together again and again.

Rule: what follows from the names alone is worked out once; a state of a thousand keys is then copied, not looked up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from flowfn.values import MISSING

MANY: Final = 16
"""From how many names on it pays to take them all at once."""


class Selection(tuple[str, ...]):
    """Names in the order in which a mapping of them has them: of a node's input, or of a result."""

    _blank: dict[str, Any]
    _sorted_out: tuple[frozenset[str] | None, tuple[str, ...]]

    def __new__(cls, names: Iterable[str]) -> Selection:
        self = super().__new__(cls, names)
        self._blank = dict.fromkeys(self, MISSING)
        self._sorted_out = None, ()
        return self

    def is_most(self, cells: Mapping[str, Any]) -> bool:
        """Whether copying the cells whole is cheaper than looking each of `MANY` names or more up."""
        return len(cells) <= 2 * len(self)

    def beyond(self, direct: frozenset[str]) -> tuple[str, ...]:
        """Those whose value isn't simply what is in the cell."""
        known, found = self._sorted_out
        if known is not direct:
            found = tuple(name for name in self if name not in direct)
            self._sorted_out = direct, found
        return found

    def spread(self, cells: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """The cells of the names in their order, `MISSING` where there is none, and how many there are; without a
        step in Python for each."""
        if tuple(islice(cells, len(self))) == self:
            found = cells.copy()  # which a key that was deleted before doesn't slow down
        else:
            found = self._blank.copy()
            found.update(cells)
        others = len(found) - len(self)
        for _ in range(others):
            found.popitem()
        return found, len(cells) - others
