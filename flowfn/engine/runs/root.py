"""What a root run and the runs nested in it have in common: who watches, what has ended them, what they wait for.

Rule: what is of one of them alone is in its `Run`; what any of them may find out for all is here, once.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from flowfn.engine.questions.open import Questions
from flowfn.errors import Cancelled
from flowfn.identity.volatile import Window
from flowfn.python.cached_property import cached_property
from flowfn.python.tally import Tally
from flowfn.report import Report
from flowfn.runtime import RunControl

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.engine.replay.rehearsal import Rehearsal
    from flowfn.engine.runs.going_back import GoingBack
    from flowfn.futures import Future
    from flowfn.ports import Host


class Root:
    """What the runs of one invocation share."""

    def __init__(self, host: Host) -> None:
        self._since, self._when = host.since()
        """From when on a time among arguments may have been read off the clock for these runs."""
        self._now = host.now
        self._elapsed = host.elapsed
        self._read_again: list[float] = []
        self.report = Report()
        self.ran = Tally()
        self.reused = Tally()
        self.control = RunControl()
        self.fatal: BaseException | None = None
        """What ends the run, whatever user code makes of that."""
        self.rehearsal: Rehearsal | None = None
        """Where it is replayed dry, what that met; see `engine/replay/rehearsal.py`."""
        self.asks = False
        """Whether there is something in `questions`."""
        self.back: GoingBack | None = None
        """Where the caller goes back."""
        self.left: list[Future[Any]] = []
        """What goes on upon threads that nobody can stop, though the run was left."""
        self.rests: dict[Future[None], Call] = {}
        """The calls that wait between two attempts, by what ends that."""
        self.belated: set[str] = set()
        """The places that made calls whose arguments had changed before they began."""

    @cached_property
    def questions(self) -> Questions:
        """What they ask and are answered: made when it is first asked for."""
        self.asks = True
        return Questions()

    def leave(self, calls: Iterable[Call]) -> None:
        """Note which of these calls go on upon a thread, though nobody waits for them any more."""
        for call in calls:
            future = call.future
            if future is not None and not (call.definition.is_async or future.waiting or future.done()):
                self.left.append(future)

    def window(self) -> Window:
        """When a time among the arguments of a call of this moment may have been read off the clock."""
        return Window(self._since, self._now, self._passed, self._read_again)

    def reads_again(self, time: float) -> None:
        """Code is told the time at which it read the clock in an earlier attempt."""
        insort(self._read_again, time)

    def _passed(self) -> float:
        """The seconds since then, whatever the clock was set to meanwhile."""
        return self._elapsed() - self._when

    def end(self, error: BaseException) -> None:
        """Have the run end by this, unless something ends it already."""
        if self.fatal is None:
            self.fatal = error
        self.end_rests()

    def end_rests(self) -> None:
        """Have calls that are in vain by now no more wait for another attempt."""
        for over, call in self.rests.copy().items():
            if call.in_vain:
                over.cancel()

    def stop_what_is_left(self) -> None:
        """Have code that is still on its way, on threads that nobody can stop, start nothing more: another run may."""
        self.end(Cancelled())

    def counted_report(self) -> Report:
        """The report as it stands."""
        self.report.reused, self.report.ran = self.reused.last, self.ran.last
        return self.report
