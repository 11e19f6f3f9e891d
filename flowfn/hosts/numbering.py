"""Which branch of a frame's code makes a call: a number that is the same on every attempt.

Rule: a branch has its number from when it is made, by what it runs (`recognising.py`), whatever takes how long and
whatever has ended meanwhile. So tasks are noted as they are made, by the loop's task factory, while a run is under way
there: those that the project's code makes, those that run it, and those that a library was given code of the project's
for, as a task group of anyio's is. `asyncio.as_completed` makes them in the order of a set, so the order counts in
which it was given what it runs; and what `asyncio.wait_for` waits for is a part of the branch that waits, as it makes a
task for that before Python 3.12 alone. What does nothing but await a call, as `asyncio.gather` makes a task of each, is
told by that, should anybody ask. What a library runs in tasks of its own isn't noted, as it may make others each time.
One that another factory made is told by its name and what it runs; so is that of a project that is installed where
libraries are.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Collection, Coroutine, Iterable, Mapping, Set
from contextlib import suppress
from contextvars import ContextVar, copy_context
from hashlib import sha256
from threading import get_ident
from types import CoroutineType
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, WeakKeyDictionary, ref

from flowfn.context import current_frame, met_by
from flowfn.hosts.branch_calls import (
    call_awaited_by,
    call_of,
    given_to,
    is_own,
    runs_a_job,
    said_of,
    waiting_in,
)
from flowfn.hosts.recognising import Branch, Recognition
from flowfn.python.event_loop import running_loop
from flowfn.python.handling import Handler

if TYPE_CHECKING:
    from types import FrameType

    from flowfn.engine.calls.frame import Frame

Task = asyncio.Task[Any]
Loop = asyncio.AbstractEventLoop

_ASYNCIO = os.path.join(os.path.dirname(asyncio.__file__), "")
_MAKERS = ("tasks.py", "taskgroups.py", "base_events.py")
"""Where asyncio makes tasks for who calls it."""
_AS_COMPLETED = asyncio.as_completed.__code__
_WAIT_FOR = asyncio.wait_for.__code__

_MET = 1 << 32
"""In the numbers of branches that weren't noted as they were made."""


class _Place:
    """What a branch's context says, and so the threads that are given a copy: whose branch that is, and which, or, as
    long as that isn't told, its task. One in which a library alone runs, and has others do work, is a part of the
    branch with the number `within`."""

    __slots__ = ("branch", "handed", "numbers", "task", "within")

    def __init__(self, numbers: Numbers, branch: Branch | None) -> None:
        self.numbers = numbers
        self.branch = branch
        self.task: ReferenceType[Task] | None = None
        self.handed = numbers.frame.handled_calls()
        """The failed calls, by namespace and id, whose errors were handled where it was made."""
        self.within = numbers.here() if branch is None else 0

    def told(self) -> int:
        """The number, on a thread."""
        if self.branch is None:
            task = None if self.task is None else self.task()
            branch = None if task is None else self.numbers.seen_from_a_thread(task)
            self.branch = Branch(self.within) if branch is None else branch
        return self.numbers.number(self.branch)


_place: ContextVar[_Place | None] = ContextVar("flowfn.branch", default=None)


class TaskFactory:
    """The task factory of a loop on which runs are under way, if it has no other: libraries look which one that is."""

    def __init__(self) -> None:
        self._mine: Any = self._make

    def begin(self, loop: Loop) -> None:
        """The first run begins on the loop."""
        with suppress(NotImplementedError):  # a loop of somebody's own needn't have factories
            if loop.get_task_factory() is None:
                loop.set_task_factory(self._mine)

    def end(self, loop: Loop) -> None:
        """The last run has ended on the loop."""
        with suppress(NotImplementedError):
            if loop.get_task_factory() is self._mine:
                loop.set_task_factory(None)

    def _make(self, loop: Loop, coro: Coroutine[Any, Any, Any], **options: Any) -> Any:
        context = options.get("context")
        frame = current_frame.get() if context is None else context.get(current_frame)
        if frame is None or runs_a_job(coro):
            return _Task(coro, loop=loop, **options)
        if (awaited := call_awaited_by(coro)) is not None:
            task = _Task(coro, loop=loop, **options)
            numbers_of(frame).given[task] = Branch(None, awaited.call)
            return task
        numbers, branch, waiter = numbers_of(frame), None, None
        way = _Way(sys._getframe(1))
        if way.waits:
            branch, waiter = Branch(numbers.here()), asyncio.current_task()
        elif way.is_own or is_own(getattr(coro, "cr_frame", None)):
            branch = numbers.made(loop, coro, way.together)
        elif (given := given_to(coro)) is not None:
            branch = numbers.made(loop, given)
        place = _Place(numbers, branch)
        if context is None:
            options["context"] = context = copy_context()
        with suppress(RuntimeError):  # it is entered, as its maker runs in the same
            context.run(_place.set, place)
            if met_by in context:
                context.run(met_by.set, None)
        numbers.starting.append(branch)
        try:
            task = _Task(coro, loop=loop, **options)  # an eager one takes its first steps in there
        finally:
            numbers.starting.pop()
        place.task = ref(task)
        if branch is not None:
            numbers.given[task] = branch
        if waiter is not None:
            numbers.waiters[task] = waiter
        return task


