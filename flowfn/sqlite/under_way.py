"""The transactions of tasks that a process has under way, and the closing of files that nobody has any more.

Rule: a fork waits for those of other threads, from before their connections are opened until these are closed, and
meanwhile none begins: SQLite keeps locks of its own, and the child would wait for ever for one that another thread
held. The file of one that still goes on is not opened in the child, as SQLite can't tell its locks from the parent's.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from flowfn.python.forking import Stillness, each_around_fork
from flowfn.sqlite.file import inherit


@dataclass(eq=False, slots=True)
class Place:
    """One of them: on whose thread it is, and in which file; "" while that isn't known, and for one in memory."""

    thread: int
    file: str

    def is_in(self, file: str) -> None:
        """It is in this file, as has turned out."""
        self.file = os.path.abspath(file) if file else ""


class UnderWay:
    """Those that have not ended."""

    def __init__(self) -> None:
        self._renew()
        _crosses_forks(self)

    def _renew(self) -> None:
        self._lock = (
            threading.RLock()
        )  # as the garbage collector may end one in the middle of what is done here
        self._changed = threading.Condition(self._lock)
        self._stillness = Stillness()
        self._places: list[Place] = []  # which, unlike a set, may change while it is looked through
        self._barred_until = 0.0

    @contextmanager
    def on(self, file: str = "", *, inner: bool = False) -> Iterator[Place]:
        """While a connection to a file is opened, used and closed.

        A fork holds up those that begin, but none on a thread that has one already, nor an `inner` one: that is a
        step of another, for which the fork waits, on a thread of its own, or comes from the garbage collector.
        """
        place = Place(threading.get_ident(), "")
        place.is_in(file)
        with self._changed:
            while not (inner or self._is_on(place.thread)):
                if (barred := self._barred_until - time.monotonic()) <= 0:
                    break
                self._changed.wait(barred)
            self._places.append(place)
        try:
            yield place
        finally:
            with self._changed, suppress(ValueError):  # in a child it was none of its own from the start
                self._places.remove(place)
                self._changed.notify_all()

    def _is_on(self, thread: int) -> bool:
        return any(place.thread == thread for place in self._places)

    def before_fork(self, deadline: float) -> None:
        """Wait for those of other threads; that of the thread which forks can't end meanwhile."""
        if self._stillness.take(self._lock, deadline):
            here = threading.get_ident()
            self._barred_until = deadline
            while any(place.thread != here for place in self._places):
                if not self._changed.wait(deadline - time.monotonic()):
                    break
            self._barred_until = 0.0
            self._changed.notify_all()

    def after_fork(self) -> None:
        """Go on in the parent."""
        self._stillness.end()

    def cross_fork(self) -> None:
        """Go on in the child, which has none of them."""
        for place in tuple(self._places):
            if place.file:
                inherit(place.file)
        self._renew()


_crosses_forks = each_around_fork(UnderWay.before_fork, UnderWay.after_fork, UnderWay.cross_fork)
under_way = UnderWay()
