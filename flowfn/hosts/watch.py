"""How long an attempt may take: in all, and between two signs of life.

A sign of life is a `heartbeat()`; with `refresh_on="auto"` also what the code writes and the tasks that it calls.
"""

from __future__ import annotations

from collections.abc import Callable

from flowfn.context import current_frame
from flowfn.errors import TaskTimeout
from flowfn.policies import TimeoutPolicy

__all__ = ["Watch"]


class Watch:
    """The time of an attempt that begins now; `elapsed` gives seconds since some moment.

    The signs of life are those of the code whose frame is the present one.
    """

    def __init__(self, limit: float | TimeoutPolicy, elapsed: Callable[[], float]) -> None:
        self._policy = limit if isinstance(limit, TimeoutPolicy) else TimeoutPolicy(run_timeout=limit)
        self._now = elapsed
        self._began = self._alive = elapsed()
        frame = current_frame.get()
        if frame is not None and self._policy.idle_timeout is not None:
            frame.watch = self.saw

    def saw(self, explicit: bool) -> None:
        """A sign of life; `explicit` is a heartbeat."""
        if explicit or self._policy.refresh_on == "auto":
            self._alive = self._now()

    def left(self) -> tuple[float, str]:
        """Seconds until the nearer of the two limits, and which it is."""
        now, policy = self._now(), self._policy
        limits = [(self._began, policy.run_timeout, "run"), (self._alive, policy.idle_timeout, "idle")]
        ends = [(since + limit - now, kind) for since, limit, kind in limits if isinstance(limit, float)]
        return min(ends)

    def error(self, name: str, kind: str, then: str) -> TaskTimeout:
        """The error of an attempt whose time was up; `then` says what became of it."""
        limit = self._policy.run_timeout if kind == "run" else self._policy.idle_timeout
        assert isinstance(limit, float)
        what = "its timeout" if kind == "run" else "its idle timeout"
        return TaskTimeout(
            f"{name!r} took longer than {what} of {limit:g} s, and {then}",
            name=name,
            elapsed=self._now() - self._began,
            kind=kind,
            timeout=limit,
        )
