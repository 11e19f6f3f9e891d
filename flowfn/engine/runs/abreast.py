"""The calls of a superstep, run side by side until each has ended; a superstep's only one runs in place.

Rule: the first that fails stops the others. Coroutines are cancelled, and what waits for its turn, or for a thread that
has others to run first, isn't begun. Code on threads can't be stopped: what has one, or is to have the next free one,
runs to its end for the record, and isn't tried again. A call that ends in a signal stops nobody: it asks, leaves the
program for the one around, or has a nested run that was drained.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from flowfn.engine.calls.attempt import attempt
from flowfn.engine.calls.blame import blame
from flowfn.engine.runs.turns import Turns
from flowfn.errors import AsyncInBlockingRun, Cancelled, Signal, Stopped
from flowfn.futures import Future

if TYPE_CHECKING:
    from flowfn.engine.calls.call import NodeCall
    from flowfn.engine.runs.deadline import Deadline
    from flowfn.engine.runs.run import Run

Failed = tuple["NodeCall", BaseException]
"""A call, and the error or signal that it ended in."""


def settle(
    run: Run, calls: Sequence[NodeCall], deadline: Deadline | None
) -> Coroutine[Any, Any, list[Failed]]:
    """Run calls side by side; which failed, in the order in which they did.

    Raises:
        StepTimeout: the deadline was missed.
    """
    if len(calls) == 1 and deadline is None:
        return _settle_alone(run, calls[0])
    return _Abreast(run, calls, deadline).settle()


async def _settle_alone(run: Run, call: NodeCall) -> list[Failed]:
    """Run a superstep's only call, in place where it belongs to the host of the run.

    What a node sets in context variables is its own, as the next one may run in another process; unless the program
    shares its caller's.
    """
    if call.node.bare and _is_passed(call):
        return []
    if run.hosts_itself(call.definition):
        try:
            call.value = await (
                attempt(call) if run.program.shares_context else run.host.apart(attempt(call))
            )
        except BaseException as error:
            return [(call, error)]
        return []
    call.future = _future_of(run, call)
    try:
        await run.host.settle([call.future])
    except BaseException:
        # Whoever waited for it has left, and makes no checkpoint: what it gives on its thread is recorded by itself.
        call.rides = False
        call.give_up()
        run.root.leave([call])
        raise
    failure = _error_of(call.future)
    if failure is not None:
        return [(call, failure)]
    call.value = call.future.result(0)
    return []


def _is_passed(call: NodeCall) -> bool:
    """Call a node in which nobody's code runs. Should it fail, it is attempted, for what is recorded and told of it."""
    if call.run.root.fatal is not None or call.run.root.rehearsal is not None:
        return False
    try:
        call.value = call.definition.function(*call.args, **call.kwargs)
        call.writes = call.node_task.writes = call.node.output(call.value)
    except Exception:
        return False
    return True


