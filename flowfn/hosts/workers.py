"""Cached threads: starting work on an idle one costs a fraction of starting a thread.

Guarantees: a job given to `run_soon` starts at once, however many run already; idle threads end
after ten seconds; none keeps the process alive. The shape is trio's thread cache.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock, Thread

from flowfn.python.forking import after_fork

IDLE_SECONDS = 10.0

_idle: list[_Worker] = []


def run_soon(job: Callable[[], None]) -> None:
    """Run `job`, which must not raise, on an idle thread or on a new one."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.give(job)


class _Worker:
    __slots__ = ("_job", "_ready")

    def __init__(self) -> None:
        self._job: Callable[[], None] | None = None
        self._ready = Lock()
        self._ready.acquire()
        Thread(target=self._loop, daemon=True, name="flowfn worker").start()

    def give(self, job: Callable[[], None]) -> None:
        self._job = job
        self._ready.release()

    def _loop(self) -> None:
        while self._ready.acquire(timeout=IDLE_SECONDS) or not self._retired():
            job, self._job = self._job, None
            if job is not None:
                job()
                del job
                _idle.append(self)

    def _retired(self) -> bool:
        """Leave the idle list; False if somebody has just taken us off it to give us a job."""
        try:
            _idle.remove(self)
        except ValueError:
            self._ready.acquire()
            return False
        return True


def _forget() -> None:
    """A forked child has none of its parent's threads."""
    _idle.clear()


after_fork(_forget)
