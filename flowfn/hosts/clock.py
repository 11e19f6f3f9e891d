"""Time, as the hosts tell it to the engine; a test hands in its own."""

from __future__ import annotations

import time
from threading import Event


class Clock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def elapsed(self) -> float:
        """Seconds since some moment: they only go on, whatever the clock on the wall is set to."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block the calling thread for `seconds`."""
        time.sleep(seconds)

    def wait(self, event: Event, seconds: float) -> bool:
        """Block until `event` is set or `seconds` have passed; whether it was set."""
        return event.wait(seconds)


SYSTEM = Clock()
