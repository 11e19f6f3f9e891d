"""Time, as the hosts tell it to the engine; a test hands in its own."""

from __future__ import annotations

import time
from threading import Event
from typing import Final

from flowfn.python.began import BEGAN

_YOUNG: Final = 60.0
"""Seconds for which a run may use what its process has read off the clock before it, as a script does at its top."""


class Clock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def since(self) -> tuple[float, float]:
        """From when on what was read off this clock may be among the arguments of calls of a run that begins now, and
        what `elapsed` said then.

        Not from before the process: a file that came a moment before it has a time in its name, and is an item.
        """
        now, elapsed = time.time(), time.monotonic()
        return (BEGAN, elapsed - (now - BEGAN)) if now - _YOUNG <= BEGAN <= now else (now, elapsed)

    def elapsed(self) -> float:
        """Seconds since some moment: they only go on, whatever the clock on the wall is set to."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block the calling thread for `seconds`."""
        time.sleep(seconds)

    def rest(self, over: Event, seconds: float) -> None:
        """Block the calling thread for `seconds`, or until `over` is set."""
        over.wait(seconds)

    def wait(self, event: Event, seconds: float) -> bool:
        """Block until `event` is set or `seconds` have passed; whether it was set."""
        return event.wait(seconds)


SYSTEM = Clock()
