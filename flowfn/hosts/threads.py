"""The blocking host: waits block the thread that waits, tasks run on cached threads or in place.

A task that was called but not waited for runs on a worker. Waking one costs more than most tasks, so it is done late:
by the waker (`waker.py`), which looks each few milliseconds whether more would help (`pace.py`). Where commits take
their time, which others could share, and beside an event loop, a second task that is called while the first still waits
to be taken wakes one at once; a worker that a commit would hold up leaves it to another thread (`pipelining.py`).
Sequential code, which waits at once, never wakes anybody.

Where the thread that waits has an event loop running, as that of a notebook's cell has, it runs no calls in place: code
that runs on threads may begin a loop of its own. Only a superstep's lone node runs there.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame
from flowfn.engine.drive import drive
from flowfn.errors import AsyncInBlockingRun, Cancelled
from flowfn.futures import BLOCKS, Future, Job, WouldBlock
from flowfn.hosts.clock import SYSTEM, Clock
from flowfn.hosts.fresh_stack import drive_on_thread
from flowfn.hosts.ids import new_id
from flowfn.hosts.makers import handled_by_maker
from flowfn.hosts.pace import Pace
from flowfn.hosts.pipelining import MOST_AT_HAND, MOST_PARKED, LastCommit, Pipeline
from flowfn.hosts.plain_code import call_within, no_end
from flowfn.hosts.settling import settle, settle_all, wait_until_done
from flowfn.hosts.waker import WAKER, Looked
from flowfn.hosts.workers import run_soon
from flowfn.python.event_loop import running_loop
from flowfn.python.handling import Handler
from flowfn.python.loaded import loaded

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.hosts.loop import LoopHost
    from flowfn.policies import TimeoutPolicy
    from flowfn.ports import Commit, Lease, Saver

MAX_WORKERS = 32
"""How many threads one run's tasks use at most. `max_concurrency` sets another limit per run."""


DEPTH = 24
"""After how many calls nested in place one gets a thread, and with it a stack, of its own. Of a workflow that is called
inside another one every second makes calls: its run is one, and its function another."""


STALLED = 20
"""After how many looks of the waker at calls that no worker is free for it looks for whom they keep waiting."""


