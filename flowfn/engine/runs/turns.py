"""Turns: where `max_concurrency` makes the tasks of a superstep queue, they start in plan order.

Rule: a task starts once all before it have started, and fewer than the limit have yet to end. An end is told before
the next task starts, so that under a limit of one nothing about a superstep is left to chance. After a failure nothing
that queues starts any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call


class Turns:
    """The calls of a superstep that have to wait for others to end. `start` gives one its job, and starts it."""

    def __init__(self, calls: Sequence[Call], limit: int | None, start: Callable[[Call], None]) -> None:
        self._start = start
        self._later: deque[Call] = deque()
        self._dropped: set[Call] = set()
        self._ended = False
        for call in () if limit is None else calls[limit:]:
            assert call.future is not None
            if call.future.take() is None:
                self._dropped.add(call)
            else:
                self._later.append(call)

    def next(self, ended: Call) -> None:
        """A call has ended: start the first that waits. Any thread may say so."""
        if self._later and not self._ended and ended not in self._dropped:
            with suppress(IndexError):
                self._start(self._later.popleft())

    def end(self) -> None:
        """Start none any more; those that wait are yet to be dropped."""
        self._ended = True

    def drop(self, calls: Sequence[Call]) -> None:
        """Cancel those of `calls` that still wait."""
        dropped = [call for call in calls if self._take_out(call)] if self._later else ()
        self._dropped.update(dropped)
        for call in dropped:
            assert call.future is not None
            call.future.abandon()

    def _take_out(self, call: Call) -> bool:
        """Whether it was still there: else its turn has just come."""
        try:
            self._later.remove(call)
        except ValueError:
            return False
        return True
