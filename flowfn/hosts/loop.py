"""The asyncio host: async attempts are coroutines of the running loop, sync ones run on threads.

An awaited task runs in the task that awaits it, in the context of its call; one that was called and not awaited
becomes an asyncio task of its own at the loop's next turn.
"""

from __future__ import annotations

import asyncio
import threading
from asyncio import run_coroutine_threadsafe
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import Context, copy_context
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame
from flowfn.futures import BLOCKS, Future, Job, Turn, WouldBlock
from flowfn.hosts.claims import claims_together
from flowfn.hosts.clock import SYSTEM, Clock
from flowfn.hosts.commits import call_soon
from flowfn.hosts.deadlines import within
from flowfn.hosts.ids import new_id
from flowfn.hosts.in_task import settle_in_task
from flowfn.hosts.in_turn import some_wait_for_turns, turn_of
from flowfn.hosts.makers import handled_by_maker
from flowfn.hosts.moment import ending, stand_still
from flowfn.hosts.numbering import (
    branch_around,
    branch_began,
    branch_in_context,
    branch_number,
    handed,
)
from flowfn.hosts.patience import is_held_for_branch, until_placeable, watch_of
from flowfn.hosts.shared import Leave, leave_closed, shared
from flowfn.hosts.threads import DEPTH, MAX_WORKERS, ThreadHost
from flowfn.hosts.waker import WAKER, Looked
from flowfn.hosts.wakes import Wake
from flowfn.hosts.workers import run_soon
from flowfn.python.apart import apart
from flowfn.python.cached_property import cached_property
from flowfn.python.event_loop import needed_loop, running_loop
from flowfn.python.unlocked import UnlockedFuture

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.hosts.admission import Admission
    from flowfn.ports import Commit, Lease, Saver


_TURNS = 4
"""Turns of the loop from a result to the next call of the coroutine that awaited it, through `gather`."""


IN_PLACE = 64
"""After so many tasks that ran in the task that awaited them, the loop gets a turn. Tasks that never suspend would
otherwise keep all else from running, and keep what was scheduled for each of them in the loop's queue."""


FEW = 64
"""So many jobs of a run are under way, and the next begin in turns; see `hosts/admission.py`."""


