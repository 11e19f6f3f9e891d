"""Whether more workers would help with the calls that wait for one.

Rule: threads that all compute only take the interpreter's lock from each other, and who called waits for the calls and
runs them in the meantime. So workers are added where the processor has time to spare, since code waits for something;
where the calls that wait stay the same ones, since those under way are long; and, slowly, where they only become more.
"""

from __future__ import annotations

import time
from typing import Any

GROWTH = 4
"""How many times as many workers there are, from one look to the next, as long as more would help."""

_SEEMS = 3
"""At how many looks in a row it must seem so: a single one may meet a pause of the machine's."""

_PATIENCE = 100
"""After how many looks at calls of which none was taken, while more came, the next one counts like one at the same."""

_ALL = 0.8
"""The share of a processor from which on a process computes all the time."""


class Processor:
    """How much this process computes."""

    def __init__(self) -> None:
        self._passed = time.monotonic()
        self._spent = time.process_time()

    def is_busy(self) -> bool:
        """Whether it has computed all the time since this was last asked."""
        passed, spent = time.monotonic(), time.process_time()
        busy = spent - self._spent >= _ALL * (passed - self._passed)
        self._passed, self._spent = passed, spent
        return busy


class Pace:
    """How the calls of one host are taken, from look to look."""

    def __init__(self) -> None:
        self._first: Any = None
        self._last: Any = None
        self._same = 0
        self._seems = 0

    def is_slow(self, first: Any, last: Any, *, busy: bool) -> bool:
        """Whether more workers would help with what waits, from the first call to the last. `busy`: the process computes
        all the time.
        """
        self._same = self._same + 1 if first is self._first else 0
        stuck = self._same > 0 and (last is self._last or self._same > _PATIENCE)
        self._seems = self._seems + 1 if stuck or not busy else 0
        self._first, self._last = first, last
        return self._seems >= _SEEMS

    def rest(self) -> None:
        """Nothing waits."""
        self._first = self._last = None
        self._seems = 0
