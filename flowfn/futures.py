"""The future that a task call returns.

Rule: whoever takes the job runs it. A future is born with its job; a worker, the event loop, or the
code that waits for the result takes it, and `take` decides that race. So sequential code runs its
tasks in place, with no thread between, and a limit on workers can't make a parent wait for ever for
a child that nobody runs.
"""

from __future__ import annotations

import concurrent.futures
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import Context, ContextVar
from functools import partial
from threading import get_ident
from types import FrameType
from typing import Any, Generic, NamedTuple, NoReturn, Protocol, TypeVar

from flowfn.context import current_frame, meet, site_of
from flowfn.engine.drive import drive
from flowfn.errors import Signal, Suspended
from flowfn.python.unlocked import FINISHED, UnlockedFuture

R = TypeVar("R")

Job = Callable[[], Coroutine[Any, Any, Any]]
"""Makes the coroutine that yields the future's result."""


BLOCKS = (
    "result() would block the event loop: await the future instead, in an async def, and of as_completed() write "
    "`async for`"
)
"""What `refuse_to_block` says."""


class WouldBlock(RuntimeError):
    """What `refuse_to_block` raises; a class of its own, as a caller may know better what to write instead."""


class Before(NamedTuple):
    """What a held call is placed after: what a branch may do that has come so far, or, of none, what all may.

    `in_doubt` if it isn't to be placed before all wait, though that branch doesn't come.
    """

    branch: int | None = None
    come: float = 0
    in_doubt: bool = True


class Runner(Protocol):
    """The host that a future's job belongs to."""

    def start(self, future: Future[Any]) -> None:
        """Have the job run concurrently, unless somebody who waits takes it first."""

    def help(self, future: Future[Any]) -> None:
        """Run the future's job in place, where that is possible and nobody has taken it."""

    def refuse_to_block(self) -> None:
        """Raise where waiting would block the event loop that has to do the work."""

    async def join(self, future: Future[Any]) -> None:
        """Suspend until the future is done, running its job in place where that is possible."""

    async def others_end(self) -> None:
        """Suspend until the other calls of the running code have ended.

        The code that awaits a suspended task is about to unwind, and a `TaskGroup` around it would cancel its
        siblings, with the questions that they are about to ask.
        """

    async def until_placeable(self, future: Future[Any]) -> None:
        """Suspend until a held call can be placed: every branch of the running code waits, or the one that it is held
        for has come, or won't."""

    def block_until_placeable(self, future: Future[Any], timeout: float | None) -> bool:
        """The same, on a thread: block as long as it is held for one branch; whether whoever waits is to place it.

        It isn't where that took longer, or where it is placed without.
        """

    def lend_place(self) -> AbstractContextManager[None]:
        """Let another worker run in place of this thread, which waits and doesn't help."""

    def abort(self, future: Future[Any]) -> bool:
        """Try to stop a job that already runs; False if it can't be stopped."""


class Turns(Protocol):
    """In which order branches of asyncio code hear of outcomes; see `hosts/in_turn.py`."""

    async def come(self, order: float, place: float) -> None:
        """Suspend until it is the turn of an outcome."""

    def block(self, order: float, place: float, timeout: float | None) -> None:
        """Block until it is, for so many seconds at most."""


Turn = tuple[Turns, float, float]
"""Who lets it be heard of, and the order and the place of an outcome."""


_NO_JOB: list[Job] = []
"""Of all futures whose jobs were taken, or that never had one; nobody adds to it. Thousands may wait to be looked at,
and a list for each is one more thing for the collector to go through."""


called_back: ContextVar[tuple[Any, Future[Any]] | None] = ContextVar("flowfn.called_back", default=None)
"""The frame of the code that is told by a callback that a call of its is done, and the future of that call."""


def _call_back(future: Future[Any], callbacks: Callable[[], None]) -> None:
    before = called_back.set((current_frame.get(), future))
    try:
        callbacks()
    finally:
        called_back.reset(before)


CALLS_BACK = _call_back.__code__
"""The code that all callbacks are called from, whether their future was done before or not."""


