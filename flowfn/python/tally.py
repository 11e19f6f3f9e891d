"""Numbers that threads count up, each once, without a lock."""

from operator import length_hint

_MOST = 1 << 62
"""More than anybody counts."""


class Tally:
    """Counts from `first` on. Counting is one step of the interpreter, and reading too: no thread can set it back."""

    __slots__ = ("_left", "count")

    def __init__(self, first: int = 1) -> None:
        self._left = iter(range(first, _MOST))
        self.count = self._left.__next__
        """Returns the next number, which is counted by that."""

    @property
    def last(self) -> int:
        """The number that was counted last; the one before `first`, where none was."""
        return _MOST - 1 - length_hint(self._left)
