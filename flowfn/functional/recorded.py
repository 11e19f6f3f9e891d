"""What a workflow may ask of the world without a task: recorded once, and the same on every replay."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from flowfn.context import current_frame, site_of
from flowfn.engine.drive import drive
from flowfn.policies import seconds_of, timeout_seconds
from flowfn.python.event_loop import running_loop
from flowfn.values import MISSING

if TYPE_CHECKING:
    from datetime import datetime, timedelta
    from uuid import UUID

T = TypeVar("T")


def now() -> datetime:
    """The time, in UTC; inside a run recorded, so that a resumed run sees the same."""
    from datetime import UTC, datetime

    return _once("flowfn.now", lambda: datetime.fromtimestamp(_clock(), UTC))


def uuid4() -> UUID:
    """A random UUID; inside a run recorded, so that a resumed run sees the same."""
    import uuid

    return _once("flowfn.uuid4", uuid.uuid4)


def random() -> float:
    """A random number in [0, 1); inside a run recorded, so that a resumed run sees the same."""
    import random

    return _once("flowfn.random", random.random)


_VALUES = (str, bytes, int, float, list, tuple, set, dict)
"""What is no type for an answer, though its name, or its choices, may be meant."""


@overload
def interrupt(
    value: Any,
    *,
    key: str | None = None,
    type: type[T],
    timeout: float | timedelta | None = None,
    default: Any = MISSING,
) -> T: ...
@overload
def interrupt(
    value: Any,
    *,
    key: str | None = None,
    type: Any = None,
    timeout: float | timedelta | None = None,
    default: Any = MISSING,
) -> Any: ...
def interrupt(
    value: Any,
    *,
    key: str | None = None,
    type: Any = None,
    timeout: float | timedelta | None = None,
    default: Any = MISSING,
) -> Any:
    """Ask a human, and return the answer.

    The run stops, and `invoke` returns the question; `invoke(Command(resume=answer), config)` goes on. What
    is recorded isn't run again. Control leaves by a `BaseException`: `except Exception` doesn't catch it.

    Args:
        value: the question; anything that can be stored.
        key: names the question, so that its payload may change between asking and answering; default: its payload
            tells it from others.
        type: what the answer is validated as, by pydantic: before the run goes on where the type is one of plain
            types, `Literal`, unions, containers and classes with fields; else where the question is asked.
        timeout: seconds, or a `timedelta`, from when it was first asked. After that no answer is taken, and the run
            goes on with `default` when it is next resumed.
        default: the answer then; it isn't validated.

    Raises:
        RuntimeError: called outside a run.
        TypeError: one of `timeout` and `default` without the other; or `type` is a value, which no answer would fit.
    """
    if isinstance(type, _VALUES):
        raise TypeError(
            f"interrupt(type={type!r}): that is no type. "
            "Pass one, such as str, Literal['yes', 'no'] or a class with fields"
        )
    frame = current_frame.get()
    if frame is None:
        raise RuntimeError(
            "interrupt() asks on behalf of a run: call it inside an @entrypoint or a @task of one, not on a worker"
        )
    deadline = None if timeout is None and default is MISSING else _deadline(timeout, default)
    return frame.ask(value, key, type, site_of(sys._getframe().f_back), deadline=deadline)


def _deadline(timeout: float | timedelta | None, default: Any) -> tuple[float, Any] | None:
    if timeout is None or default is MISSING:
        given, lacking = ("default", "timeout") if timeout is None else ("timeout", "default")
        raise TypeError(
            f"interrupt({given}=…) needs {lacking}= too: when to stop waiting, and the answer then"
        )
    seconds = timeout_seconds(timeout)
    return None if seconds is None else (seconds, default)


def sleep(seconds: float | timedelta) -> Any:
    """Wait; inside a run the time of waking is recorded, so that a resumed run waits for the rest only.

    In a coroutine write `await sleep(seconds)`; elsewhere `sleep(seconds)` blocks. What is zero or less has passed, and
    nobody waits: `sleep(deadline - time.time())` is right for a run that is resumed after its deadline, too.

    Args:
        seconds: a number, or a `timedelta`.

    Raises:
        TypeError: `seconds` is no duration.
        ValueError: it is infinite, or no number (NaN). Nothing is recorded in either case.
    """
    length = _duration(seconds)
    until = _once("flowfn.sleep", lambda: _clock() + length)
    frame = current_frame.get()
    if frame is not None and frame.run.root.rehearsal is not None and until > frame.run.host.now():
        frame.run.root.rehearsal.stop(frame, "it sleeps")
    if frame is not None and frame.call.definition.is_async:
        host = frame.run.hosts.loop
        assert host is not None
        return host.sleep(_left(until, length, host.now()))
    if frame is not None:
        threads = frame.run.hosts.threads
        drive(threads.sleep(_left(until, length, threads.now())))
    elif running_loop() is not None:
        import asyncio

        return asyncio.sleep(length)
    else:
        time.sleep(max(0.0, length))
    return None


def _duration(given: float | timedelta) -> float:
    """How long to sleep, in seconds."""
    seconds = seconds_of(given)
    if not hasattr(seconds, "__float__"):
        raise TypeError(
            f"sleep() takes seconds or a timedelta, not {given!r}; write sleep(30) or sleep(timedelta(days=3))"
        )
    length = float(seconds)
    if not math.isfinite(length):
        raise ValueError(
            f"sleep({given!r}) would never wake up; pass a finite number, or wait for an answer with interrupt()"
        )
    return length


def _left(until: float, seconds: float, now: float) -> float:
    """How long to go on sleeping: never longer than the whole, as a clock that was set back would have it."""
    return min(seconds, max(0.0, until - now))


def _clock() -> float:
    """Seconds since the epoch, as the run that the code is part of counts them."""
    frame = current_frame.get()
    return time.time() if frame is None else frame.run.host.now()


def _once(name: str, make: Callable[[], T]) -> T:
    """What `make` gives; inside a run what it gave the first time."""
    frame = current_frame.get()
    if frame is None:
        return make()
    value: T = frame.once(name, make, sys._getframe(2))
    return value
