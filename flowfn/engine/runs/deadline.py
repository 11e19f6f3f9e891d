"""`step_timeout`: how long a superstep may take.

Rule: when its time is up, coroutines are cancelled and nothing more starts; code on threads can't be stopped and
runs to its end, and what it did is kept as always. Then the superstep fails with `StepTimeout`, and whoever goes
on runs what has not ended. A task that had failed before is what the superstep failed with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn.errors import StepTimeout

if TYPE_CHECKING:
    from flowfn.engine.runs.run import Run


class Deadline:
    """When a superstep has to have ended, and whether it had."""

    __slots__ = ("_ends", "_failed", "_now", "_seconds", "missed")

    def __init__(self, run: Run, seconds: float) -> None:
        self._now = run.host.elapsed
        self._seconds = seconds
        self._ends = self._now() + seconds
        self._failed = False
        self.missed = False
        """Whether time was up before all had ended, or one had failed."""

    @property
    def left(self) -> float:
        """Seconds until then."""
        return self._ends - self._now()

    @property
    def passed(self) -> bool:
        """Whether its time is up."""
        return self.left < 0

    def miss(self) -> bool:
        """Time is up, and not all have ended; whether that is news."""
        if self.missed or self._failed:
            return False
        self.missed = True
        return True

    def fail(self) -> None:
        """A task has failed, which ends the superstep; time doesn't matter any more."""
        self._failed = True

    def error(self, name: str) -> StepTimeout:
        """What a superstep that missed it fails with."""
        return StepTimeout(
            f"Timed out. A superstep of {name!r} took longer than its step_timeout of {self._seconds:g} s. What had "
            "ended is kept: invoke(None, config) runs the rest"
        )