class _Way:
    """How a task comes to be made: by whom, and through which of asyncio's functions."""

    def __init__(self, frame: FrameType | None) -> None:
        self.together: Iterable[Any] | None = None
        """What `asyncio.as_completed` was given."""
        self.waits = False
        """Whether it is for `asyncio.wait_for`."""
        self.is_own = False
        """Whether the project's code makes it, and no machinery of asyncio's."""
        makes = True
        while frame is not None and (code := frame.f_code).co_filename.startswith(_ASYNCIO):
            if code is _AS_COMPLETED:
                self.together = frame.f_locals["fs"]
            elif code is _WAIT_FOR:
                self.waits = True
                return
            makes = makes and code.co_filename.endswith(_MAKERS)
            frame = frame.f_back
        self.is_own = makes and is_own(frame)


class _NamedTask(Task):
    """A task that keeps its name where the loop sets it to None, as that of Python 3.13.0 to 3.13.2 does."""

    def set_name(self, value: object) -> None:
        if value is not None:
            super().set_name(value)


_Task = _NamedTask if (3, 13) <= sys.version_info < (3, 13, 3) else asyncio.Task


class Numbers:
    """The branches of a frame's code, but for its home, and their numbers."""

    turns: Any = None
    """In which order they hear of outcomes while recorded calls are left; see `hosts/in_turn.py`."""

    def __init__(self, frame: Frame) -> None:
        self.given: WeakKeyDictionary[Task, Branch] = WeakKeyDictionary()
        self.waiters: WeakKeyDictionary[Task, Task] = WeakKeyDictionary()
        """Of tasks that `asyncio.wait_for` has made: who waits."""
        self.starting: list[Branch | None] = []
        """Those of tasks that are being made; None of one that isn't noted."""
        self.frame = frame
        self.watch: Any = None
        """Who looks at them while calls are held for one of them; see `hosts/patience.py`."""
        self._thread = get_ident()
        """That of the loop, where the first of them was made."""
        self._met: Counter[str] = Counter()
        """How many branches ran the same that weren't noted as they were made, by what is said of it."""
        self._recognition = Recognition(lambda: frame.run.ledger.branches(frame.scope))
        self._ahead: WeakKeyDictionary[Any, Branch] = WeakKeyDictionary()
        """Those of coroutines whose tasks are still to be made."""

    def here(self) -> int:
        """The number of the branch that is running: 0 for what calls the frame's code."""
        task = branch_of(self.frame)
        if task is None:
            return 0
        branch = self.given.get(task)
        if branch is None:
            branch = self.starting[-1] if self.starting else None
            self.given[task] = branch = self._told(task) if branch is None else branch
        return branch.number if branch.number is not None else self.number(branch)

    def number(self, branch: Branch) -> int:
        """The number of a branch that was made."""
        if branch.number is None:
            self._recognition.recognise()
        if branch.number is None:  # it only awaits a call, of which a callback may call something
            branch.number = self._by_code(branch.function).number
        assert branch.number is not None
        return branch.number

    def _told(self, task: Task) -> Branch:
        said, place = said_of(task, self._thread), _place.get()
        if said is not None:
            return self._by_code(said)
        return Branch(place.within if place is not None and place.numbers is self else 0)

    def seen_from_a_thread(self, task: Task) -> Branch | None:
        """The branch that waits for this thread; None if no function of the project's is in it."""
        branch = self.given.get(task)
        if branch is None and (said := said_of(task, self._thread)) is not None:
            self.given[task] = branch = self._by_code(said)
        return branch

    def has_come_again(self, number: int) -> bool:
        """Whether one of them is the recorded one of that number."""
        return number in self._recognition.taken

    def is_one_more(self, number: int) -> bool:
        """Whether one of them is surely new, beside recorded ones of its function."""
        return number in self._recognition.more

    def made(self, loop: Loop, coro: Any, together: Iterable[Any] | None = None) -> Branch:
        """The branch of a task that is being made; `together` is what else tasks are made of by the same call, which
        makes them in an order of no meaning."""
        if together is None:
            return self._add(loop, coro)
        if isinstance(together, Collection) and not isinstance(together, Set) and coro not in self._ahead:
            coros = (each for each in together if type(each) is CoroutineType)
            self._ahead.update((each, self._add(loop, each)) for each in coros)
        return self._ahead.pop(coro, None) or self._add(loop, coro)

    def _add(self, loop: Loop, coro: Any) -> Branch:
        """One that is recognised with those that are made in the same step of the loop, before any of them runs."""
        if not self._recognition.waiting:
            loop.call_soon(self._recognition.recognise)
        return self._recognition.add(self.here(), call_of(coro))

    def _by_code(self, said: str) -> Branch:
        """One that wasn't noted as it was made is told by what it runs, and which of several alike it is."""
        self._met[said] += 1
        digest = sha256(f"{said}\0{self._met[said]}".encode("utf-8", "surrogatepass")).digest()
        return Branch(_MET | int.from_bytes(digest[:4]))