class LoopHost:
    """Runs attempts on the running event loop."""

    workers = MAX_WORKERS

    def __init__(self, *, clock: Clock = SYSTEM) -> None:
        self.loop = needed_loop()
        self.thread = threading.get_ident()
        self.clock = clock
        self.now = clock.now
        self.since = clock.since
        self.elapsed = clock.elapsed
        self._shared = shared(self.loop)
        self._saver: Saver | None = None
        self._admission: Admission
        """That of the saver, once there is one."""
        self._tasks: dict[Future[Any], asyncio.Task[None]] = {}
        """The tasks of ours that run jobs."""
        self._awaiting: dict[Future[Any], asyncio.Task[Any]] = {}
        """The tasks of others that run a job in place, as they await it."""
        self._on_threads: set[Future[Any]] = set()
        """What runs, or will run, on a thread."""

    @cached_property
    def threads(self) -> ThreadHost:
        """Where sync functions go; made for the first of them, whichever thread asks."""
        made = ThreadHost(loop=self, clock=self.clock)
        found: ThreadHost = vars(self).setdefault("threads", made)
        return found

    # -- starting and joining attempts ----------------------------------------------------------

    def began(self) -> None:
        """The run begins that this was made for."""
        self._shared.begin(self.loop)

    def ended(self) -> None:
        """The run has ended that this was made for; see `ThreadHost`."""
        self._shared.end(self.loop)
        if "threads" in vars(self):
            self.threads.ended()

    def holds_thread(self, leave: Leave) -> None:
        """See `Host`."""
        self._shared.leaves.add(leave)

    def holds_no_more(self, leave: Leave) -> None:
        """See `Host`."""
        self._shared.leaves.discard(leave)

    def goes_on(self) -> bool:
        """See `Host`."""
        return running_loop() is self.loop

    def will_run_on_thread(self, future: Future[Any]) -> None:
        """The threads beside the loop have been given a job."""
        self._on_threads.add(future)
        UnlockedFuture.add_done_callback(future, self._on_threads.discard)

    def on_threads(self) -> Sequence[Future[Any]]:
        """See `Host`."""
        return [future for future in self._on_threads.copy() if not (future.done() or future.waiting)]

    def leave_what_cannot_go_on(self) -> int:
        """See `Host`."""
        return leave_closed()

    def new_id(self, after: str = "") -> str:
        return new_id(after)

    def future(self, job: Job | None) -> Future[Any]:
        """A future of ours for `job`, which nobody runs yet."""
        return Future(job, self)

    def start(self, future: Future[Any]) -> None:
        """Have the job run from the loop's turn after the next, unless somebody takes it first.

        So whoever awaits it at once, be it through `asyncio.gather`, runs it in a task that there is anyhow.
        """
        if threading.get_ident() != self.thread:
            self.loop.call_soon_threadsafe(self.begin, future, context=copy_context())
            return
        future.context = copy_context()
        self._shared.begin_later(self.loop, self, future)

    def begin(self, future: Future[Any]) -> None:
        """Run the job in a task of its own, unless somebody has taken it."""
        job = future.take()
        if job is not None:
            context, future.context = future.context, None  # the task's own, even while an eager one is made
            frame = current_frame.get() if context is None else context.get(current_frame)
            task = self.loop.create_task(settle_in_task(future, job, self._turn(frame)), context=context)
            self._tasks[future] = task
            task.add_done_callback(lambda _: self._ended(future))

    def _ended(self, future: Future[Any]) -> None:
        """A task of ours ended; one that was cancelled before its first step has settled nothing."""
        self._tasks.pop(future, None)
        if not future.done():
            future.abandon()

    def help(self, future: Future[Any]) -> None:
        """Nothing to help with: an async job runs on the loop, and nowhere else."""

    def refuse_to_block(self) -> None:
        if threading.get_ident() == self.thread:
            raise WouldBlock(BLOCKS)

    def join(self, future: Future[Any]) -> Coroutine[Any, Any, None]:
        frame = current_frame.get()
        if frame is not None and frame.depth % DEPTH >= DEPTH - 2:
            self.begin(future)
        job = future.take()
        if job is None:
            return self._wait(future)
        return self._settle_here(future, job, self._turn(frame))

    def _turn(self, frame: Frame | None) -> asyncio.Future[None] | None:
        """When a job may begin that a frame's code called; None where that is at once."""
        if self._saver is None or len(self._tasks) + len(self._awaiting) < FEW:
            return None
        return self._admission.turn(1 if frame is None else frame.depth + 1)

    async def _settle_here(self, future: Future[Any], job: Job, turn: asyncio.Future[None] | None) -> None:
        """Run a taken job in the task that awaits it, which goes on where the future alone is cancelled.

        In the context of its call, as it would in a task of its own: what it sees mustn't depend on who comes first.
        """
        me = asyncio.current_task(self.loop)
        assert me is not None
        self._awaiting[future], cancelled = me, me.cancelling()
        try:
            await apart(settle_in_task(future, job, turn), future.context or copy_context())
        except asyncio.CancelledError:
            if future in self._awaiting or me.uncancel() > cancelled:
                raise
        finally:
            self._awaiting.pop(future, None)
            future.context = None  # what the job leaves there may lead back to the future
        if next(self._shared.jobs_in_place) % IN_PLACE == 0:
            await asyncio.sleep(0)

    async def wait_for_thread(self, future: Future[Any]) -> None:
        """Suspend until a sync attempt has ended on its thread."""
        if future.waiting:
            self.threads.add_worker()
            frame = current_frame.get()
            if frame is None or frame.numbers is None:  # else other branches first hear of their outcomes
                self._let_end(future)
        await self._wait(future)

    async def _wait(self, future: Future[Any]) -> None:
        """Suspend until a future is done; if the waiting is cancelled, so is the future."""
        try:
            await self._watch(future)
        except asyncio.CancelledError:
            if not future.cancel():
                self._see_out(future)
            raise

    def _see_out(self, future: Future[Any]) -> None:
        """What runs on a thread of ours, and nobody waits for any more, ends before the loop does.

        What nobody has taken isn't run any more, and so never ends.
        """
        if future.runner is not self and not future.waiting and not future.done():
            self._shared.left_behind.add(self.loop, future)

    def _let_end(self, future: Future[Any]) -> None:
        """Stand still for the moment in which a job on a thread may end: a turn of the loop takes as long."""
        if (moment := self._shared.moment) and not future.done():
            over = ending()
            future.add_done_callback(lambda _: over.release())
            stand_still(over, moment)

    async def _watch(self, future: Future[Any]) -> None:
        """Suspend until a future is done."""
        ended = self.loop.create_future()
        UnlockedFuture.add_done_callback(future, Wake(self.loop, self.thread, ended))
        await ended

    async def others_end(self) -> None:
        frame = current_frame.get()
        while frame is not None and ((running := _running(frame)) or some_wait_for_turns(frame)):
            if running:
                await self._watch(running[0])
            await self.let_branches_go_on(frame)

    async def until_placeable(self, future: Future[Any]) -> None:
        frame, me = current_frame.get(), asyncio.current_task(self.loop)
        if frame is not None and me is not None:
            await until_placeable(frame, future, me)

    def block_until_placeable(self, future: Future[Any], timeout: float | None) -> bool:
        if not is_held_for_branch(future):
            return True
        self.refuse_to_block()
        frame = current_frame.get()
        branch = None if frame is None else branch_around(frame)
        if frame is None or branch is None or self.loop.is_closed():
            return False
        # In no frame's context, as that which waits is no branch.
        waiting = Context().run(run_coroutine_threadsafe, until_placeable(frame, future, branch), self.loop)
        try:
            waiting.result(timeout)
        except TimeoutError:
            waiting.cancel()
            return False
        return True

    def place_when_decided(self, frame: Frame, future: Future[Any]) -> None:
        context = copy_context()
        if threading.get_ident() == self.thread:
            watch_of(frame).add(future, context)
        else:
            call_soon(self.loop, lambda: watch_of(frame).add(future, context))

    def lend_place(self) -> AbstractContextManager[None]:
        return nullcontext()

    def abort(self, future: Future[Any]) -> bool:
        task = self._tasks.get(future) or self._awaiting.pop(future, None)
        return task is not None and task.cancel()

    def apart(self, coroutine: Coroutine[Any, Any, Any]) -> Awaitable[Any]:
        """What awaits a coroutine in a context of its own."""
        return apart(coroutine, copy_context())

    async def on_fresh_stack(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return await self.loop.create_task(coroutine)

    async def settle(self, futures: Iterable[Future[Any]]) -> None:
        """Wait until each has ended, whatever came of it; a lone one runs in this very task.

        Of several each runs in a task of its own, so that it can be cancelled by itself: by whoever knows whether it
        has been already, and cleans up.
        """
        futures = list(futures)
        for future in futures:
            if future.runner is not self and future.runner is self.threads:
                if len(futures) > 1:
                    self.threads.start_in_turn(future)
                else:
                    self.threads.start_now(future)
                    self._let_end(future)
            elif len(futures) == 1 and (job := future.take()) is not None:
                await settle_in_task(future, job)
            if not future.done():
                await (self._wait(future) if len(futures) == 1 else self._watch(future))

    async def settle_within(
        self, seconds: float, futures: Iterable[Future[Any]], late: Callable[[], None]
    ) -> None:
        """`settle`, each in a task of its own, and call `late` where they have not ended after so many seconds."""
        futures = list(futures)
        timer = self.loop.call_later(seconds, late)
        try:
            for future in futures:
                if future.runner is self:
                    self.begin(future)
            await self.settle(futures)
        finally:
            timer.cancel()

    async def let_stop(self, futures: Iterable[Future[Any]]) -> None:
        """Wait until the tasks of ours have ended that were cancelled; another cancellation reaches them, too."""
        futures = list(futures)
        for future in futures:
            self._see_out(future)
        tasks = [task for future in futures if (task := self._tasks.get(future)) is not None]
        while tasks:
            try:
                await asyncio.wait(tasks)
            except asyncio.CancelledError:
                for task in tasks:
                    task.cancel()
            tasks = [task for task in tasks if not task.done()]

    def branch(self, frame: Frame) -> int:
        return branch_number(frame)

    def branch_began(self, frame: Frame) -> list[FrameType]:
        return branch_began(frame)

    def turn_of(self, frame: Frame, order: float, place: float) -> Turn | None:
        return turn_of(frame, self.loop, self.thread, order, place)

    def handed(self, frame: Frame) -> frozenset[tuple[str, str]]:
        return handed(frame)

    def handled_by_maker(self, frame: Frame) -> BaseException | None:
        return handled_by_maker(frame, branch_in_context(frame, self.thread))

    def is_cancelled(self, frame: Frame) -> bool:
        me = asyncio.current_task(self.loop)
        return me is not None and me.cancelling() > frame.cancelled

    def count_cancellations(self, frame: Frame) -> None:
        """On Python 3.11 and 3.12 a `TaskGroup` that failed leaves one to be counted.

        What is about to reach the code is none that it has gone on from; nor is what may reach it while another branch
        of it is told.
        """
        me = asyncio.current_task(self.loop)
        is_limited = frame.call.timeout is not None  # what is has a task of its own within
        if me is None or me is not frame.home or is_limited:
            return
        if not getattr(me, "_must_cancel", False):
            frame.cancelled = me.cancelling()

    async def let_branches_go_on(self, frame: Frame) -> None:
        """Let the asyncio tasks that wait for what has just ended, or for their turns, take their next step."""
        left = _TURNS
        while left:
            await asyncio.sleep(0)
            left = _TURNS if some_wait_for_turns(frame) else left - 1

    # -- the engine's ports ---------------------------------------------------------------------

    async def call(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], timeout: float | None
    ) -> Any:
        raise AssertionError(f"{function!r} is sync and belongs on a thread")

    async def call_async(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], timeout: Any
    ) -> Any:
        """Await user code; with a timeout, cancel it when that has passed."""
        frame, me = current_frame.get(), asyncio.current_task(self.loop)
        if frame is not None and me is not None:
            frame.home, frame.cancelled = me, me.cancelling()
        if timeout is None:
            return await function(*args, **kwargs)
        name = "?" if frame is None else frame.call.definition.name
        return await within(timeout, function(*args, **kwargs), name)

    def soon(self, function: Callable[[], None]) -> None:
        """Call `function` once what is due in this turn of the loop has had its turn."""
        if threading.get_ident() == self.thread:
            self.loop.call_soon(function)
        else:
            call_soon(self.loop, function)

    async def sleep(self, seconds: float) -> None:
        if seconds > 0:
            await asyncio.sleep(seconds)

    async def rest(self, seconds: float, over: Future[Any]) -> None:
        """Sleep until then, or until `over` is done."""
        if seconds > 0:
            # In no frame's context: a branch of the code's own would be counted.
            sleeping = self.loop.create_task(self.sleep(seconds), context=Context())
            over.add_done_callback(lambda _: call_soon(self.loop, sleeping.cancel))
            try:
                await asyncio.wait([sleeping])
                if not sleeping.cancelled():
                    sleeping.result()
            finally:
                sleeping.cancel()

    async def claim_free(self, saver: Saver, thread: str) -> Lease | None:
        """Take a lease together with the others that are due in the same turn of the loop.

        Where a saver is quick, a run that nobody begins with doesn't wait for others.
        """
        admission = self._admission_to(saver)
        if (saver.inline and not admission.crowded) or not claims_together(saver):
            return None
        return await self._shared.claimer.claim(saver, thread, admission)

    def commit(
        self, saver: Saver, commit: Commit, settles: Future[Any] | None = None
    ) -> Coroutine[Any, Any, None]:
        return self._shared.committer.commit(saver, commit, self._admission_to(saver))

    def _admission_to(self, saver: Saver) -> Admission:
        """Who may begin with this saver; a run has one."""
        if saver is not self._saver:
            self._saver, self._admission = saver, self._shared.admission_to(saver)
        return self._admission

    async def blocking(
        self, function: Callable[..., Any], *args: Any, undo: Callable[[Any], None] | None = None
    ) -> Any:
        """Call something that may block for a while, on a thread.

        It goes on where whoever waits is cancelled, or the loop is closed; what it returns then goes to `undo`, which
        must not raise.
        """
        result: Future[Any] = Future()
        context = copy_context()

        def call() -> None:
            try:
                value, error = context.run(function, *args), None
            except BaseException as raised:
                value, error = None, raised
            if self.loop.is_closed() or not result.set_running_or_notify_cancel():
                if error is None and undo is not None:
                    undo(value)
            elif error is None:
                result.set_result(value)
            else:
                result.set_exception(error)

        run_soon(call)
        try:
            await self._watch(result)
        except asyncio.CancelledError:
            if not result.cancel() and undo is not None and result.exception() is None:
                run_soon(partial(undo, result.result()))
            raise
        return result.result(0)

    async def on_saver(
        self, saver: Saver, function: Callable[[], Any], undo: Callable[[Any], None] | None = None
    ) -> Any:
        """Call something of a saver's on a thread; whoever waits for it counts among those that the next runs heed."""
        with self._admission_to(saver):
            return await self.blocking(function, undo=undo)

    async def wait(self, future: Future[Any]) -> None:
        """Suspend until a future that has no job is done."""
        if not future.done():
            await self._wait(future)

    def look_after(self, stalling: Looked) -> None:
        """See `Waker`."""
        WAKER.watch(stalling)

    def background(self, function: Callable[[], None]) -> None:
        """Run `function`, which must not raise, beside the run."""
        run_soon(function)


def _running(frame: Frame) -> list[Future[Any]]:
    """The calls of a frame that are under way."""
    calls = frame.open_calls()
    return [future for future in calls if not (future.done() or future.held or future.waiting)]
