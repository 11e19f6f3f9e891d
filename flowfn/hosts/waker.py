"""Who wakes workers for tasks that were called and left waiting, and whoever else may stall: one thread for all runs.

Rule: it looks every few milliseconds, and never for sequential code, which waits for its calls at once. Between a look
that finds nothing and a call that is made at that moment no call is missed: one of the two sees the other.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

from flowfn.hosts.pace import Processor
from flowfn.python.forking import after_fork

__all__ = ["WAKER", "Looked", "Waker"]


class Looked(Protocol):
    """What is looked after."""

    urgent: bool
    """Whether, while there is something to see to, each moment until the next look is lost."""

    def wake(self, share: float) -> bool:
        """See to what has been left waiting; whether anything was. `share`: see `ThreadHost.wake`."""


class Waker:
    """One thread that looks, while runs call tasks, for tasks that were called and left waiting."""

    TICK, LONGEST_TICK = 0.001, 0.004
    """Seconds from look to look: first, and at most, where each look finds that what was called has been taken."""
    QUIET_TICKS = 20

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Begin anew, with nobody to look after and no thread: a forked child has none of its parent's."""
        self._hosts: set[Looked] = set()
        self._awake = False
        self._fresh = False
        self._lock = threading.Lock()
        # No event: written in Python, it stays locked where Ctrl-C comes as it is set, and then for everybody.
        self._stir = threading.Lock()
        self._stir.acquire()
        self._thread: threading.Thread | None = None

    def watch(self, host: Looked) -> None:
        """Look after `host` until its tasks have been taken."""
        self._fresh = True
        if not self._awake or host not in self._hosts:
            self._rouse(host)

    def forget(self, host: Looked) -> None:
        """Look after `host` no more, and hold nothing of its run: many may end from one look to the next."""
        self._hosts.discard(host)

    def _rouse(self, host: Looked) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._loop, daemon=True, name="flowfn waker")
                try:
                    self._thread.start()
                except RuntimeError:  # no thread can be started: whoever waits for a call runs it
                    return
            self._hosts.add(host)
            self._awake = True
            if self._stir.locked():
                self._stir.release()

    def _loop(self) -> None:
        while True:
            self._stir.acquire()
            quiet, tick, processor = 0, self.TICK, Processor()
            while quiet < self.QUIET_TICKS or not self._dozed_off():
                self._fresh = False
                time.sleep(tick)
                share = processor.share()
                left = [host for host in self._hosts.copy() if self._look_after(host, share)]
                quiet = 0 if left or self._fresh else quiet + 1
                urgent = any(host.urgent for host in left)
                tick = self.TICK if urgent else min(2 * tick, self.LONGEST_TICK)

    def _look_after(self, host: Looked, share: float) -> bool:
        """Wake workers for what a host has left waiting; whether anything was. If not, the host is forgotten until it
        calls a task again: where some run is always calling tasks, hosts of runs that have ended would pile up.

        It is looked at once more after that: `watch` comes after the task is there, so either it finds the host
        forgotten, or this finds the task.
        """
        if host.wake(share):
            return True
        with self._lock:
            self._hosts.discard(host)
        if not host.wake(share):
            return False
        with self._lock:
            self._hosts.add(host)
        return True

    def _dozed_off(self) -> bool:
        """Stop watching, unless somebody calls tasks at this very moment.

        `watch` writes `_fresh` and then reads `_awake`; this writes `_awake` and then reads `_fresh`:
        so at least one of the two sees the other.
        """
        with self._lock:
            self._awake = False
            self._awake = self._fresh
            if not self._awake:
                self._hosts.clear()
            return not self._awake


WAKER = Waker()
after_fork(WAKER.renew)
