"""What to do when a task fails, takes too long, or has been computed before.

Rule: policies compute delays and decisions from what they are given. No clock, no sleep, no thread:
the host waits. tenacity supplies the strategies, not its loop, and is imported on a failure only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Generic, Literal

from flowfn.errors import InvalidUpdateError
from flowfn.options import refusing_others
from flowfn.type_variables import KeyT

__all__ = [
    "CachePolicy",
    "RetryPolicy",
    "TimeoutPolicy",
    "default_retry_on",
    "delay_after",
    "fitting",
    "policies_of",
    "shown_policy",
    "timeout_seconds",
]

RetryOn = type[Exception] | Sequence[type[Exception]] | Callable[[Exception], bool]
"""A class, several classes, a predicate of the error, or a tenacity `retry_if_…` strategy."""

Strategy = Callable[[Any], Any]
"""A tenacity strategy: a function of a `tenacity.RetryCallState`."""

_PROGRAMMING_ERRORS: tuple[type[Exception], ...] = (
    ValueError,
    TypeError,
    ArithmeticError,
    ImportError,
    LookupError,
    NameError,
    SyntaxError,
    RuntimeError,
    ReferenceError,
    StopIteration,
    StopAsyncIteration,
    OSError,
)

_HTTP_ERRORS = (("httpx", "HTTPStatusError"), ("requests", "HTTPError"))


def default_retry_on(exc: Exception) -> bool:
    """Whether a further attempt could help: lost connections, HTTP 5xx, updates that don't fit the state, and errors
    of unknown kind.

    Errors that a program makes by itself (`ValueError`, `KeyError`, `OSError`…) would come again.
    """
    if isinstance(exc, ConnectionError | InvalidUpdateError):
        return True
    if _is_http_error(exc):
        status = getattr(getattr(exc, "response", None), "status_code", None)
        return isinstance(status, int) and 500 <= status < 600
    return not isinstance(exc, _PROGRAMMING_ERRORS)


def _is_http_error(error: Exception) -> bool:
    """Whether a known HTTP client raised it; a client that nobody imported cannot have."""
    for module, name in _HTTP_ERRORS:
        kind = getattr(sys.modules.get(module), name, None)
        if isinstance(kind, type) and isinstance(error, kind):
            return True
    return False


@refusing_others
@dataclass(frozen=True)
class RetryPolicy:
    """When a failed task is tried again, and after how many seconds. The shape is LangGraph's.

    The wait before attempt n + 1 is `initial_interval * backoff_factor ** (n - 1)` seconds, at most
    `max_interval`, plus up to one second of `jitter`. Write `retry_on=Exception` to try again whatever the error.

    Args:
        initial_interval: seconds before the second attempt; default: 0.5.
        backoff_factor: what each wait is longer by than the one before; default: 2.
        max_interval: seconds that a wait has at most, before the jitter; default: 128.
        max_attempts: how many attempts at most, with the first; default: 3.
        jitter: whether up to a second of chance is added; default: True.
        retry_on: a class of errors, several, a predicate of the error, or a tenacity `retry_if_…`. Default: lost
            connections (`ConnectionError`), timeouts of flowfn's (`TaskTimeout`), answers 5xx of httpx and requests,
            and kinds of error that Python doesn't know; but nothing that is a `ValueError`, `TypeError`, `LookupError`,
            `ArithmeticError`, `ImportError`, `NameError`, `SyntaxError`, `RuntimeError` or `OSError`, such as
            `TimeoutError` and what `requests` raises where nobody answers.
        wait: a tenacity `wait_…`, in place of the intervals; default: None.
        stop: a tenacity `stop_…`, in place of `max_attempts`; default: None.

    Raises:
        ValueError, TypeError: a field makes no sense.
    """

    initial_interval: float = 0.5
    backoff_factor: float = 2.0
    max_interval: float = 128.0
    max_attempts: int = 3
    jitter: bool = True
    retry_on: RetryOn = default_retry_on
    wait: Strategy | None = field(default=None, kw_only=True)
    stop: Strategy | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _require_at_least("RetryPolicy(initial_interval=…)", self.initial_interval, 0)
        _require_at_least("RetryPolicy(backoff_factor=…)", self.backoff_factor, 0)
        _require_at_least("RetryPolicy(max_interval=…)", self.max_interval, 0)
        _require_whole("RetryPolicy(max_attempts=…)", self.max_attempts)
        _require_strategy("wait", self.wait, "tenacity.wait_fixed(1)")
        _require_strategy("stop", self.stop, "tenacity.stop_after_delay(60)")
        _require_retry_on(self.retry_on)

    def _replace(self, **changes: Any) -> RetryPolicy:
        """The same with other fields, under the name that LangGraph's named tuple has for it."""
        return replace(self, **changes)

    def next_delay(self, attempt: int, error: BaseException, elapsed: float) -> float | None:
        """Seconds to wait before the next attempt, or None to give up.

        `attempt` is the number of the attempt that failed, from 1; `elapsed` the seconds since the
        first one began. Control signals and cancellation, which are no `Exception`, are never retried.
        """
        if not isinstance(error, Exception) or not self._retries(error, attempt, elapsed):
            return None
        return self._delay(attempt, error, elapsed)

    def _retries(self, error: Exception, attempt: int, elapsed: float) -> bool:
        kinds = self.retry_on
        if isinstance(kinds, type):
            return isinstance(error, kinds)
        if isinstance(kinds, Sequence):
            return isinstance(error, tuple(kinds))
        if _is_tenacity_strategy(kinds):
            return bool(kinds(_call_state(attempt, error, elapsed)))
        return bool(kinds(error))

    def _delay(self, attempt: int, error: Exception, elapsed: float) -> float | None:
        if self.stop is None and attempt >= self.max_attempts:
            return None
        state = _call_state(attempt, error, elapsed)
        state.upcoming_sleep = delay = float((self.wait or self._backoff())(state))
        return None if self.stop is not None and self.stop(state) else delay

    def _backoff(self) -> Strategy:
        from tenacity import wait_exponential, wait_random

        growing = wait_exponential(
            multiplier=self.initial_interval, exp_base=self.backoff_factor, max=self.max_interval
        )
        return growing + wait_random(0, 1) if self.jitter else growing


