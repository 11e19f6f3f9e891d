"""The frame: one attempt at one call, as its user code and the tasks that it calls see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from flowfn.engine.calls.injection import runtime_of
from flowfn.engine.calls.made import Calls
from flowfn.engine.calls.once import once
from flowfn.engine.questions.interrupts import Question, ask, ask_together
from flowfn.engine.replay.belonging import Branches
from flowfn.engine.replay.failing import handled_calls
from flowfn.engine.runs.places import Seat
from flowfn.errors import Cancelled, RunClosed, Suspended
from flowfn.futures import Future
from flowfn.python.cached_property import cached_property
from flowfn.runtime import Runtime

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.engine.records.record import CallInfo, Record
    from flowfn.ports import Host
    from flowfn.values import Interrupt


class Frame:
    """What the running code is part of: its run, its scope, and what it has called."""

    __slots__ = (
        "__dict__",  # of what is made when it is first asked for
        "__weakref__",
        "around",
        "attempt",
        "began",
        "branches",
        "call",
        "cancelled",
        "closed",
        "depth",
        "halted",
        "has_called",
        "home",
        "host",
        "met",
        "nested",
        "numbers",
        "run",
        "scope",
        "seat",
        "steps",
        "suspended",
        "told",
        "watch",
    )

    def __init__(self, call: Call, host: Host, attempt: int, began: float | None = None) -> None:
        self.run = run = call.run
        self.call = call
        self.host = host
        """Where its code runs."""
        self.scope = call.task
        self.attempt = attempt
        self.began = began
        """When the first attempt began, in seconds since the epoch."""
        if run.ledger.records:
            run.callers[self.scope] = call.definition
        around = call.parent or run.frame
        self.depth: int = 0 if around is None else around.depth + 1
        self.has_called = False
        """Whether there is something in `calls`."""
        self.home: Any = None
        """What its code runs in: a thread, or on an event loop the asyncio task that is the branch of number 0."""
        self.around: BaseException | None = None
        """What is handled by code that waits for it, and so runs it in place: that is no error of its own code."""
        self.met: dict[Any, int] | None = None
        """How many errors of calls its code was given, by the thread or task that was; see `hosts/makers.py`."""
        self.cancelled = 0
        """How often what runs its code, on an event loop, had been cancelled before that began, or was told of a
        question, and gone on."""
        self.numbers: Any = None
        """The numbers of its other branches; None while there are none. Kept by the host."""
        self.branches: Branches | None = None
        """Which records are kept for them; None until a record is asked for while there are some."""
        self.steps = 0
        """Grows with each call that it makes."""
        self.nested = 0
        """How many runs it has nested in itself."""
        self.suspended = False
        """Whether the attempt ends in a question, of its own or of a call's."""
        self.told = False
        """Whether its code has been told of a question: by `interrupt()`, or by a suspended call's result."""
        self.halted = False
        """Whether its code was told, and may call nothing more. On an event loop other branches may."""
        self.closed = False
        """Whether it has ended: what its code left running may call nothing more."""
        self.seat = Seat(run.slots, self) if run.slots is not None and call.definition.counted else None
        """Its place under `max_concurrency`; None where it needs none, and once its code has ended."""
        self.watch: Callable[[bool], None] | None = None
        """Told of each sign of life, where the time between two is limited."""

    @cached_property
    def calls(self) -> Calls:
        """What its code has called and asked: made for the first of these, whichever of its threads comes first."""
        self.has_called = True
        return Calls()

    def tell(self) -> None:
        """Its code is about to unwind for a question; should it catch that, it goes no further."""
        if not self.told and self.call.definition.is_async:
            self.host.count_cancellations(self)
        self.told = True
        self.halted = not self.call.definition.is_async

    def sign(self, *, explicit: bool = False) -> None:
        """Its code is alive: it says so, or it does something that shows it."""
        if self.watch is not None:
            self.watch(explicit)

    def heartbeat(self) -> None:
        """Its code says that it is alive."""
        self.sign(explicit=True)

    def check(self) -> None:
        """Refuse to go on where the attempt is over or waits for a human."""
        if self.run.root.fatal is not None:
            raise self.run.root.fatal
        if self.halted:
            raise Suspended
        if self.closed:
            raise RunClosed(
                f"{self.call.definition.name!r} has ended, and code that it left running called a task: "
                "wait for threads and asyncio tasks before returning"
            )

    @property
    def shown(self) -> Frame:
        """That of the call which its code is told of; see `Call.shown`."""
        if self.call.parent is None or not self.call.definition.hidden:
            return self
        return self.call.parent.shown

    @cached_property
    def runtime(self) -> Runtime[Any]:
        """What its code may know of itself; the same object whenever it is asked for."""
        return runtime_of(self)

    def ask(self, value: Any, key: str | None, kind: Any, site: str, **more: Any) -> Any:
        """The answer to a question that its code asks; see `engine/questions/interrupts.py`."""
        return ask(self, Question(value, key, kind, site, **more))

    def ask_together(self, interrupts: Iterable[Interrupt]) -> None:
        """Return once questions that were made elsewhere have their answers; see `engine/questions/interrupts.py`."""
        ask_together(
            self, (Question(each.value, None, None, "", each.id, each.response_schema) for each in interrupts)
        )

    def once(self, name: str, make: Callable[[], Any], caller: FrameType) -> Any:
        """A value that its code wants made once; see `engine/calls/once.py`."""
        return once(self, name, make, caller)

    def open_calls(self) -> tuple[Future[Any], ...]:
        """The calls that haven't been seen to end. Threads may take theirs out meanwhile, so a copy is looked at."""
        return tuple(self.calls.open.copy()) if self.has_called else ()

    @property
    def quiet(self) -> bool:
        """Whether its end concerns nobody."""
        return not self.suspended and (not self.has_called or self.calls.concern_nobody)

    @property
    def stands_alone(self) -> bool:
        """Whether its code has called nothing, and so hasn't heard that somebody left its run: its result counts."""
        return not (self.steps or self.nested) and type(self.run.root.fatal) is Cancelled

    def next_nested(self, place: str | None = None) -> int:
        """How many runs this attempt nested in itself before, or, of a place that its code named, in that."""
        number, self.nested = self.nested, self.nested + 1
        return number if place is None else self.calls.position(place)

    def branch(self) -> int:
        """Which branch of its code is current; 0 for what calls it."""
        return self.host.branch(self) if self.call.definition.is_async else 0

    def keeps(self, record: Record, branch: int) -> bool:
        """Whether a record that a branch of its code comes upon is kept for the branch that it is of."""
        return self.numbers is not None and self._branches.keep(record, branch)

    def tells(self, record: Record, branch: int) -> bool:
        """Whether a branch of its code is told from the one that a record is of."""
        return self.numbers is not None and self._branches.tells(record, branch)

    def is_others(self, record: Record, branch: int) -> bool:
        """Whether a record that a branch of its code comes upon is of one that will come for it."""
        return self.numbers is not None and self._branches.is_others(record, branch)

    def goes_on_with(self, record: Record, branch: int) -> None:
        """A branch of its code has claimed a record; nothing to note where what calls the code goes on with its own, as
        long as it has no others: `calls.newest` says how far it is."""
        info = record.info
        if self.branches is not None or (info is not None and info.branch != branch):
            self._branches.claim(record, branch)

    def has_news(self, branch: int) -> None:
        """A new call of a branch of its code has an outcome."""
        if self.numbers is not None:
            self._branches.has_news(branch)

    @property
    def _branches(self) -> Branches:
        if self.branches is None:
            code = self.call.definition.code
            self.branches = Branches(code, self, self.calls.newest)
        return self.branches

    def has_come_again(self, branch: int) -> bool:
        """See `Recognised`."""
        return self.numbers is not None and self.numbers.has_come_again(branch)

    def is_one_more(self, branch: int) -> bool:
        """See `Recognised`."""
        return self.numbers is not None and self.numbers.is_one_more(branch)

    def is_by_several(self, info: CallInfo) -> bool:
        """See `Recognised`."""
        return self.run.ledger.is_by_several(info)

    def branch_began(self) -> Sequence[FrameType]:
        """What began the current branch of its code, and what waits for that, the innermost first; nothing for what
        calls it."""
        return self.host.branch_began(self) if self.call.definition.is_async else ()

    def handled_calls(self) -> frozenset[tuple[str, str]]:
        """The failed calls on whose errors its code acts by what it calls or begins; see `engine/replay/failing.py`."""
        return handled_calls(self)