class Future(UnlockedFuture[R], Generic[R]):
    """The result, at some time, of a task call.

    A real `concurrent.futures.Future`, for `wait`, `as_completed` and callbacks, that can be awaited
    as well. By the time it is done, its outcome is recorded.
    """

    # What most futures never get is of the class until they do.
    _job = _NO_JOB
    runner: Runner | None = None
    context: Context | None = None
    """Where to run the job, if it isn't run by whoever waits."""
    order: int | None = None
    """The place of the recorded outcome among those of its run; None while there is none."""
    call: str = ""
    """The id of the call: what tells it from others where it is a part of an argument."""
    seen = False
    """Whether anybody has looked at the outcome."""
    ends_callback = Signal
    """The run knows of it already, and whoever settles the future, such as a worker, isn't the code to be unwound."""
    stop: Callable[[], bool] | None = None
    """Stops what runs on a worker; says whether it could."""
    taker: int | None = None
    """The thread that took the job to run it in place, as it waited."""
    turn: Turn | None = None
    """When a branch of asyncio code, or a thread of its, is to hear of this."""
    _place: Callable[[], None] | None = None
    before: Callable[[], Before | None] = staticmethod(lambda: None)
    _tell: Callable[[Future[R]], Any] | None = None

    def __init__(self, job: Job | None = None, runner: Runner | None = None) -> None:
        # Of the base class nothing is called: what it would make is of the class, or made when asked for.
        if job is not None:
            self._job = [job]
        self.runner = runner

    @classmethod
    def of(cls, value: R, order: int | None = None) -> Future[R]:
        """A future that is done already."""
        future: Future[R] = cls.__new__(cls)
        future.order = order
        future.start_done(value)
        return future

    @classmethod
    def failed(cls, error: BaseException, order: int | None = None) -> Future[R]:
        """A future that has failed already."""
        future = cls()
        future.order = order
        future.set_exception(error)
        return future

    # -- for whoever runs the job ---------------------------------------------------------------

    def take_here(self) -> Job | None:
        """`take`, for a thread that waits; should Ctrl-C come as it does, `left_behind` knows."""
        if not self._job:
            return None
        self.taker = get_ident()
        job = self.take()
        if job is None:
            self.taker = None
        return job

    @property
    def left_behind(self) -> bool:
        """Whether this thread took the job, and is here all the same: nobody runs it."""
        return self.taker == get_ident() and not self.done()

    def take(self) -> Job | None:
        """The job, for the first who asks; None for everybody else."""
        try:
            job = self._job.pop()
        except IndexError:
            return None
        self._job = _NO_JOB
        return job

    @property
    def waiting(self) -> bool:
        """Whether nobody has taken the job yet."""
        return bool(self._job)

    def hold(self, place: Callable[[], None], before: Callable[[], Before | None]) -> None:
        """Give no job yet: `place`, called when somebody waits, will give one or an outcome.

        `before` says what is to be waited for then; None for nothing, any more.
        """
        self._place, self.before = place, before

    @property
    def held(self) -> bool:
        """Whether it has yet to be placed."""
        return self._place is not None

    def release(self, job: Job) -> None:
        """Give a held future its job."""
        self._place = None
        self._job = [job]

    def become(self, other: Future[R]) -> None:
        """Give a held future another's outcome."""
        self._place = None
        self.order = other.order
        error = other.exception()
        if error is None:
            self.set_result(other.result())
        else:
            self.set_exception(error)

    def recorded(self, place: int) -> None:
        """Its outcome is durable, at that place among those of its run; whoever waits hears of it in that order."""
        self.order = place
        if self._tell is not None:
            tell, self._tell = self._tell, None
            tell(self)

    def tell_when_recorded(self, tell: Callable[[Future[R]], Any]) -> None:
        """Call `tell` with this future when its outcome is recorded, and when it is done; perhaps twice."""
        self._tell = tell
        super().add_done_callback(tell)  # type: ignore[arg-type]

    def abandon(self) -> None:
        """Settle as cancelled: nobody will run the job, or whoever ran it was cancelled."""
        self._place = None
        if super().cancel():
            self.set_running_or_notify_cancel()

    # -- for the caller -------------------------------------------------------------------------

    def result(self, timeout: float | None = None) -> R:
        """The task's value, once it is recorded.

        Raises:
            TimeoutError: it took longer than `timeout` seconds; the task goes on.
            RuntimeError: called on the event loop's own thread before it is done; await it there.
        """
        self.seen = True
        if self._state != FINISHED or self.turn is not None:
            self.wait(timeout)
        if self._state == FINISHED and self._exception is None:
            return self._result  # type: ignore[no-any-return]
        self._raise()

    def _raise(self) -> NoReturn:
        """Raise the error of a future that is done; `concurrent.futures` overlooks one that is falsy."""
        error = super().exception(0)
        assert error is not None
        _tell(error)
        try:
            raise error
        finally:
            del self, error  # else the traceback would hold what holds it

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The task's error, or None; waits as `result` does."""
        self.seen = True
        self.wait(timeout)
        error = super().exception(0)
        if error is not None and not isinstance(error, Suspended):
            _tell(error)
        return error

    @property
    def failure(self) -> BaseException | None:
        """What one that is done, and wasn't cancelled, failed with; that isn't looking at it."""
        return super().exception(0)

    def wait(self, timeout: float | None) -> None:
        """Block until it is done, running the job in place where nobody has taken it; that isn't looking at it."""
        self.place_for_this_thread(timeout)
        if not self.done():
            if self.runner is not None:
                self.runner.refuse_to_block()
            frame = current_frame.get()
            if frame is None or frame.seat is None:
                self._run_or_wait(timeout)
            else:
                with aside():
                    self._run_or_wait(timeout)
        turn = self.turn
        if turn is not None and self.done():
            self.turn = None
            turns, order, place = turn
            turns.block(order, place, timeout)

    def _run_or_wait(self, timeout: float | None) -> None:
        if timeout is None and self.runner is not None:
            self.runner.help(self)
        if not self.done():
            with suppress(concurrent.futures.CancelledError):
                super().exception(timeout)

    def place(self) -> None:
        """Find out what a held future stands for, as somebody waits for it."""
        if self._place is not None:
            self._place()

    def place_for_this_thread(self, timeout: float | None = None) -> None:
        """The same, where that blocks."""
        if self._place is not None and (
            self.runner is None or self.runner.block_until_placeable(self, timeout)
        ):
            self.place()

    def cancel(self) -> bool:
        """Cancel a task that nobody has started, or one that runs on the event loop or on a worker process.

        A sync task that runs on a thread can't be stopped: False.
        """
        if self.take() is not None or self._place is not None:
            self.abandon()
            return True
        if self.done() or self.runner is None:
            return super().cancel()
        return self.runner.abort(self)

    def __repr__(self) -> str:
        """Of a recorded call by its id, as records show it among arguments: the same in each process."""
        return f"<Future {self._state.lower()}, call {self.call[:8]}>" if self.call else super().__repr__()

    def add_done_callback(self, fn: Callable[[Any], object]) -> None:
        """Call `fn` with this future when it is done; at once if it is.

        What `fn` calls counts as called for this one: it has its records, whatever is done first on the next attempt.
        """
        _call_back(self, partial(super().add_done_callback, fn))

    def call_all(self) -> None:
        _call_back(self, super().call_all)

    def remove_done_callback(self, fn: Callable[[Any], Any]) -> int:
        """Call `fn` no more when it is done; returns how often it would have been. `asyncio.wait` asks for it."""
        with self._condition:
            kept = [known for known in self._done_callbacks if known != fn]
            removed = len(self._done_callbacks) - len(kept)
            self._done_callbacks = kept
        return removed

    def __await__(self) -> Generator[Any, None, R]:
        self.seen = True
        yield from self.settled().__await__()
        if self._state == FINISHED and self._exception is None:
            return self._result  # type: ignore[no-any-return]
        if self.cancelled():
            raise _cancelled()
        self._raise()

    async def settled(self) -> None:
        """Suspend until it is done; that isn't looking at it."""
        runner = self.runner
        if runner is not None and self._place is not None and not self.done():
            try:
                await runner.until_placeable(self)
            except BaseException:  # whoever waited has given it up
                self.cancel()
                raise
            self.place()
        if runner is not None and not self.done():
            joining = runner.join(self)
            frame = current_frame.get()
            await (joining if frame is None or frame.seat is None else wait_aside(joining))
        if self.turn is not None:
            (turns, order, place), self.turn = self.turn, None
            await turns.come(order, place)
        if runner is not None and isinstance(self._exception, Suspended):
            await runner.others_end()

    def __bool__(self) -> bool:
        """True, whatever the task's value is; code that asks for nothing more of it is told so in the log."""
        self._taken_for_its_value(sys._getframe().f_back)
        return True

    def __str__(self) -> str:
        """What `repr` shows, which isn't the task's value; code that asks for nothing more is told so in the log."""
        self._taken_for_its_value(sys._getframe().f_back)
        return repr(self)

    def __eq__(self, other: object) -> bool:
        """Whether it is the very same; code that compares it with a value, and asks for nothing more, is told so."""
        if self is other:
            return True
        if not isinstance(other, Future):
            self._taken_for_its_value(sys._getframe().f_back)
        return NotImplemented

    __hash__ = UnlockedFuture.__hash__

    def _taken_for_its_value(self, caller: FrameType | None) -> None:
        frame = current_frame.get()
        if frame is not None and not self.seen:
            frame.calls.mistaken.setdefault(self, site_of(caller))

    def __iter__(self) -> Iterator[Any]:
        """The items of a generator task, once it has ended."""
        return iter(_items(self.result()))

    async def __aiter__(self) -> AsyncIterator[Any]:
        """The same for `async for`."""
        for item in _items(await self):
            yield item


