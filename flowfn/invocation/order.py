"""What is asked in a call, once its arguments are read; and the run that a streamed one comes to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowfn.config import Durability, OnBusy, RunConfig
from flowfn.engine.records.reader import Reader
from flowfn.errors import Cancelled

if TYPE_CHECKING:
    from flowfn.engine.records.journal import Journal
    from flowfn.engine.runs.run import Run
    from flowfn.ports import Lease, Saver
    from flowfn.runtime import RunControl
    from flowfn.streams import Shaper

Names = Collection[str] | None
"""Names of nodes, or `"*"` for all; None leaves what the program says."""


@dataclass(slots=True)
class Order:
    """The arguments of a call, read; `lease` where the thread is held already.

    `goes_on`: where the thread's unfinished run is of this very call, it is resumed; with `once`, whatever its run has
    come to, and another call is refused.
    """

    input: Any
    config: RunConfig
    context: Any = None
    durability: Durability | None = None
    on_busy: OnBusy | None = None
    lease: Lease | None = None
    journal: Journal | None = None
    """The run's, once its lease is taken."""
    leave: Callable[[], None] | None = None
    """Gives the lease back where the run can't go on. The host keeps it weakly, and so it goes with the call."""
    interrupt_before: Names = None
    interrupt_after: Names = None
    control: RunControl | None = None
    goes_on: bool = False
    once: bool = False
    check: Callable[[Saver, str], None] | None = None
    """Looks at the thread once it is held, and raises where it isn't what the caller took it for."""
    started: Started | None = None
    """Of a call that is streamed."""
    shown: str | Sequence[str] | None = None
    """Which channels whoever watches calls is told of as its result; None stands for those of the output."""

    def equip(self, run: Run) -> None:
        """Give a run what its caller says about breakpoints."""
        if self.interrupt_before:
            run.interrupt_before = "*" if self.interrupt_before == "*" else tuple(self.interrupt_before)
        if self.interrupt_after:
            run.interrupt_after = "*" if self.interrupt_after == "*" else tuple(self.interrupt_after)


class Started:
    """The run of a stream, once it exists, so that a consumer who leaves can stop it."""

    run: Run | None = None
    left = False
    """Whether nobody hears any more of what the run comes to."""

    def __init__(self, watch: Any, shaper: Shaper) -> None:
        self.watch = watch
        self.reader = Reader(shaper, watch.post, watch.leave)
        """Its consumer, where the run is inside another one."""

    def begin(self, run: Run) -> None:
        """There is a run now; where its consumer has left already, it stops at its first task."""
        self.run = run
        run.pause, run.before_work = self.watch.pause, self.watch.before_work
        if self.left:
            run.root.fatal = Cancelled()

    def nest(self, run: Run) -> None:
        """There is a run now, inside another one: its consumer hears of it, as whoever watches that one does."""
        self.reader.begin(run)
        run.pause = self.watch.pause

    def is_on(self, saver: Saver, thread: str) -> bool:
        """Whether there is a run that holds this thread."""
        journal = None if self.run is None else self.run.journal
        return (
            journal is not None
            and journal.saver is saver
            and journal.thread == thread
            and not journal.released
        )

    def leave(self) -> None:
        """Stop the run at its next task."""
        self.left = True
        if self.run is not None:
            self.run.root.fatal = Cancelled()
            self.run.root.end_rests()
