"""The thread that deletes what has expired.

Rule: it holds its store weakly, and a sweep that fails is tried again at the next turn.
"""

from __future__ import annotations

import logging
import threading
import weakref
from concurrent.futures import Future
from typing import Protocol

from flowfn.errors import FlowError, InvalidInput
from flowfn.hosts.clock import SYSTEM
from flowfn.python.forking import let_go_by_fork

logger = logging.getLogger("flowfn")


class Clock(Protocol):
    """The time, as a store asks for it."""

    def now(self) -> float:
        """Seconds since the epoch."""

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Block until `event` is set or `seconds` have passed; whether it was set."""


class Sweepable(Protocol):
    """What a sweeper sweeps."""

    def sweep_ttl(self) -> int:
        """Delete what has expired; how many there were."""


class Sweeper:
    """At most one thread that sweeps a store."""

    def __init__(self, store: Sweepable, clock: Clock) -> None:
        self._store = weakref.ref(store)
        self._clock = clock
        self._lock = let_go_by_fork(threading.Lock())
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._done: Future[None] = Future()

    def start(self, minutes: float) -> Future[None]:
        """Sweep every so many minutes; the future is done when that has ended.

        Raises:
            InvalidInput: the interval isn't positive.
        """
        if not minutes > 0:
            raise InvalidInput(f"sweep_interval_minutes={minutes!r} is no interval. Pass minutes above 0.")
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stopping = threading.Event()
                self._done = Future()
                work = (self._store, self._clock, self._stopping, self._done, minutes * 60)
                self._thread = threading.Thread(target=_sweep, args=work, name="flowfn-sweeper", daemon=True)
                self._thread.start()
            return self._done

    def stop(self, timeout: float | None) -> bool:
        """Ask it to end, and wait; whether none runs."""
        with self._lock:
            thread = self._thread
        self._stopping.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
        return thread is None or not thread.is_alive()


def _sweep(
    store: weakref.ref[Sweepable],
    clock: Clock,
    stopping: threading.Event,
    done: Future[None],
    seconds: float,
) -> None:
    try:
        while not clock.wait(stopping, seconds) and (target := store()) is not None:
            try:
                target.sweep_ttl()
            except FlowError as error:
                logger.warning("expired items could not be deleted: %s", error)
            del target
    except BaseException as error:
        done.set_exception(error)
    else:
        done.set_result(None)


__all__ = ["SYSTEM", "Clock", "Sweeper"]
