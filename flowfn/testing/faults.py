"""Fault plans: what goes wrong in the runs of a test, and when.

Rule: a plan says everything before the run begins, so that the same test fails in the same way each time; and
a fault that never came about fails the test, since it has shown nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from flowfn.errors import DatabaseFull, InvalidInput, LeaseLost, TaskTimeout
from flowfn.ports import Commit, Lease, Saver
from flowfn.saver_around import SaverAround
from flowfn.testing.clock import VirtualClock
from flowfn.testing.simulation import Simulation

if TYPE_CHECKING:
    from flowfn.definition import Definition
    from flowfn.engine.calls.frame import Frame

Raised = BaseException | type[BaseException] | Callable[[], BaseException]


class Fault:
    """Something that goes wrong. `left` counts how often it still will; None for always."""

    def __init__(self, described: str, times: int | None) -> None:
        if times is not None and times < 1:
            raise InvalidInput(f"{described} has times={times}: pass 1 or more, or None for always")
        self.described = described
        self.left = times
        self.happened = 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return self.described

    @property
    def due(self) -> bool:
        """Whether it has still to come about, in full."""
        return self.happened == 0 if self.left is None else self.left > 0

    def happens(self) -> bool:
        """Whether it does this time."""
        with self._lock:
            if self.left == 0:
                return False
            self.left = None if self.left is None else self.left - 1
            self.happened += 1
            return True


class TaskFault(Fault):
    """A fault of a task, named as it is in records: `"charge"`, or `"shop.orders.charge"`; or the task itself."""

    def __init__(self, kind: str, task: Any, times: int | None) -> None:
        self.task = _name(task)
        super().__init__(f"{kind}({self.task!r})", times)

    def hits(self, definition: Definition) -> bool:
        """Whether it is about this task."""
        return self.task in (definition.name, definition.qualified)

    def strike(self, frame: Frame, timeout: float | None, clock: VirtualClock) -> None:
        """Come about, in place of the function's beginning."""
        raise NotImplementedError


class _Failure(TaskFault):
    def __init__(self, task: Any, times: int | None, error: Raised) -> None:
        super().__init__("fail", task, times)
        self._error = error

    def strike(self, frame: Frame, timeout: float | None, clock: VirtualClock) -> None:
        raise self._error if isinstance(self._error, BaseException) else self._error()


class _Latency(TaskFault):
    def __init__(self, task: Any, seconds: float, times: int | None) -> None:
        super().__init__("latency", task, times)
        self._seconds = seconds

    def strike(self, frame: Frame, timeout: float | None, clock: VirtualClock) -> None:
        if timeout is None or self._seconds < timeout:
            clock.sleep(self._seconds)
            return
        clock.sleep(timeout)
        name = frame.call.definition.name
        raise TaskTimeout(
            f"{name!r} took longer than its timeout of {timeout:g} s",
            name=name,
            elapsed=timeout,
            timeout=timeout,
        )


class CommitFault(Fault):
    """A fault of the n-th commit, counted from 1."""

    def __init__(
        self, described: str, at: int, refusal: Callable[[Commit], Exception], *, steals: bool
    ) -> None:
        if at < 1:
            raise InvalidInput(f"{described}: commits are counted from 1")
        super().__init__(described, 1)
        self.at = at
        self.refusal = refusal
        self.steals = steals
        """Whether somebody else has the thread from then on."""


def fail(task: Any, *, times: int | None = 1, error: Raised = ConnectionError) -> Fault:
    """The next `times` attempts at a task raise `error` instead of running its function; None: all do.

    `task` is the task, or its name; `error` an exception, its class, or what makes one.
    """
    return _Failure(task, times, error)


def latency(task: Any, seconds: float, *, times: int | None = None) -> Fault:
    """The next `times` attempts at a task take `seconds` longer, on the plan's clock; None: all do.

    Where that is as long as the task's timeout, the attempt times out.
    """
    return _Latency(task, seconds, times)


