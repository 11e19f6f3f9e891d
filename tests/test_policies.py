"""Retry, timeout and cache policies: what they decide, without a clock."""

from __future__ import annotations

import asyncio
import builtins
import re
import subprocess
import sys
import types
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import tenacity
from hypothesis import given
from hypothesis import strategies as st

from flowfn.errors import Cancelled, Suspended, TaskTimeout
from flowfn.policies import (
    CachePolicy,
    RetryPolicy,
    TimeoutPolicy,
    default_retry_on,
    delay_after,
    fitting,
    policies_of,
    timeout_seconds,
)
from graph_compat.graph import StateGraph


class Flaky(Exception):
    """An error of unknown kind."""


class Fatal(Exception):
    """An error that nobody retries."""


def delays(policy: RetryPolicy, error: BaseException, attempts: int = 10) -> list[float | None]:
    """What the policy answers after each of the first attempts."""
    return [policy.next_delay(attempt, error, attempt * 1.0) for attempt in range(1, attempts + 1)]


class TestDelays:
    """How long to wait, and when to give up."""

    def test_waits_grow_up_to_the_longest(self) -> None:
        """`initial_interval * backoff_factor ** (n - 1)`, at most `max_interval`; None after the last."""
        policy = RetryPolicy(
            initial_interval=1, backoff_factor=3, max_interval=10, max_attempts=5, jitter=False
        )
        assert delays(policy, Flaky(), 6) == [1.0, 3.0, 9.0, 10.0, None, None]

    def test_the_default_tries_three_times(self) -> None:
        """`max_attempts` counts the first attempt."""
        found = delays(RetryPolicy(jitter=False), Flaky(), 4)
        assert found == [0.5, 1.0, None, None]

    @given(st.integers(1, 500), st.floats(0, 100), st.floats(1, 10), st.floats(0, 1000))
    def test_jitter_adds_up_to_a_second(self, attempt: int, first: float, factor: float, most: float) -> None:
        """LangGraph's jitter: added to the wait, after its limit; no attempt number overflows."""
        policy = RetryPolicy(first, factor, most, max_attempts=1000)
        plain = RetryPolicy(first, factor, most, max_attempts=1000, jitter=False)
        base = plain.next_delay(attempt, Flaky(), 0)
        jittered = policy.next_delay(attempt, Flaky(), 0)
        assert base is not None
        assert jittered is not None
        assert 0 <= base <= most
        assert base <= jittered <= base + 1

    def test_a_wait_of_tenacity_replaces_the_intervals(self) -> None:
        """`wait=` takes any tenacity strategy, sums included."""
        policy = RetryPolicy(wait=tenacity.wait_fixed(2) + tenacity.wait_incrementing(start=1, increment=1))
        assert delays(policy, Flaky(), 3) == [3.0, 4.0, None]

    def test_a_stop_of_tenacity_replaces_the_number_of_attempts(self) -> None:
        """`stop=` sees the time since the first attempt, and the wait to come."""
        later = RetryPolicy(stop=tenacity.stop_after_delay(6), wait=tenacity.wait_fixed(1))
        before = RetryPolicy(stop=tenacity.stop_before_delay(6), wait=tenacity.wait_fixed(2))
        assert delays(later, Flaky(), 7) == [1.0, 1.0, 1.0, 1.0, 1.0, None, None]
        assert delays(before, Flaky(), 5) == [2.0, 2.0, 2.0, None, None]

    def test_strategies_see_the_error(self) -> None:
        """A wait may depend on what the server asked for."""
        policy = RetryPolicy(wait=lambda state: state.outcome.exception().args[0])
        assert policy.next_delay(1, Flaky(7), 0) == 7.0

    def test_waiting_nothing_is_not_giving_up(self) -> None:
        """0 seconds and None are two answers."""
        assert RetryPolicy(initial_interval=0, jitter=False).next_delay(1, Flaky(), 0) == 0.0


