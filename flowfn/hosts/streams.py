"""Watching a run while it goes: the run on one side, the consumer of its events on the other.

Guarantee: the run never gets more than one superstep ahead of its consumer. After each superstep it
waits to be asked for more, so that a consumer who stops reading stops the run.

| | the run goes on |
|---|---|
| `SteppedStream` (`stepping`) | on the thread of its consumer, who has nothing to read before the superstep ends |
| `ThreadStream` | on a worker: a way to a thread and back, for each superstep, takes longer than most supersteps |
| `LoopStream` | as a task of its own, on the same event loop |
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue
from threading import get_ident
from typing import TYPE_CHECKING, Any
from weakref import ref

from flowfn.engine.drive import drive
from flowfn.errors import Cancelled
from flowfn.hosts.workers import run_soon
from flowfn.python.event_loop import needed_loop

if TYPE_CHECKING:
    from asyncio import Task


class Ended:
    """The run is over, and what went wrong with it, if anything."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


_BOUNDARY: Any = object()
"""Between two supersteps: the run waits until its consumer has come this far."""


class Alive:
    """Something that only the frame of a generator knows."""


class ThreadStream:
    """A run on a worker thread, and its events on the caller's."""

    before_work = None
    live = True

    def __init__(self) -> None:
        # Queues written in C, since Ctrl-C may come at any moment: a semaphore's lock could stay taken.
        self._events: SimpleQueue[Any] = SimpleQueue()
        self._asked: SimpleQueue[None] = SimpleQueue()
        self._left = False
        self._thread: int | None = None
        """The run's own, once it has begun."""
        self.post = self._events.put
        self.reader: object = None
        """The thread that asked last for more."""
        self._unread: deque[None] = deque()
        """The pauses that the consumer hasn't come to."""

    @property
    def waits_for_reader(self) -> bool:
        """Whether the run goes on only when somebody reads on."""
        return bool(self._unread)

    async def pause(self) -> None:
        """Wait, between supersteps, until the consumer asks for more."""
        self._unread.append(None)
        self._events.put(_BOUNDARY)
        self._asked.get()
        if self._left:
            self._asked.put(None)  # whoever else pauses is not asked for more either
            raise Cancelled

    def leave(self) -> None:
        """Ask for no more."""
        self._left = True
        self._asked.put(None)

    def events(self, run: Coroutine[Any, Any, Any], leave: Callable[[], None]) -> Iterator[Any]:
        """Start the run and yield its events; `leave` is called when the consumer stops early, be it by Ctrl-C.

        What it stops for is raised once the run has ended; a second Ctrl-C doesn't wait for that. Nor does a stream
        that the run's own code closes, or that the garbage collector does: that may come in the middle of whatever
        the run needs to end.
        """
        context, due, alive = copy_context(), [run], Alive()
        known = ref(alive)  # the collector clears it before it closes what it found; nothing else does
        try:
            self.reader = get_ident()
            run_soon(lambda: context.run(self._run, due))
            while not isinstance(event := self._events.get(), Ended):
                if event is _BOUNDARY:
                    self.reader = get_ident()
                    self._unread.popleft()
                    self._asked.put(None)
                else:
                    yield event
        except BaseException:
            leave()
            self.leave()
            self._see_end(due, waits=known() is not None and self._thread != get_ident())
            raise
        if event.error is not None:
            raise event.error

    def _see_end(self, due: list[Coroutine[Any, Any, Any]], waits: bool) -> None:
        """Wait, if it may be, until a run that was left has ended; one that no thread has begun is begun by none."""
        with suppress(IndexError):
            due.pop().close()
            return
        while waits and not isinstance(self._events.get(), Ended):
            pass

    def _run(self, due: list[Coroutine[Any, Any, Any]]) -> None:
        self._thread = get_ident()
        try:
            drive(due.pop())
        except BaseException as error:
            self._events.put(Ended(error))
        else:
            self._events.put(Ended(None))


class LoopStream:
    """A run as an asyncio task, and its events in another."""

    before_work = None

    def __init__(self) -> None:
        import asyncio

        self._loop = needed_loop()
        self._thread = get_ident()
        self._events: deque[Any] = deque()
        self._reader: asyncio.Future[None] | None = None
        """What the consumer sleeps on, or is about to: it looks for events once more when this is set."""
        self._asked = asyncio.Semaphore(0)
        self._left = False
        self.reader: object = None
        """The asyncio task that asked last for more."""
        self._unread: deque[None] = deque()
        """The pauses that the consumer hasn't come to."""

    @property
    def waits_for_reader(self) -> bool:
        """Whether the run goes on only when somebody reads on."""
        return bool(self._unread)

    def post(self, event: Any) -> None:
        """Hand an event to the consumer, from any thread; from another than the loop's own that is a system call."""
        self._events.append(event)
        if self._reader is None:
            return
        if get_ident() == self._thread:
            self._wake()
        else:
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def _next(self) -> Any:
        """The next event."""
        while not self._events:
            self._reader = self._loop.create_future()
            if not self._events:
                await self._reader
            self._reader = None
        return self._events.popleft()

    async def pause(self) -> None:
        """Wait, between supersteps, until the consumer asks for more."""
        self._unread.append(None)
        self.post(_BOUNDARY)
        await self._asked.acquire()
        if self._left:
            self._asked.release()
            raise Cancelled

    def leave(self) -> None:
        """Ask for no more."""
        self._left = True
        self._loop.call_soon_threadsafe(self._asked.release)

    async def events(self, run: Coroutine[Any, Any, Any], leave: Callable[[], None]) -> AsyncIterator[Any]:
        """Start the run and yield its events; the run is cancelled when the consumer stops early."""
        import asyncio

        self.reader = asyncio.current_task()
        task = self._loop.create_task(run)
        task.add_done_callback(lambda _: self.post(Ended(None)))
        try:
            while not isinstance(event := await self._next(), Ended):
                if event is _BOUNDARY:
                    self.reader = asyncio.current_task()
                    self._unread.popleft()
                    self._asked.release()
                else:
                    yield event
        finally:
            if not task.done():
                leave()
                _left.add(task)
                task.add_done_callback(_left.discard)
                task.cancel()
                await asyncio.wait({task})
            if not task.cancelled():
                task.exception()
        task.result()


_left: set[Task[Any]] = set()
"""The runs that nobody reads on, and that have not ended yet."""

_TURNS = 10
"""Of the event loop, until it closes a generator that was left, be it wrapped by a few others."""


async def left_streams_end() -> None:
    """Wait for the runs of streams that were left: the loop closes what `async for` broke out of, a few turns later."""
    import asyncio

    for _ in range(_TURNS):
        await asyncio.sleep(0)
    loop = asyncio.get_running_loop()
    left = {task for task in _left if task.get_loop() is loop}
    if left:
        await asyncio.wait(left)
