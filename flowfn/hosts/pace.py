"""How many more workers would help with the calls that wait for one, or whether there are too many.

Rule: threads that all compute only take the interpreter's lock from each other, and who called waits for the calls and
runs them in the meantime. So workers are added where the processor has time to spare, since code waits for something;
where the calls that wait stay the same ones, since those under way are long; and, slowly, where they only become more.
They leave where they are only in the way: all compute, on one processor, and who called takes calls too.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

_IDLE, _BUSY = 0.3, 0.8
"""The shares of a processor up to which a process waits for something, and from which on it computes all the time."""

_WINDOW = 0.005
"""Seconds, over which the system counts what a process that is computing has computed."""

_SPREAD = 1.4
"""The share from which on threads compute beside each other, as code does that has let go of the interpreter's lock."""

_SEEMS = 3
"""At how many looks in a row it must seem that more would help, where the process isn't idle: it may have paused."""

_WAITS = 3
"""For so many looks, times the threads that compute, somebody may wait for a call that isn't long: the more there are,
the longer each takes."""

_CROWDS = 4
"""At how many looks in a row they must seem to be in the way."""

_GROWTH = 4
"""How many times as many workers there are then, from one look to the next."""

_PATIENCE = 100
"""After how many looks at calls of which none was taken, while more came, the next one counts like one at the same."""


def _times() -> tuple[float, float]:
    return time.monotonic(), time.process_time()


class Processor:
    """How much this process computes; `times` tells the seconds that have passed, and those that it computed."""

    def __init__(self, times: Callable[[], tuple[float, float]] = _times) -> None:
        self._times = times
        self._looks: deque[tuple[float, float]] = deque([times()])

    def share(self) -> float:
        """How much of the last `_WINDOW` it had a processor; more than 1 if it had several. 1 while it is too early."""
        passed, spent = now = self._times()
        looks = self._looks
        looks.append(now)
        while passed - looks[1][0] >= _WINDOW:
            looks.popleft()
        since, before = looks[0]
        return (spent - before) / (passed - since) if passed - since >= _WINDOW else 1.0


class Pace:
    """How the calls of one host are taken, from look to look."""

    def __init__(self) -> None:
        self._first: Any = None
        self._last: Any = None
        self._active = 0
        """How many workers there were."""
        self._same = 0
        """At how many looks in a row no call was taken, and no worker had left."""
        self._seems = 0
        self._waited: Any = None
        self._waits = 0
        """At how many looks in a row somebody has waited for the same call."""
        self._crowds = 0

    def crowded(self, share: float, waited: Any) -> bool:
        """Whether workers had better leave, to be asked after `more`: somebody else takes the calls that are left.

        `waited` is what somebody has begun to wait for last, if anybody has. Who goes on from one call to the next
        takes those that nobody has begun; who waits for the same one for long doesn't.
        """
        is_new, self._waited = waited is not self._waited, waited
        self._waits = 0 if is_new else self._waits + 1
        moves = self._waits < _WAITS * (self._active + 1)
        helped = waited is not None and moves and (is_new or not waited.done())
        self._crowds = self._crowds + 1 if helped and _BUSY <= share < _SPREAD else 0
        return self._crowds >= _CROWDS

    def more(self, first: Any, last: Any, waiting: int, active: int, share: float) -> int:
        """How many workers to add to those that are `active`, for `waiting` calls from the `first` to the `last`, in a
        process that has this `share` of a processor.
        """
        moved = first is not self._first or active < self._active
        self._same, self._active = 0 if moved else self._same + 1, active
        stuck = self._same > 0 and (last is self._last or self._same > _PATIENCE)
        self._seems = self._seems + 1 if stuck or share < _BUSY else 0
        self._first, self._last = first, last
        if share < _IDLE:
            return waiting
        return min(waiting, max(1, active * (_GROWTH - 1))) if self._seems >= _SEEMS else 0

    def rest(self) -> None:
        """Nothing waits."""
        self._first = self._last = self._waited = None
        self._seems = self._crowds = 0