class TestRetryOn:
    """Which errors are retried."""

    @pytest.mark.parametrize(
        "retry_on",
        [
            Flaky, [Flaky, KeyError], (Flaky,), lambda error: isinstance(error, Flaky),
            tenacity.retry_if_exception_type(Flaky),
            tenacity.retry_if_exception(lambda error: isinstance(error, Flaky)),
            tenacity.retry_if_exception_message("again") | tenacity.retry_if_exception_type(Flaky),
        ],
        ids=["class", "list", "tuple", "predicate", "retry_if_type", "retry_if", "retry_any"],
    )  # fmt: skip
    def test_it_takes_classes_predicates_and_tenacity(self, retry_on: Any) -> None:
        """A class, several, a predicate, or a strategy of tenacity."""
        policy = RetryPolicy(retry_on=retry_on, jitter=False)
        assert (policy.next_delay(1, Flaky(), 0), policy.next_delay(1, Fatal(), 0)) == (0.5, None)

    def test_the_first_policy_that_matches_decides(self) -> None:
        """Of several policies; attempts are counted across them."""
        policies = [
            RetryPolicy(retry_on=KeyError, jitter=False),
            RetryPolicy(initial_interval=5, retry_on=(KeyError, Flaky), max_attempts=2, jitter=False),
        ]
        asked = [(1, KeyError()), (2, KeyError()), (1, Flaky()), (2, Flaky()), (1, Fatal())]
        found = [(fitting(policies, attempt, error, 0), attempt, error) for attempt, error in asked]
        delays = [policy and delay_after(policy, attempt, error, 0) for policy, attempt, error in found]
        assert delays == [0.5, 1.0, 5.0, None, None]
        assert [policy and policies.index(policy) for policy, _, _ in found] == [0, 0, 1, 1, None]
        assert fitting([], 1, Flaky(), 0) is None

    @pytest.mark.parametrize(
        "signal", [Suspended(), Cancelled(), KeyboardInterrupt(), asyncio.CancelledError()]
    )
    def test_signals_are_never_retried(self, signal: BaseException) -> None:
        """G8: control flow is no failure, whatever the predicate says."""
        assert RetryPolicy(retry_on=lambda error: True).next_delay(1, signal, 0) is None

    @pytest.mark.parametrize(
        "error",
        [
            ValueError(), TypeError(), ZeroDivisionError(), ImportError(), KeyError(), NameError(),
            SyntaxError(),
            RuntimeError(), ReferenceError(), StopIteration(), StopAsyncIteration(), OSError(),
            TimeoutError(), FileNotFoundError(),
        ],
        ids=lambda error: type(error).__name__,
    )  # fmt: skip
    def test_by_default_errors_of_the_program_are_not_retried(self, error: Exception) -> None:
        """An error of the program itself would come again, and so isn't retried by default."""
        assert not default_retry_on(error)

    @pytest.mark.parametrize(
        "error",
        [ConnectionError(), ConnectionResetError(), Flaky(), AssertionError(), TaskTimeout()],
        ids=lambda error: type(error).__name__,
    )
    def test_by_default_other_errors_are_retried(self, error: Exception) -> None:
        """Lost connections, timeouts of tasks, and errors of unknown kind."""
        assert default_retry_on(error)

    @pytest.mark.parametrize(("status", "expected"), [(404, False), (429, False), (500, True), (503, True)])
    def test_by_default_http_errors_are_retried_if_the_server_is_at_fault(
        self, status: int, expected: bool
    ) -> None:
        """A real `Response` of requests is false for every error, so that nobody may test its truth."""
        requests, httpx = pytest.importorskip("requests"), pytest.importorskip("httpx")
        response = requests.Response()
        response.status_code = status
        request = httpx.Request("GET", "https://example.com")
        errors = [
            requests.HTTPError(response=response),
            httpx.HTTPStatusError("", request=request, response=httpx.Response(status)),
        ]
        assert [default_retry_on(error) for error in errors] == [expected, expected]

    def test_an_http_error_without_a_response_is_not_retried(self) -> None:
        """Nothing says that the server is at fault."""
        requests = pytest.importorskip("requests")
        assert not default_retry_on(requests.HTTPError())

    def test_deciding_imports_no_http_client(self) -> None:
        """Policies know clients through `sys.modules`; tenacity comes with the first failure only."""
        program = (
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "from flowfn.policies import RetryPolicy, default_retry_on\n"
            "policy = RetryPolicy()\n"
            "assert 'tenacity' not in sys.modules\n"
            "assert policy.next_delay(1, Exception(), 0)\n"
            "assert not {'requests', 'httpx'} & sys.modules.keys()\n"
        )
        subprocess.run([sys.executable, "-c", program, str(Path(__file__).parents[1])], check=True)