def policies_of(policy: RetryPolicy | Sequence[RetryPolicy] | None) -> tuple[RetryPolicy, ...]:
    """One retry policy, several or none, as a tuple.

    Raises:
        TypeError: something else.
    """
    if policy is None:
        return ()
    found = tuple(policy) if isinstance(policy, Sequence) else (policy,)
    for item in found:
        if not isinstance(item, RetryPolicy):
            raise TypeError(f"retry_policy={item!r}: write RetryPolicy(max_attempts=3), or a list of such")
    return found


def fitting(
    policies: Sequence[RetryPolicy], attempt: int, error: Exception, elapsed: float
) -> RetryPolicy | None:
    """The first policy whose `retry_on` takes the error; None where none does.

    The parameters are those of `RetryPolicy.next_delay`; attempts are counted across policies.
    """
    return next((policy for policy in policies if policy._retries(error, attempt, elapsed)), None)


def delay_after(policy: RetryPolicy, attempt: int, error: Exception, elapsed: float) -> float | None:
    """Seconds before the next attempt after an error that the policy takes; None to give up."""
    return policy._delay(attempt, error, elapsed)


def shown_policy(policy: RetryPolicy) -> str:
    """Which errors a policy takes, as it would be written."""
    kinds = policy.retry_on
    if isinstance(kinds, Sequence):
        return f"RetryPolicy(retry_on=({', '.join(kind.__name__ for kind in kinds)}))"
    return f"RetryPolicy(retry_on={getattr(kinds, '__name__', type(kinds).__name__)})"


def _call_state(attempt: int, error: Exception, elapsed: float) -> Any:
    """What tenacity's strategies look at, rebuilt from what the engine has recorded."""
    from tenacity import RetryCallState

    nobody: Any = None  # no `Retrying` object: no strategy asks for it
    state = RetryCallState(nobody, fn=None, args=(), kwargs={})
    state.attempt_number = attempt
    state.set_exception((type(error), error, error.__traceback__))
    state.start_time, state.outcome_timestamp = 0.0, elapsed
    return state


def _is_tenacity_strategy(value: object) -> bool:
    base = getattr(sys.modules.get("tenacity"), "retry_base", None)
    return isinstance(base, type) and isinstance(value, base)


@refusing_others
@dataclass(frozen=True, init=False)
class CachePolicy(Generic[KeyT]):
    """Reuse a task's result across runs.

    `CachePolicy[F]` says to readers of what type `key` is, as LangGraph's does.

    Args:
        ttl: seconds, or a `timedelta`, after which a result is computed anew; default: None, it is kept for ever.
        key: a function of the call's arguments whose result counts in place of their digest; default: None, all
            arguments count. `key_func=` is LangGraph's name for it.
        refresh: True computes anew and replaces what is kept; a function of the arguments decides per call; default:
            False.
        version: stands for the code and the constants that it names; default: the task's `version=`, else those.

    Raises:
        TypeError: an option is of the wrong kind, or `key=` and `key_func=` are both given.
        ValueError: `ttl` isn't greater than 0.
    """

    ttl: float | None
    key: Callable[..., Any] | None
    refresh: bool | Callable[..., Any]
    version: str | None

    def __init__(
        self,
        ttl: float | timedelta | None = None,
        key: Callable[..., Any] | None = None,
        *,
        refresh: bool | Callable[..., Any] = False,
        version: str | None = None,
        key_func: Callable[..., Any] | None = None,
    ) -> None:
        if key is not None and key_func is not None:
            raise TypeError("CachePolicy got key= and key_func=, two names of one thing; pass key= alone")
        chosen = key if key is not None else key_func
        if chosen is not None and not callable(chosen):
            raise TypeError(
                f"CachePolicy(key={chosen!r}) cannot be called; "
                "pass a function of the task's arguments, such as key=lambda order: order.id"
            )
        if not (isinstance(refresh, bool) or callable(refresh)):
            raise TypeError(
                f"CachePolicy(refresh={refresh!r}) is neither; pass True, or a function of the arguments"
            )
        if version is not None and not isinstance(version, str):
            raise TypeError(f"CachePolicy(version={version!r}) is no text; write version={str(version)!r}")
        object.__setattr__(self, "ttl", _positive_seconds("ttl", ttl))
        object.__setattr__(self, "key", chosen)
        object.__setattr__(self, "refresh", refresh)
        object.__setattr__(self, "version", version)

    @property
    def key_func(self) -> Callable[..., Any] | None:
        """LangGraph's name of `key`."""
        return self.key


