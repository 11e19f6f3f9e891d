"""Which branch of a frame's code makes a call: a number that is the same on every attempt.

Rule: a branch is told by the branch that made it, and by how many tasks that one had made before, whatever takes how
long and whatever has ended meanwhile. So tasks are counted as they are made, by the loop's task factory, while a run
is under way there: those that the project's code makes, and those that run it. `asyncio.as_completed` makes them in the
order of a set, so the order counts in which it was given what it runs; and what `asyncio.wait_for` waits for is a part
of the branch that waits, as it makes a task for that before Python 3.12 alone. What a library runs in tasks of its own
isn't counted, as it may make others each time. One that it was given code of the project's for (of a task group of
anyio's) is told by its maker and that call: the very same, or else one that differs in what looks made anew each time.
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
from itertools import chain, count
from threading import get_ident
from types import CoroutineType
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, WeakKeyDictionary, ref

from flowfn.context import current_frame, met_by
from flowfn.hosts.branch_calls import called, given_to, is_own, said_of, shown, steady, waiting_in
from flowfn.python.cached_property import cached_property
from flowfn.python.event_loop import running_loop
from flowfn.python.handling import Handler

if TYPE_CHECKING:
    from types import FrameType

    from flowfn.engine.calls.frame import Frame

Task = asyncio.Task[Any]

_ASYNCIO = os.path.join(os.path.dirname(asyncio.__file__), "")
_MAKERS = ("tasks.py", "taskgroups.py", "base_events.py")
"""Where asyncio makes tasks for who calls it."""
_AS_COMPLETED = asyncio.as_completed.__code__
_WAIT_FOR = asyncio.wait_for.__code__

_HASHED = 1 << 32
"""Above all numbers that are counts."""


class _Place:
    """What a branch's context says, and so the threads that are given a copy: whose branch that is, and its number, or,
    as long as that isn't told, its task. One in which a library alone runs, and has others do work, is a part of the
    branch with the number `within`."""

    def __init__(self, numbers: Numbers, number: int | None) -> None:
        self.numbers = numbers
        self.number = number
        self.task: ReferenceType[Task] | None = None
        self.handed = numbers.frame.handled_calls()
        """The failed calls, by namespace and id, whose errors were handled where it was made."""
        self.within = numbers.here() if number is None else 0

    def told(self) -> int:
        """The number, on a thread."""
        if self.number is None:
            task = None if self.task is None else self.task()
            number = None if task is None else self.numbers.seen_from_a_thread(task)
            self.number = self.within if number is None else number
        return self.number


_place: ContextVar[_Place | None] = ContextVar("flowfn.branch", default=None)


class TaskCounter:
    """The task factory of a loop on which runs are under way, if it has no other: libraries look which one that is."""

    def __init__(self) -> None:
        self._mine: Any = self._make

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """The first run begins on the loop."""
        with suppress(NotImplementedError):  # a loop of somebody's own needn't have factories
            if loop.get_task_factory() is None:
                loop.set_task_factory(self._mine)

    def end(self, loop: asyncio.AbstractEventLoop) -> None:
        """The last run has ended on the loop."""
        with suppress(NotImplementedError):
            if loop.get_task_factory() is self._mine:
                loop.set_task_factory(None)

    def _make(self, loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **options: Any) -> Any:
        context = options.get("context")
        frame = current_frame.get() if context is None else context.get(current_frame)
        if frame is None:
            return _Task(coro, loop=loop, **options)
        numbers, number, waiter = numbers_of(frame), None, None
        way = _Way(sys._getframe(1))
        if way.waits:
            number, waiter = numbers.here(), asyncio.current_task()
        elif way.is_own or is_own(getattr(coro, "cr_frame", None)):
            number = numbers.number(coro, way.together)
        elif (given := given_to(coro)) is not None:
            number = numbers.number_of_given(given)
        place = _Place(numbers, number)
        if context is None:
            options["context"] = context = copy_context()
        with suppress(RuntimeError):  # it is entered, as its maker runs in the same
            context.run(_place.set, place)
            if met_by in context:
                context.run(met_by.set, None)
        numbers.starting.append(number)
        try:
            task = _Task(coro, loop=loop, **options)  # an eager one takes its first steps in there
        finally:
            numbers.starting.pop()
        place.task = ref(task)
        if number is not None:
            numbers.given[task] = number
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
        self.given: WeakKeyDictionary[Task, int] = WeakKeyDictionary()
        self.waiters: WeakKeyDictionary[Task, Task] = WeakKeyDictionary()
        """Of tasks that `asyncio.wait_for` has made: who waits."""
        self.starting: list[int | None] = []
        """Those of tasks that are being made; None of one that isn't counted."""
        self.frame = frame
        self.watch: Any = None
        """Who looks at them while calls are held for one of them; see `hosts/branches.py`."""
        self._made: Counter[tuple[int, str]] = Counter()
        """How many tasks each branch has made, by the library's coroutine that they run."""
        self._thread = get_ident()
        """That of the loop, where the first of them was made."""
        self._alike: Counter[str] = Counter()
        """How many branches ran the same, by what is said of it."""
        self._taken: set[int] = set()
        """Those of branches that are told by what they were given."""
        self._ahead: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        """Those of coroutines whose tasks are still to be made."""

    def here(self) -> int:
        """The number of the branch that is running: 0 for what calls the frame's code."""
        task = branch_of(self.frame)
        if task is None:
            return 0
        number = self.given.get(task)
        if number is None:
            number = self.starting[-1] if self.starting else None
            self.given[task] = number = self._told(task) if number is None else number
        return number

    def _told(self, task: Task) -> int:
        said, place = said_of(task, self._thread), _place.get()
        if said is not None:
            return self._by_code(said)
        return place.within if place is not None and place.numbers is self else 0

    def seen_from_a_thread(self, task: Task) -> int | None:
        """The number of the branch that waits for this thread; None if no function of the project's is in it."""
        number = self.given.get(task)
        if number is None and (said := said_of(task, self._thread)) is not None:
            self.given[task] = number = self._by_code(said)
        return number

    def number(self, coro: Coroutine[Any, Any, Any], together: Iterable[Any] | None) -> int:
        """The number of a task that is being made; `together` is what else tasks are made of by the same call, which
        makes them in an order of no meaning."""
        if together is None:
            return self._next(coro)
        if coro not in self._ahead and isinstance(together, Collection) and not isinstance(together, Set):
            self._ahead.update((each, self._next(each)) for each in together if type(each) is CoroutineType)
        ahead = self._ahead.pop(coro, None)
        return self.number_of_given(coro) if ahead is None else ahead

    def number_of_given(self, coro: Any) -> int:
        """The number of a task that a library makes, in whatever order, of a coroutine that it was given.

        It is the recorded branch with the very same arguments; else the one that came in its place among those that
        differ from it only in what looks made anew each time.
        """
        maker = self.here()
        exact, alike = f"{maker}/{called(coro, shown)}", f"~{maker}/{called(coro, steady)}"
        number = _given_number(self._nth(alike), self._nth(exact))
        known = (found for part in _parts(number) if (found := self._recorded.get(part)) is not None)
        others = (_given_number(alike, f"{exact}\0{times}") for times in count(1))
        free = next(each for each in chain(known, [number], others) if each not in self._taken)
        self._taken.add(free)
        return free

    @cached_property
    def _recorded(self) -> dict[int, int]:
        """The recorded branches that are told by what they were given, by either part."""
        known = [each for each in self.frame.run.ledger.branches(self.frame.scope) if each >= _GIVEN]
        return {part: number for number in reversed(known) for part in _parts(number)}

    def _next(self, coro: Any) -> int:
        """Those that run a library's coroutine, such as a queue's `get`, are counted by themselves: code that waits by
        these makes as many as the clock allows."""
        of = "" if is_own(getattr(coro, "cr_frame", None)) else getattr(coro, "__qualname__", "")
        made = self.here(), of
        self._made[made] += 1
        maker, library = made
        number = self._made[made]
        return number if made == (0, "") else _hashed(f"{maker}/{library}{number}")

    def _by_code(self, said: str) -> int:
        """The number of a task that isn't counted: by what it runs, and which of several alike it is."""
        return _hashed(self._nth(said))

    def _nth(self, said: str) -> str:
        self._alike[said] += 1
        return f"{said}\0{self._alike[said]}"


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
    return 0 if task is frame.home else numbers_of(frame).given.get(task)


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


def _hashed(text: str) -> int:
    digest = sha256(text.encode("utf-8", "surrogatepass")).digest()
    return _HASHED | int.from_bytes(digest[:4])


def _given_number(alike: str, exact: str) -> int:
    return _GIVEN | _hashed(alike) % _HALF * _HALF | _hashed(exact) % _HALF


def _parts(number: int) -> tuple[int, int]:
    """By what the number of a recorded branch is found: by all that it was given, or by what isn't made anew."""
    return _GIVEN | number % _HALF, number // _HALF


_HALF = 1 << 31
_GIVEN = _HALF * _HALF
"""Above all other numbers. Of its halves the lower tells all that a branch was given, the other what isn't anew."""