class TestValidation:
    """A policy that makes no sense is refused where it is written."""

    @pytest.mark.parametrize(
        ("fields", "error", "message"),
        [
            ({"max_attempts": 0}, ValueError, "max_attempts=…) must be at least 1, not 0"),
            ({"max_attempts": 1.5}, TypeError, "max_attempts=…) must be a whole number, not 1.5"),
            ({"initial_interval": -1}, ValueError, "initial_interval=…) must be at least 0, not -1"),
            ({"max_interval": "1"}, TypeError, "max_interval=…) must be a number, not '1'"),
            ({"backoff_factor": float("nan")}, ValueError, "backoff_factor=…) must be at least 0, not nan"),
            ({"retry_on": 3}, TypeError, "RetryPolicy(retry_on=3) is no class of errors"),
            ({"retry_on": [int]}, TypeError, "is no class of errors"),
            ({"retry_on": int}, TypeError, "is no class of errors"),
            ({"retry_on": []}, TypeError, "is no class of errors"),
            ({"wait": 3}, TypeError, "RetryPolicy(wait=3) is no tenacity strategy"),
            ({"stop": 3}, TypeError, "write stop=tenacity.stop_after_delay(60)"),
        ],
    )
    def test_retry_policies(self, fields: dict[str, Any], error: type[Exception], message: str) -> None:
        """The message names the field, shows the value and says what to write."""
        with pytest.raises(error) as caught:
            RetryPolicy(**fields)
        assert message in str(caught.value)

    @pytest.mark.parametrize("value", [0, -1, timedelta(0), float("nan")])
    def test_durations_are_positive(self, value: Any) -> None:
        """A timeout of nothing would fail every call."""
        calls: list[Any] = [
            timeout_seconds, CachePolicy, lambda given: TimeoutPolicy(run_timeout=given),
            lambda given: TimeoutPolicy(idle_timeout=given),
        ]  # fmt: skip
        for call, name in zip(calls, ["timeout", "ttl", "run_timeout", "idle_timeout"], strict=True):
            with pytest.raises(ValueError, match=f"{name} must be greater than 0"):
                call(value)

    @pytest.mark.parametrize("value", ["3", True, [1]])
    def test_durations_are_numbers(self, value: Any) -> None:
        """A duration is a number of seconds or a `timedelta`: no text, flag or list."""
        with pytest.raises(TypeError, match="timeout must be seconds or a timedelta"):
            timeout_seconds(value)


class TestTimeouts:
    """How long an attempt may take."""

    def test_a_timeout_is_seconds_or_a_timedelta_or_none(self) -> None:
        """A timeout is seconds or a `timedelta`; None is no limit."""
        assert [timeout_seconds(each) for each in (None, 3, timedelta(minutes=2))] == [None, 3.0, 120.0]

    @pytest.mark.parametrize("long", [float("inf"), 1e10, timedelta.max])
    def test_a_century_is_no_limit(self, long: Any) -> None:
        """No clock and no lock counts as far."""
        assert timeout_seconds(long) is None
        assert TimeoutPolicy(run_timeout=long) == TimeoutPolicy()
        assert CachePolicy(ttl=long) == CachePolicy()

    def test_a_plain_duration_bounds_the_run(self) -> None:
        """`timeout=5` is `TimeoutPolicy(run_timeout=5)`."""
        policy = TimeoutPolicy(idle_timeout=timedelta(seconds=1))
        assert TimeoutPolicy.coerce(timedelta(seconds=5)) == TimeoutPolicy(run_timeout=5)
        assert (TimeoutPolicy.coerce(policy), TimeoutPolicy.coerce(None)) == (policy, None)
        assert policy.idle_timeout == 1.0

    def test_a_sign_of_life_is_named(self) -> None:
        """`refresh_on` takes one of two words."""
        with pytest.raises(ValueError, match=r"refresh_on must be 'auto' or 'heartbeat'. It is 'never'"):
            TimeoutPolicy(refresh_on="never")  # type: ignore[arg-type]


