"""How many more workers would help with the calls that wait for one.

Rule: threads that all compute only take the interpreter's lock from each other, and who called waits for the calls and
runs them in the meantime. So workers are added where the processor has time to spare, since code waits for something;
where the calls that wait stay the same ones, since those under way are long; and, slowly, where they only become more.
"""

from __future__ import annotations

import time
from typing import Any

_IDLE, _BUSY = 0.3, 0.8
"""The shares of a processor up to which a process waits for something, and from which on it computes all the time."""

_SEEMS = 3
"""At how many looks in a row it must seem that more would help, where the process isn't idle: it may have paused."""

_GROWTH = 4
"""How many times as many workers there are then, from one look to the next."""

_PATIENCE = 100
"""After how many looks at calls of which none was taken, while more came, the next one counts like one at the same."""


class Processor:
    """How much this process computes."""

    def __init__(self) -> None:
        self._passed = time.monotonic()
        self._spent = time.process_time()

    def share(self) -> float:
        """How much of the time since this was last asked it had a processor; more than 1 if it had several."""
        passed, spent = time.monotonic(), time.process_time()
        share = (spent - self._spent) / max(passed - self._passed, 1e-9)
        self._passed, self._spent = passed, spent
        return share


class Pace:
    """How the calls of one host are taken, from look to look."""

    def __init__(self) -> None:
        self._first: Any = None
        self._last: Any = None
        self._same = 0
        self._seems = 0

    def more(self, first: Any, last: Any, waiting: int, active: int, share: float) -> int:
        """How many workers to add to those that are `active`, for `waiting` calls from the `first` to the `last`, in a
        process that has this `share` of a processor.
        """
        self._same = self._same + 1 if first is self._first else 0
        stuck = self._same > 0 and (last is self._last or self._same > _PATIENCE)
        self._seems = self._seems + 1 if stuck or share < _BUSY else 0
        self._first, self._last = first, last
        if share < _IDLE:
            return waiting
        return min(waiting, max(1, active * (_GROWTH - 1))) if self._seems >= _SEEMS else 0

    def rest(self) -> None:
        """Nothing waits."""
        self._first = self._last = None
        self._seems = 0