def numbers_of(frame: Frame) -> Numbers:
    """The numbers of a frame's branches; made for the first of them."""
    if frame.numbers is None:
        frame.numbers = Numbers(frame)
    found: Numbers = frame.numbers
    return found


def branch_number(frame: Frame) -> int:
    """Which branch of a frame's code is running; on a thread of its own, as of `asyncio.to_thread`, that of the context
    which it was given."""
    if branch_of(frame) is not None:
        return numbers_of(frame).here()
    place = _place_in(frame)
    return 0 if place is None or running_loop() is not None else place.told()


def number_of(task: Task, frame: Frame) -> int | None:
    """Which branch of a frame's code a task is, of those that are known."""
    if task is frame.home:
        return 0
    numbers = numbers_of(frame)
    branch = numbers.given.get(task)
    return None if branch is None else numbers.number(branch)


def branch_around(frame: Frame) -> Task | None:
    """The task of the branch in whose context, or a copy, this thread runs."""
    place = _place_in(frame)
    if place is not None:
        return None if place.task is None else place.task()
    home: Task | None = frame.home
    return home


def handed(frame: Frame) -> frozenset[tuple[str, str]]:
    """The failed calls whose errors were handled where the current branch of a frame's code was made."""
    place = _place_in(frame)
    return frozenset() if place is None else place.handed


def branch_in_context(frame: Frame, thread: int) -> Handler:
    """The branch of a frame's code in whose context, or a copy, this runs; `thread` is the loop's."""
    place = _place_in(frame)
    if place is not None:
        return Handler(thread, place.task)
    return Handler(thread, None if frame.home is None else ref(frame.home))


def _place_in(frame: Frame) -> _Place | None:
    place = _place.get()
    return place if place is not None and place.numbers is frame.numbers else None


def branch_began(frame: Frame) -> list[FrameType]:
    """The frame of the coroutine that the current branch of a frame's code runs; and, as before Python 3.12
    `asyncio.wait_for` has a task for that, those of what waits for it, the innermost first. Nothing for what calls it.
    """
    task = branch_of(frame)
    began = None if task is None else getattr(task.get_coro(), "cr_frame", None)
    found = [] if began is None else [began]
    waiters: Mapping[Task, Task] = frame.numbers.waiters if frame.numbers is not None else {}
    while found and task is not None and (task := waiters.get(task)) is not None:
        found += reversed([*waiting_in(task.get_coro())])
    return found


def branch_of(frame: Frame) -> Task | None:
    """The asyncio task of the current branch of a frame's code; None for what calls it."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # a thread of the code's own
        return None
    return None if task is frame.home else task