class TestCachePolicy:
    """Reuse across runs."""

    def test_a_cached_result_is_kept_for_ever_by_default(self) -> None:
        """Under the digest of the arguments."""
        policy = CachePolicy()
        assert (policy.ttl, policy.key) == (None, None)

    def test_a_time_to_live_is_kept_in_seconds(self) -> None:
        """A time to live, given as a number or a `timedelta`, is kept in seconds."""
        assert [CachePolicy(60).ttl, CachePolicy(ttl=timedelta(hours=1)).ttl] == [60.0, 3600.0]

    def test_key_func_is_another_name_of_key(self) -> None:
        """LangGraph's users write `key_func=`."""
        assert CachePolicy(key_func=len) == CachePolicy(key=len)
        assert CachePolicy(key=len).key_func is len

    @pytest.mark.parametrize("fields", [{"key": 3}, {"key_func": "id"}, {"key": len, "key_func": len}])
    def test_a_key_is_one_function(self, fields: dict[str, Any]) -> None:
        """`key=` takes one function, under one of its names, and anything else is refused."""
        with pytest.raises(TypeError, match="CachePolicy"):
            CachePolicy(**fields)

    def test_policies_cannot_be_changed(self) -> None:
        """One policy serves many tasks."""
        with pytest.raises(AttributeError):
            CachePolicy().ttl = 3  # type: ignore[misc]
        with pytest.raises(AttributeError):
            RetryPolicy().jitter = False  # type: ignore[misc]


def test_a_client_that_only_looks_like_one_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module named `requests` may be anything."""
    monkeypatch.setitem(sys.modules, "requests", types.ModuleType("requests"))
    assert default_retry_on(Flaky())


def test_policies_come_alone_or_in_a_list() -> None:
    """What is none is refused where a task or a node is made, with what to write."""
    one = RetryPolicy()
    assert (policies_of(None), policies_of(one), policies_of([one, one])) == ((), (one,), (one, one))
    wrong: Any
    for wrong in (3, [3]):
        with pytest.raises(
            TypeError, match=r"retry_policy=3: write RetryPolicy\(max_attempts=3\), or a list"
        ):
            policies_of(wrong)
        graph = StateGraph(dict).add_node("a", lambda state: state, retry_policy=wrong).set_entry_point("a")
        with pytest.raises(TypeError, match="retry_policy=3: write"):
            graph.compile()


def test_the_docstring_says_what_is_tried_again_by_default() -> None:
    """Whoever writes `RetryPolicy()` has no other place to learn that a `TimeoutError` isn't."""
    _, _, never = str(RetryPolicy.__doc__).partition("but nothing that is")
    told = re.findall(r"`(\w+Error)`", never.partition("wait:")[0])
    assert "TimeoutError" in told
    kinds = [getattr(builtins, name) for name in told]
    assert [kind for kind in kinds if default_retry_on(kind())] == []
    assert default_retry_on(ConnectionError())
    assert default_retry_on(TaskTimeout("late"))


def test_a_policy_whose_options_have_names_says_so() -> None:
    """The first one is named."""
    with pytest.raises(TypeError, match=r"takes its options by name: write TimeoutPolicy\(run_timeout=30\)"):
        TimeoutPolicy(30)  # type: ignore[misc]
