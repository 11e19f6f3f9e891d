"""Clocks that move when somebody waits: retries, timeouts and `flowfn.sleep` take no time in a test."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta

from flowfn.hosts.clock import Clock
from flowfn.testing.simulation import Simulation

POLL = 0.002
"""Real seconds between two looks at work that goes on in real time, while a timeout waits for it."""


class SkippingClock(Clock):
    """The machine's clock, put forward by whoever sleeps."""

    def __init__(self) -> None:
        self.slept = 0.0
        """Seconds that all sleeps came to."""
        self._lock = threading.Lock()

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time() + self.slept

    def since(self) -> tuple[float, float]:
        """The present of the machine's clock, behind which this one may be far ahead: code asks either for the time."""
        return time.time(), self.now()

    def elapsed(self) -> float:
        """Seconds since the epoch as well: nobody sets this clock back."""
        return self.now()

    def sleep(self, seconds: float) -> None:
        """Let time pass instead of waiting."""
        with self._lock:
            self.slept += seconds

    def rest(self, over: threading.Event, seconds: float) -> None:
        """Let time pass instead of waiting, unless that is over."""
        if not over.is_set():
            self.sleep(seconds)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for real work; whether it ended before `seconds` had passed on this clock."""
        deadline = self.now() + seconds
        while not event.wait(POLL):
            if self.now() >= deadline:
                return False
        return self.now() < deadline


class VirtualClock(SkippingClock, Simulation):
    """The time of the runs that begin inside `with VirtualClock() as clock:`; it stands until somebody moves it.

    Whoever sleeps moves it, and goes on at once; two that sleep side by side move it by both sleeps. `start` is
    when it begins, default now. A task's function takes no time, but for what it sleeps by `flowfn.sleep`, and
    for the latency of a fault plan. Timeouts of coroutines count real time.
    """

    def __init__(self, start: datetime | None = None) -> None:
        Simulation.__init__(self)
        SkippingClock.__init__(self)
        self.clock = self
        self._start = time.time() if start is None else start.timestamp()

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._start + self.slept

    @property
    def time(self) -> datetime:
        """The same as a datetime, in UTC."""
        return datetime.fromtimestamp(self.now(), UTC)

    def advance(self, seconds: float | timedelta) -> None:
        """Let time pass without anybody sleeping."""
        with self._lock:
            self._start += seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
