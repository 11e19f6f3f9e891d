"""An attempt given to an executor, and waited for, on a thread or on an event loop.

Rule: a worker that died is a failed attempt (`WorkerDied`), and one whose time is up, or whose caller was
cancelled, is stopped where the executor can. Nothing is given out twice: that is the retry policy's to decide.

Beside `submit`, an executor may have `submit_within(timeout, function, *args)`, which counts the time from when
the function starts, `stop(future)`, and `lost`, the errors that mean a dead worker.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from typing import Any, TypeVar

from flowfn.errors import FlowError, Stopped, TaskTimeout, UnshippableError, WorkerDied
from flowfn.executors.shipping import perform

T = TypeVar("T")
Bytes = Future[bytes]


def wait_for(
    executor: Executor,
    payload: bytes,
    name: str,
    timeout: float | None,
    started: Callable[[Callable[[], bool]], None],
) -> bytes:
    """Have an attempt made, and block until it has ended; `started` is told how to stop it meanwhile.

    Raises:
        TaskTimeout: it took longer than `timeout` seconds, and was stopped where the executor can.
        WorkerDied: its worker was lost.
        Stopped: it was stopped.
        UnshippableError: the executor could not run it, or was shut down.
    """
    future, left = _submitted(executor, payload, timeout, name)
    stopped = threading.Event()

    def stop() -> bool:
        stopped.set()
        if not stop_future(executor, future):
            stopped.clear()
        return stopped.is_set()

    started(stop)
    try:
        with suppress(TimeoutError, CancelledError):
            future.exception(left)
    except BaseException:
        stop_future(executor, future)
        raise
    if not future.done():
        raise _late(name, timeout, stop_future(executor, future))
    if stopped.is_set():
        raise Stopped
    if future.cancelled():
        raise _given_up(executor, name)
    error = future.exception()
    if isinstance(error, TimeoutError):
        raise _late(name, timeout, True)
    if error is not None:
        raise _judged(executor, name, error) from error
    return future.result()


async def await_for(executor: Executor, payload: bytes, name: str) -> bytes:
    """`wait_for` on an event loop; a cancellation stops the attempt where the executor can."""
    import asyncio

    future, _ = _submitted(executor, payload, None, name)
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if future.cancelled() and task is not None and not task.cancelling():
            raise _given_up(executor, name) from None
        stop_future(executor, future)
        raise
    except Exception as error:
        raise _judged(executor, name, error) from error


def call_on_pool(
    executor: Executor, name: str, function: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> T:
    """Have a thread of a pool of the user's call a function, and block until it has: nothing has to travel.

    Raises:
        UnshippableError: the pool was shut down.
        Exception: the function's own.
    """
    try:
        future = executor.submit(_on_pool, executor, function, args, kwargs)
    except RuntimeError as error:
        raise _judged(executor, name, error) from error
    try:
        return future.result()
    except CancelledError:
        if future.cancelled():
            raise _given_up(executor, name) from None
        raise


def is_on(executor: Any) -> bool:
    """Whether this is a thread of that pool, which runs a task: a call that waited for another could wait for ever."""
    return getattr(_here, "pool", None) is executor


def _on_pool(pool: Executor, function: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    _here.pool = pool
    try:
        return function(*args, **kwargs)
    finally:
        del _here.pool


_here = threading.local()


def stop_future(executor: Executor, future: Bytes) -> bool:
    """Keep an attempt from starting, or stop it; False if it goes on."""
    stop = getattr(executor, "stop", None)
    return future.cancel() or (stop is not None and bool(stop(future)))


def _submitted(
    executor: Executor, payload: bytes, timeout: float | None, name: str
) -> tuple[Bytes, float | None]:
    """The attempt's future, and how long to wait for it."""
    try:
        if timeout is not None and hasattr(executor, "submit_within"):
            return executor.submit_within(timeout, perform, payload), None
        return executor.submit(perform, payload), timeout
    except Exception as error:
        raise _judged(executor, name, error) from error


def _judged(executor: Executor, name: str, error: BaseException) -> Exception:
    """An executor's own error as flowfn's: a function's errors come back as data."""
    if isinstance(error, (WorkerDied, BrokenExecutor, *getattr(executor, "lost", ()))):
        return WorkerDied(f"the worker that ran {name}() died, or was lost: {error}")
    if isinstance(error, FlowError):
        return error
    return UnshippableError(f"{type(executor).__name__} could not run {name}(): {error!r}")


def _given_up(executor: Executor, name: str) -> UnshippableError:
    """What an attempt comes to that the executor cancelled, and nobody here."""
    return UnshippableError(
        f"{type(executor).__name__} cancelled {name}() before it began, as shutdown(cancel_futures=True) does. "
        "Shut an executor down after the runs that use it"
    )


def _late(name: str, timeout: float | None, killed: bool) -> TaskTimeout:
    assert timeout is not None
    what = "its worker was stopped" if killed else "it was left behind on its worker"
    return TaskTimeout(
        f"{name!r} took longer than its timeout of {timeout:g} s, and {what}",
        name=name,
        elapsed=timeout,
        timeout=timeout,
    )
