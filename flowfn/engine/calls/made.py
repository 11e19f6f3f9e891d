"""What an attempt's code has called: which calls are open, which have failed, and which the next one is.

Rule: code that calls nothing has none of this, and most attempts are of tasks that don't.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.engine.questions.interrupts import Asked
    from flowfn.engine.records.ledger import Equals
    from flowfn.engine.replay.namesakes import Caller
    from flowfn.futures import Future

Key = tuple[str, bytes]
"""The name of a call, and the digest of its arguments."""

_NUMBERS = count(1)
"""Tells apart who asks at the same time."""


class Calls:
    """The calls and questions of an attempt's code; any of its threads may make one."""

    __slots__ = (
        "_counts",
        "_firsts",
        "_positions",
        "caller",
        "equals",
        "failures",
        "made",
        "mistaken",
        "newest",
        "open",
        "questions",
        "survived",
        "unplaced",
    )

    def __init__(self) -> None:
        self._firsts: dict[Key, int] = {}
        """Which call was the first of a name and arguments, by a number of its own."""
        self._counts: dict[Key, Iterator[int]] = {}
        """Count the calls that equal an earlier one."""
        self._positions: dict[str, Iterator[int]] = {}
        """Count its calls of each name."""
        self.equals: dict[Key, Equals] = {}
        """The recorded calls of a name and arguments."""
        self.caller: Caller | None = None
        """Tells its calls of functions that share a name from each other; None until it makes one."""
        self.made = 0
        """How many tasks were called."""
        self.newest = 0
        """Of the recorded calls that were made again: how late the latest was made."""
        self.open: dict[Future[Any], Call] = {}
        """Those that haven't been seen to end."""
        self.unplaced: list[Call] = []
        """Those of them that are held until somebody waits; see `engine/calls/holding.py`."""
        self.failures: list[tuple[Call, BaseException]] = []
        """Those that failed, or whose recorded failure was given, in the order in which they did."""
        self.survived = 0
        """After how many of `failures` it is recorded that the code went on."""
        self.mistaken: dict[Future[Any], str] = {}
        """The futures whose truth or text was taken before their results, and where that first was."""
        self.questions: list[Asked] = []
        """What was asked in this attempt, to be recorded when it ends."""

    @property
    def concern_nobody(self) -> bool:
        """Whether none is open, failed or mistaken, and nothing was asked."""
        return not (self.open or self.failures or self.mistaken or self.questions or self.unplaced)

    def position(self, name: str) -> int:
        """How many calls of the same name were made before."""
        return next(self._positions.get(name) or self._positions.setdefault(name, count()))

    def occurrence(self, key: Key) -> int:
        """How many calls of that name and those arguments were made before; of two threads each gets its own number."""
        me = next(_NUMBERS)
        if self._firsts.setdefault(key, me) == me:  # most are: they cost an int, where a counter is an object
            return 0
        return next(self._counts.setdefault(key, count(1)))