@refusing_others
@dataclass(frozen=True, kw_only=True)
class TimeoutPolicy:
    """How long one attempt of a task may take. The shape is LangGraph's.

    Args:
        run_timeout: seconds, or a `timedelta`, for the whole attempt; default: None, no limit.
        idle_timeout: seconds, or a `timedelta`, without a sign of life; default: None, no limit.
        refresh_on: what counts as a sign of life: every event of the task ("auto", the default), or only an explicit
            `current().heartbeat()` ("heartbeat").

    Raises:
        TypeError: a timeout is no duration.
        ValueError: a timeout isn't greater than 0, or `refresh_on` is another word.
    """

    run_timeout: float | timedelta | None = None
    idle_timeout: float | timedelta | None = None
    refresh_on: Literal["auto", "heartbeat"] = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "run_timeout", _positive_seconds("run_timeout", self.run_timeout))
        object.__setattr__(self, "idle_timeout", _positive_seconds("idle_timeout", self.idle_timeout))
        if self.refresh_on not in ("auto", "heartbeat"):
            raise ValueError(f"refresh_on must be 'auto' or 'heartbeat'. It is {self.refresh_on!r}")

    @classmethod
    def coerce(cls, value: float | timedelta | TimeoutPolicy | None) -> TimeoutPolicy | None:
        """A policy from what `timeout=` takes: a plain duration is a `run_timeout`. None where nothing is limited."""
        policy = value if value is None or isinstance(value, TimeoutPolicy) else cls(run_timeout=value)
        return None if policy is None or (policy.run_timeout, policy.idle_timeout) == (None, None) else policy


def attempt_limit(value: float | timedelta | TimeoutPolicy | None) -> float | TimeoutPolicy | None:
    """What a task's `timeout=` says of an attempt: seconds, or a policy where it has to give signs of life.

    Raises as `timeout_seconds` does.
    """
    if not isinstance(value, TimeoutPolicy):
        return timeout_seconds(value)
    return value if value.idle_timeout is not None else timeout_seconds(value.run_timeout)


def timeout_seconds(value: float | timedelta | None, name: str = "timeout") -> float | None:
    """A `timeout=` in seconds; None means no limit, and so does a century.

    Raises `ValueError` unless it is greater than 0, `TypeError` if it is no duration.
    """
    return _positive_seconds(name, value)


def seconds_of(duration: Any) -> Any:
    """A `timedelta` in seconds; anything else as it is."""
    return duration.total_seconds() if isinstance(duration, timedelta) else duration


_FOR_EVER = 100 * 366 * 86_400
"""Seconds from which on a duration is no limit, as infinity is: neither clocks nor locks can wait for as long."""


def _positive_seconds(name: str, value: float | timedelta | None) -> float | None:
    if value is None:
        return None
    seconds = seconds_of(value)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"{name} must be seconds or a timedelta, not {value!r}; write {name}=30")
    if not seconds > 0:
        raise ValueError(f"{name} must be greater than 0. It is {value!r}; write {name}=None for no limit")
    if seconds >= _FOR_EVER:
        return None
    return float(seconds)


def _require_at_least(name: str, value: Any, least: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {value!r}; write a number of at least {least}")
    if not value >= least:
        raise ValueError(
            f"{name} must be at least {least}, not {value!r}; write a number of at least {least}"
        )


def _require_whole(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number, not {value!r}; write 1 for a single attempt")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {value!r}; write 1 for a single attempt")


def _require_strategy(name: str, value: object, example: str) -> None:
    if value is not None and not callable(value):
        raise TypeError(
            f"RetryPolicy({name}={value!r}) is no tenacity strategy; write {name}={example}, or leave it out"
        )


def _require_retry_on(value: Any) -> None:
    kinds = tuple(value) if isinstance(value, Sequence) else (value,) if isinstance(value, type) else ()
    are_errors = all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds)
    if (kinds and are_errors) or (callable(value) and not kinds):
        return
    raise TypeError(
        f"RetryPolicy(retry_on={value!r}) is no class of errors, no sequence of them and cannot be called; "
        "write retry_on=ConnectionError or retry_on=lambda error: …"
    )