class ThreadHost:
    """Runs attempts on threads. `loop` is the event loop's host where the run began on one.

    `eager` says whether a second task wakes a worker at once; unless it does, the first commit decides that.
    """

    urgent = True

    def __init__(
        self,
        *,
        workers: int = MAX_WORKERS,
        loop: LoopHost | None = None,
        clock: Clock = SYSTEM,
        eager: bool = False,
    ) -> None:
        self.clock = clock
        self.now = clock.now
        self.since = clock.since
        self.elapsed = clock.elapsed
        self.loop = loop
        self.workers = workers
        self._active = 0
        self._count = threading.Lock()
        self._adding = threading.Lock()
        self._pending: deque[Future[Any]] = deque()
        self._pace = Pace()
        self._looks = 0
        self._waited: Future[Any] | None = None
        """What somebody has last begun to wait for, who takes calls too once it is done."""
        self._crowded = False
        """Whether workers are only in each other's way, and the next of them to ask for a call leaves."""
        self._looped = (
            loop.thread if loop is not None else None if running_loop() is None else threading.get_ident()
        )
        """The thread that has an event loop running, where this was made on one."""
        self._eager = eager or self._looped is not None
        self._knows_saver = False
        self._pipeline: Pipeline | None = None
        """What workers leave their commits to, if that is worth it."""

    # -- starting and joining attempts ----------------------------------------------------------

    def new_id(self, after: str = "") -> str:
        return new_id(after)

    def future(self, job: Job | None) -> Future[Any]:
        """A future of ours for `job`, which nobody runs yet."""
        future: Future[Any] = Future(job, self)
        future.context = copy_context()
        if self.loop is not None:
            self.loop.will_run_on_thread(future)
        return future

    def start(self, future: Future[Any]) -> None:
        """Have the job run when a thread has time, unless somebody takes it first.

        It is looked after also where a worker is woken for it: there may be none, and what waited before it, by which
        this host was looked after until now, may have been taken at this very moment.
        """
        pending = self._pending
        with self._adding:
            self._trim()
            pending.append(future)
        if self._eager and len(pending) > 1:
            self.add_worker()
        WAKER.watch(self)

    def _trim(self) -> None:
        """Forget what waited last and has been taken meanwhile. Workers take from the other end at any time."""
        try:
            while not self._pending[-1].waiting:
                self._pending.pop()
        except IndexError:
            return

    def start_now(self, future: Future[Any]) -> None:
        """Have the job run at once, on a thread of its own."""
        job = future.take()
        if job is not None:
            run_soon(lambda: settle(future, job))

    def start_in_turn(self, future: Future[Any]) -> None:
        """Have one of several jobs run at once, but begin after those that were started before it: on a worker, which
        takes the oldest first; or, where there can't be another worker, on a thread of its own, unless one that was
        woken before takes it.
        """
        if future.waiting and not self.add_worker():
            run_soon(partial(settle_all, [future]))

    def help(self, future: Future[Any]) -> None:
        frame = current_frame.get()
        if frame is not None and frame.depth % DEPTH >= DEPTH - 2:
            self.start_now(future)
            return
        self._waited = future
        if self._is_looped():
            self.start_in_turn(future)
        elif (job := future.take_here()) is not None:
            settle(future, job)

    def _is_looped(self) -> bool:
        """Whether an event loop runs on this thread."""
        return self._looped is not None and self._looped == threading.get_ident()

    def refuse_to_block(self) -> None:
        if _on_loop(self.loop):
            raise WouldBlock(BLOCKS)

    async def join(self, future: Future[Any]) -> None:
        if self.loop is not None and _on_loop(self.loop):
            await self.loop.wait_for_thread(future)
            return
        self.help(future)
        wait_until_done(future)

    async def others_end(self) -> None:
        if self.loop is not None and _on_loop(self.loop):
            await self.loop.others_end()

    async def until_placeable(self, future: Future[Any]) -> None:
        if self.loop is not None and _on_loop(self.loop):
            await self.loop.until_placeable(future)

    def block_until_placeable(self, future: Future[Any], timeout: float | None) -> bool:
        return self.loop is None or self.loop.block_until_placeable(future, timeout)

    def place_when_decided(self, frame: Frame, future: Future[Any]) -> None:
        if self.loop is not None:
            self.loop.place_when_decided(frame, future)

    @contextmanager
    def lend_place(self) -> Iterator[None]:
        with self._count:
            self._active -= 1
        if self._pending:
            self.add_worker()
        try:
            yield
        finally:
            with self._count:
                self._active += 1

    def abort(self, future: Future[Any]) -> bool:
        return future.stop is not None and future.stop()

    async def apart(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end in a context of its own."""
        return copy_context().run(drive, coroutine)

    async def on_fresh_stack(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return drive_on_thread(coroutine)

    async def settle(self, futures: Iterable[Future[Any]]) -> None:
        """Wait until each has ended, whatever came of it; run in place what nobody has taken."""
        futures = list(futures)
        for future in futures:
            if future.runner is not self and future.runner is not None and future.waiting:
                future.runner.start(future)
            elif self._is_looped():
                begin = self.start_in_turn if len(futures) > 1 else self.start_now
                begin(future)
            else:
                self._waited = future
                if (job := future.take_here()) is not None:
                    settle(future, job)
            if future.left_behind:
                future.abandon()
            wait_until_done(future)

    async def settle_within(
        self, seconds: float, futures: Iterable[Future[Any]], late: Callable[[], None]
    ) -> None:
        """`settle`, and call `late` at its end if that took longer: code on threads can't be stopped."""
        ends = self.elapsed() + seconds
        await self.settle(futures)
        if self.elapsed() > ends:
            late()

    async def let_stop(self, futures: Iterable[Future[Any]]) -> None:
        """Nothing to wait for: code on threads can't be stopped."""

    def add_worker(self) -> bool:
        """Put one more worker on what waits, if the limit allows; whether it does."""
        with self._count:
            if self._active >= self.workers:
                return False
            self._active += 1
        try:
            run_soon(self._work)
        except RuntimeError:  # no thread can be started: whoever waits for a call runs it
            with self._count:
                self._active -= 1
            return False
        return True

    def _work(self) -> None:
        """Take what waits, oldest first, until nothing does."""
        while (future := self._next()) is not None:
            job = future.take()
            if job is not None:
                run = settle if self._pipeline is None else self._pipeline.settle
                run(future, job)
            del future, job

    def _next(self) -> Future[Any] | None:
        if not self._crowded:
            with suppress(IndexError):
                return self._pending.popleft()
        with self._count:
            if not self._crowded:
                with suppress(IndexError):
                    return self._pending.popleft()
            self._active -= 1
            return None

    def wake(self, share: float = 0.0) -> bool:
        """Put workers on what has been left waiting, where they would help; whether anything was.

        `share`: how much of a processor this process has had lately.
        """
        try:
            pending = tuple(self._pending)
        except RuntimeError:  # calls come and go at this very moment: look again
            return True
        first = next((future for future in pending if future.waiting), None)
        if first is None:
            self._pace.rest()
            self._crowded = False
            return False
        more = self._pace.more(first, pending[-1], len(pending), self._active, share)
        self._crowded = self._pace.crowded(share, self._waited) and not self._eager
        if self._active >= self.workers:
            self._looks += 1
            if self._looks % STALLED == 0:
                self._stand_in(pending)
        for _ in range(0 if self._crowded else min(more, self.workers - self._active)):
            self.add_worker()
        return True

    def _stand_in(self, pending: Sequence[Future[Any]]) -> None:
        """Where all workers are busy, run the calls of those who wait for them in a way that doesn't help, such as
        `concurrent.futures.wait`: a thread for each caller none of whose calls is under way, since it may be that all
        workers are such callers. So there is never more than one thread over the limit for each that waits.
        """
        callers = {_caller_of(future) for future in pending if future.waiting and future.watched}
        for frame in callers:
            if frame is None or _on_thread(frame) is None:
                continue
            calls = frame.open_calls()
            if all(future.waiting or future.held or future.done() for future in calls):
                with suppress(RuntimeError):  # no thread can be started: there will be another look
                    run_soon(partial(settle_all, [future for future in calls if future.runner is self]))

    def began(self) -> None:
        """The run begins that this was made for."""

    def holds_thread(self, leave: Callable[[], None]) -> None:
        """See `Host`: the run can always go on."""

    def holds_no_more(self, leave: Callable[[], None]) -> None:
        """See `Host`."""

    def goes_on(self) -> bool:
        """See `Host`."""
        return True

    def on_threads(self) -> Sequence[Future[Any]]:
        """See `Host`."""
        return ()

    def leave_what_cannot_go_on(self) -> int:
        """See `Host`. Where nothing has run on event loops, what knows of them isn't loaded."""
        sharing = loaded("flowfn.hosts.shared")
        return 0 if sharing is None else int(sharing.leave_closed())

    def ended(self) -> None:
        """The run has ended that this was made for: nothing will be called any more, and nobody need look after it.

        Of a run that was left, code on a thread may wait for calls that nobody has begun, in a way that doesn't help:
        they are cancelled.
        """
        WAKER.forget(self)
        left = [future for future in self._taken_out() if future.waiting]
        self._waited = None
        self._pace.rest()
        if left:
            try:
                run_soon(partial(_cancel_all, left))
            except RuntimeError:  # no thread can be started
                _cancel_all(left)

    def _taken_out(self) -> Iterator[Future[Any]]:
        """All that is pending, and isn't any more: it leads back here, and would else only go with the collector."""
        with suppress(IndexError):
            while True:
                yield self._pending.popleft()

    def branch(self, frame: Any) -> int:
        """Code on threads has no branches that we know of."""
        return 0

    def branch_began(self, frame: Any) -> tuple[()]:
        """See `branch`."""
        return ()

    def turn_of(self, frame: Any, order: float, place: float) -> None:
        """See `branch`."""

    def handed(self, frame: Any) -> frozenset[tuple[str, str]]:
        """See `branch`."""
        return frozenset()

    def handled_by_maker(self, frame: Frame) -> BaseException | None:
        """What the code handles that has begun the thread which runs, or the event loop on it."""
        return handled_by_maker(frame, Handler(frame.home))

    def is_cancelled(self, frame: Any) -> bool:
        """Nobody can stop a thread."""
        return False

    def count_cancellations(self, frame: Any) -> None:
        """See `is_cancelled`."""

    async def let_branches_go_on(self, frame: Any) -> None:
        """Nothing to wait for: code on threads has no branches that we know of."""

    # -- the engine's ports ---------------------------------------------------------------------

    async def call(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        timeout: float | TimeoutPolicy | None,
    ) -> Any:
        """Call user code in place, or, where it has a time limit, on a thread.

        Raises:
            RuntimeError: it raised `StopIteration`, which no coroutine can, and so nobody who runs it.
        """
        if (frame := current_frame.get()) is not None:
            frame.home = threading.get_ident()
        try:
            if timeout is None:
                return function(*args, **kwargs)
            return call_within(timeout, self.clock, function, args, kwargs)
        except StopIteration as error:
            raise no_end(function, error) from error

    async def call_async(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        timeout: float | TimeoutPolicy | None,
    ) -> Any:
        raise AsyncInBlockingRun(f"{function!r} is async: call the workflow by ainvoke() or astream()")

    def soon(self, function: Callable[[], None]) -> None:
        """Call `function`: on threads nothing is due before it."""
        function()

    async def sleep(self, seconds: float) -> None:
        if seconds > 0:
            self.clock.sleep(seconds)

    async def rest(self, seconds: float, over: Future[Any]) -> None:
        if seconds > 0:
            ended = threading.Event()
            over.add_done_callback(lambda _: ended.set())
            self.clock.rest(ended, seconds)

    async def claim_free(self, saver: Saver, thread: str) -> Lease | None:
        """None: whoever blocks claims alone."""
        return None

    async def commit(self, saver: Saver, commit: Commit, settles: Future[Any] | None = None) -> None:
        if not self._knows_saver:
            self._knows_saver = True
            if not saver.inline or self._looped is not None:
                self._share_commits(MOST_AT_HAND if saver.inline else MOST_PARKED)
        if settles is not None and self._pipeline is not None and self._has_more:
            await LastCommit(saver, commit, settles)
            return
        error = saver.commit([commit])[0]
        if error is not None:
            raise error

    @property
    def _has_more(self) -> bool:
        """Whether other calls wait for a worker, or run on one: who is alone has nobody to share a commit with."""
        return bool(self._pending) or self._active > 1

    def _share_commits(self, most: int) -> None:
        """Commits take their time, or a loop is woken by each: from here on calls share them, and workers don't wait.

        `most`: how many calls may wait for one.
        """
        self._eager = True
        self._pipeline = Pipeline(self.clock, most)

    async def blocking(
        self, function: Callable[..., Any], *args: Any, undo: Callable[[Any], None] | None = None
    ) -> Any:
        """Call something that may block for a while; nobody cancels that, so there is nothing to undo."""
        return function(*args)

    async def on_saver(
        self, saver: Saver, function: Callable[[], Any], undo: Callable[[Any], None] | None = None
    ) -> Any:
        """Call something of a saver's."""
        return function()

    async def wait(self, future: Future[Any]) -> None:
        """Block until a future that has no job is done."""
        wait_until_done(future)

    def look_after(self, stalling: Looked) -> None:
        """See `Waker`."""
        WAKER.watch(stalling)

    def background(self, function: Callable[[], None]) -> None:
        """Run `function`, which must not raise, beside the run."""
        run_soon(function)


def _cancel_all(futures: Iterable[Future[Any]]) -> None:
    """Settle calls that nobody has begun, as those of code that was cancelled."""
    for future in futures:
        if future.take() is not None:
            settle(future, _cancelled)


async def _cancelled() -> None:
    raise Cancelled


def _caller_of(future: Future[Any]) -> Frame | None:
    return None if future.context is None else future.context.get(current_frame)


def _on_thread(frame: Frame | None) -> Frame | None:
    """The sync code that a frame is, or is a part of: it may keep a thread while it waits."""
    while frame is not None and frame.call.definition.is_async:
        frame = frame.call.parent or frame.call.run.frame
    return frame


def _on_loop(loop: LoopHost | None) -> bool:
    return loop is not None and loop.thread == threading.get_ident()