def _cancelled() -> BaseException:
    """What awaiting a cancelled future raises: what `gather`, `TaskGroup` and `except asyncio.CancelledError` know."""
    import asyncio

    return asyncio.CancelledError()


def _items(result: Any) -> Iterable[Any]:
    if not isinstance(result, Iterable):
        raise TypeError(f"this task returned {result!r}, which can't be iterated: use .result() or await")
    return result


def _tell(error: BaseException) -> None:
    """Tell the frame of the code that looks at a suspended task's result, and the context of code that is given an
    error whose it is."""
    frame = current_frame.get()
    if frame is None:
        return
    if isinstance(error, Suspended):
        frame.tell()
    else:
        meet(frame)


@contextmanager
def aside() -> Iterator[None]:
    """Wait without taking a place under `max_concurrency`, which the work waited for may need."""
    frame = current_frame.get()
    if frame is None or (seat := frame.seat) is None:
        yield
        return
    seat.step_aside()
    try:
        yield
    finally:
        drive(seat.step_back(frame.run.hosts.threads))


async def wait_aside(waiting: Awaitable[R], host: Any = None) -> R:
    """`aside`, for code that awaits; `host`: who waits, if that isn't what runs the code."""
    frame = current_frame.get()
    if frame is None or (seat := frame.seat) is None:
        return await waiting
    seat.step_aside()
    try:
        return await waiting
    finally:
        await seat.step_back(host or frame.host)