def disk_full(at: int = 1) -> Fault:
    """The `at`-th commit fails with `DatabaseFull`, and nothing of it is stored."""
    return CommitFault(
        f"disk_full(at={at})", at, lambda commit: DatabaseFull("the disk is full (injected)"), steals=False
    )


def lost_lease(at: int = 1) -> Fault:
    """Before the `at`-th commit somebody else takes the thread over: that commit, and all later ones, are refused."""
    return CommitFault(
        f"lost_lease(at={at})",
        at,
        lambda commit: LeaseLost(f"thread {commit.thread!r} was taken over (injected)"),
        steals=True,
    )


class inject(Simulation):  # read as a verb: with inject(fail("charge")):
    """`with inject(fail("charge", times=2), disk_full(at=3)): …`: what goes wrong in the runs inside.

    `clock` is the time that latencies and waits for retries pass on; default: a `VirtualClock`. Leaving the block
    without an error raises `AssertionError` where a fault never came about.
    """

    def __init__(self, *faults: Fault, clock: VirtualClock | None = None) -> None:
        super().__init__()
        for fault in faults:
            if not isinstance(fault, Fault):
                raise InvalidInput(f"{fault!r} is no fault: write fail('charge'), latency(…), disk_full(…)")
        self.faults = faults
        self.clock: VirtualClock = VirtualClock() if clock is None else clock
        self.calls: list[str] = []
        """The names of the tasks whose functions ran, in order."""
        self._tasks = [fault for fault in faults if isinstance(fault, TaskFault)]
        self._commits = [fault for fault in faults if isinstance(fault, CommitFault)]
        self._savers: dict[int, _FailingSaver] = {}
        self._number = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return super().__enter__()

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        idle = [fault for fault in self.faults if fault.due]
        if idle and raised[0] is None:
            raise AssertionError(
                f"these faults never came about: {idle}. The tasks that ran: {sorted(set(self.calls))}; "
                f"commits: {self._number}"
            )

    def begins(self, frame: Frame, timeout: float | None) -> None:
        definition = frame.call.definition
        for fault in self._tasks:
            if fault.hits(definition) and fault.happens():
                fault.strike(frame, timeout, self.clock)
        if definition.recorded or not definition.is_workflow:  # outside any run a task has no record
            self.calls.append(definition.name)

    def saver(self, configured: Callable[[], Saver | None]) -> Saver | None:
        found = configured()
        if found is None or not self._commits:
            return found
        with self._lock:
            return self._savers.setdefault(id(found), _FailingSaver(found, self._refusal))

    def _refusal(self, commit: Commit, inner: Saver) -> Exception | None:
        """Why the next commit fails, or None."""
        with self._lock:
            self._number += 1
            fault = next((fault for fault in self._commits if fault.at == self._number), None)
        if fault is None or not fault.happens():
            return None
        if fault.steals:
            stolen = inner.claim(commit.thread, force=True)
            assert isinstance(stolen, Lease)
            inner.release(stolen)
        return fault.refusal(commit)


class _FailingSaver(SaverAround):
    """Refuses the commits that a plan says."""

    def __init__(self, inner: Saver, refusal: Callable[[Commit, Saver], Exception | None]) -> None:
        super().__init__(inner)
        self._refusal = refusal

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        refusals = [self._refusal(commit, self.inner) for commit in commits]
        allowed = [commit for commit, refusal in zip(commits, refusals, strict=True) if refusal is None]
        written: Iterator[Exception | None] = iter(self.inner.commit(allowed) if allowed else ())
        return [refusal or next(written) for refusal in refusals]


def _name(task: Any) -> str:
    if isinstance(task, str):
        return task
    definition = getattr(task, "_self_definition", None)
    if definition is None:
        raise InvalidInput(f"{task!r} is no task: pass a @task, or its name")
    return str(definition.qualified)