class _Abreast:
    """Calls side by side, from the start of the first to the end of the last."""

    def __init__(self, run: Run, calls: Sequence[NodeCall], deadline: Deadline | None) -> None:
        self.run = run
        self.calls = calls
        self.deadline = deadline
        for call in calls:
            call.future = _future_of(run, call)
        self.turns = Turns(calls, run.config.max_concurrency, partial(_start, run))
        self.failed: list[NodeCall] = []
        """Those that are known to have failed, in the order in which they did."""
        self.stopped: set[NodeCall] = set()
        """Each is stopped once: another time would cut off its clean-up."""
        self.in_vain = False
        """Whether a failure stops the others."""

    async def settle(self) -> list[Failed]:
        """See `settle`."""
        run, deadline = self.run, self.deadline
        for call in self.calls:
            assert call.future is not None
            call.future.when_done(partial(self._ended, call=call))
            if call.future.waiting:
                run.host_of(call.definition).start(call.future)
        futures = [call.future for call in self.calls]
        try:
            if deadline is None:
                await run.host.settle(futures)
            else:
                await run.host.settle_within(deadline.left, futures, self._late)
        except BaseException as error:
            self._stop(self.calls, all_that_wait=True)
            if not isinstance(error, GeneratorExit):  # what is closed can't wait
                await run.host.let_stop(futures)
            run.root.leave(self.calls)
            raise
        if deadline is not None and deadline.missed and run.root.fatal is None:
            raise deadline.error(run.program.name)
        return self._failures(self.failed.copy())

    def _ended(self, future: Any, call: NodeCall) -> None:
        """A call has ended: another one's turn may have come, or its failure stops the others."""
        if self.deadline is not None and self.deadline.passed:
            self._late()
        error = _error_of(future)
        if error is not None:
            self.failed.append(call)
            if is_failure(error) and call.node.on_error is None:
                if self.deadline is not None:
                    self.deadline.fail()
                self.turns.end()
                if not self.in_vain:
                    self.in_vain = True
                    self.run.host.soon(self._stop_the_others)
        self.turns.next(call)

    def _late(self) -> None:
        """The deadline has passed."""
        if self.deadline is not None and self.deadline.miss():
            self._stop(self.calls, all_that_wait=True)

    def _stop_the_others(self) -> None:
        """Stop what a failure leaves in vain; of what has come to an end only the record is under way."""
        self._stop([call for call in self.calls if call.writes is None])

    def _stop(self, calls: Sequence[NodeCall], *, all_that_wait: bool = False) -> None:
        """Stop coroutines, and what waits to begin; unless `all_that_wait` are stopped, what has a thread begins."""
        beginning = set() if all_that_wait else self._with_threads()
        self.turns.drop(calls)
        for call in calls:
            assert call.future is not None
            if call in self.stopped or call.future.done():
                continue
            if call.definition.is_async or (call.future.waiting and call not in beginning):
                self.stopped.add(call)
                call.future.cancel()
        for call in calls:
            call.given_up = True
        self.run.root.end_rests()

    def _with_threads(self) -> set[NodeCall]:
        """The calls that have a thread, or are to have the next free one: as many as run at once beside what has ended.

        Which of them have begun by now depends on how soon workers are woken, and is not to decide what is recorded.
        """
        sync = [call for call in self.calls if not call.definition.is_async]
        ended = sum(call.future is not None and call.future.done() for call in sync)
        return set(sync[: ended + self.run.hosts.threads.workers]) if sync else set()

    def _failures(self, order: Sequence[NodeCall]) -> list[Failed]:
        """Which calls failed, in the `order` that is known; a worker wakes who waits before it calls back."""
        found = [(call, error) for call in self.calls if (error := _error_of(call.future)) is not None]
        return sorted(found, key=lambda each: order.index(each[0]) if each[0] in order else len(order))


def _future_of(run: Run, call: NodeCall) -> Future[Any]:
    """What a call comes to on the host that it belongs to, which hasn't begun it."""
    try:
        future: Future[Any] = run.host_of(call.definition).future(partial(attempt, call))
        return future
    except AsyncInBlockingRun as error:
        blame(call, error)
        return Future.failed(error)


def _start(run: Run, call: NodeCall) -> None:
    """A call's turn has come."""
    assert call.future is not None
    call.future.release(partial(attempt, call))
    run.host_of(call.definition).start(call.future)


def is_failure(error: BaseException) -> bool:
    """Whether it leaves what runs beside it in vain."""
    return not isinstance(error, Signal) or isinstance(error, Cancelled | Stopped)


def _error_of(future: Any) -> BaseException | None:
    """The error that a finished future holds; a cancelled one's is its cancellation."""
    if future.cancelled():
        return _cancellation(future)
    failure: BaseException | None = future.failure
    return failure


def _cancellation(future: Any) -> BaseException:
    try:
        future.result(0)
    except BaseException as error:
        return error
    raise AssertionError("a cancelled future has no result")
