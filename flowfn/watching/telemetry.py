"""Spans and metrics of runs, for a program that has set OpenTelemetry up.

Rule: who hasn't pays nothing: no module of OpenTelemetry's is imported here before the program has imported it and
named a provider. Values and arguments stay out of what is sent; names, ids, places in the code and errors are in it.

| span | from | attributes, beside `flowfn.thread_id` and `flowfn.status` |
|---|---|---|
| `run WORKFLOW` | `RunStarted` to `RunEnded` | `flowfn.workflow` |
| `task NAME`, `node NAME` | `TaskStarted` to `TaskFinished` | `flowfn.task`, `.task_id`, `.attempts`, `code.location` |

Reused calls and retries are events of the span that they happened in.

| metric | counts |
|---|---|
| `flowfn.runs` | runs that ended, by workflow and status |
| `flowfn.tasks` | calls that ended or were reused, by task and status |
| `flowfn.retries` | attempts that failed and were followed by another, by task |
| `flowfn.run.duration`, `flowfn.task.duration` | seconds |
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.errors import Signal, Suspended
from flowfn.events import (
    Event,
    NodeReused,
    RunEnded,
    RunStarted,
    TaskFinished,
    TaskRetried,
    TaskReused,
    TaskStarted,
)
from flowfn.pregel.program import HIDDEN
from flowfn.python.loaded import loaded
from flowfn.watching.calls import around, is_shown

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, MeterProvider
    from opentelemetry.trace import Span, TracerProvider

    from flowfn.engine.calls.call import Call
    from flowfn.watching import Watcher

__all__ = ["Telemetry", "telemetry"]

NAME = "flowfn"


def telemetry() -> list[Watcher]:
    """What sends spans and metrics of a run that begins now; nothing where no provider has been named."""
    providers = (
        _named("opentelemetry.trace", "get_tracer_provider"),
        _named("opentelemetry.metrics", "get_meter_provider"),
    )
    return [Telemetry(*providers)] if any(providers) else []


def _named(module: str, getter: str) -> Any:
    """The provider that the program has named; None where there is but the API's own, which does nothing."""
    api = loaded(module)
    provider = None if api is None else getattr(api, getter)()
    return None if provider is None or type(provider).__module__.startswith(module) else provider


class _Instruments(NamedTuple):
    runs: Counter
    tasks: Counter
    retries: Counter
    run_duration: Histogram
    task_duration: Histogram


@lru_cache(maxsize=8)
def _instruments(provider: MeterProvider) -> _Instruments:
    meter = provider.get_meter(NAME)
    return _Instruments(
        meter.create_counter("flowfn.runs", "{run}", "Runs that ended"),
        meter.create_counter("flowfn.tasks", "{call}", "Calls that ended or were reused"),
        meter.create_counter("flowfn.retries", "{attempt}", "Attempts that were followed by another"),
        meter.create_histogram("flowfn.run.duration", "s", "Duration of runs"),
        meter.create_histogram("flowfn.task.duration", "s", "Duration of calls, retries included"),
    )


class _Open(NamedTuple):
    """A run or a call under way: its span, what takes it out of the context again, and when it began."""

    span: Span
    token: Any
    began: float


class Telemetry:
    """Tells providers of one run; either may be None."""

    def __init__(
        self,
        traces: TracerProvider | None,
        metrics: MeterProvider | None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        from opentelemetry.trace import NoOpTracer

        self._tracer = NoOpTracer() if traces is None else traces.get_tracer(NAME)
        self._instruments = None if metrics is None else _instruments(metrics)
        self._clock = clock
        self._thread = ""
        self._workflow = ""
        self._run: _Open | None = None
        self._calls: dict[Call, _Open] = {}

    def __call__(self, event: Event) -> None:
        """Hear an event of the run."""
        hear = _HEARD.get(type(event))
        if hear is not None:
            hear(self, event)

    # -- runs -----------------------------------------------------------------------------------

    def _run_started(self, event: RunStarted) -> None:
        self._thread, self._workflow = event.thread, event.workflow
        named = {"flowfn.workflow": event.workflow, "flowfn.thread_id": event.thread}
        span = self._tracer.start_span(f"run {event.workflow}", attributes=named)
        self._run = _Open(span, _attached(span), self._clock())

    def _run_ended(self, event: RunEnded) -> None:
        if self._run is None:
            return
        status = _status_of(event.error) if event.error else "interrupted" if event.interrupts else "done"
        took = self._close(self._run, status, event.error)
        if self._instruments is not None:
            named = {"flowfn.workflow": self._workflow, "flowfn.status": status}
            self._instruments.runs.add(1, named)
            self._instruments.run_duration.record(took, named)

    # -- calls ----------------------------------------------------------------------------------

    def _task_started(self, event: TaskStarted) -> None:
        call = event.call
        if not is_shown(call):
            return
        from opentelemetry.trace import set_span_in_context

        kind = "task" if call.node is None else "node"
        named = {
            "flowfn.task": call.definition.name,
            "flowfn.task_id": call.id,
            "flowfn.thread_id": self._thread,
            "code.location": call.site,
        }
        context = set_span_in_context(self._span_around(call))
        span = self._tracer.start_span(f"{kind} {call.definition.name}", context, attributes=named)
        token = _attached(span) if call.node is None else None  # a node runs in another context than this
        self._calls[call] = _Open(span, token, self._clock())

    def _task_finished(self, event: TaskFinished) -> None:
        call, error = event.call, event.error
        opened = self._calls.pop(call, None)
        if opened is None:
            return
        status = _status_of(error) if error is not None else "cached" if call.from_cache else "done"
        opened.span.set_attribute("flowfn.attempts", call.attempts)
        took = self._close(opened, status, error)
        self._count(call.definition.name, status)
        if self._instruments is not None:
            named = {"flowfn.task": call.definition.name, "flowfn.status": status}
            self._instruments.task_duration.record(took, named)

    def _task_retried(self, event: TaskRetried) -> None:
        name = event.call.definition.name
        opened = self._calls.get(event.call)
        if opened is not None:
            opened.span.add_event(
                "retry",
                {
                    "flowfn.attempt": event.attempt,
                    "flowfn.delay": event.delay,
                    "exception.type": type(event.error).__qualname__,
                    "exception.message": str(event.error),
                },
            )
        if self._instruments is not None:
            self._instruments.retries.add(1, {"flowfn.task": name})

    def _task_reused(self, event: TaskReused) -> None:
        call = event.call
        named = {"flowfn.task": call.definition.name, "flowfn.task_id": call.id}
        self._span_around(call).add_event("reused", named)
        self._count(call.definition.name, "reused")

    def _node_reused(self, event: NodeReused) -> None:
        if HIDDEN in event.task.node.tags:
            return
        if self._run is not None:
            self._run.span.add_event("reused", {"flowfn.task": event.task.name, "flowfn.task_id": event.id})
        self._count(event.task.name, "reused")

    # -- what they share ------------------------------------------------------------------------

    def _span_around(self, call: Call) -> Span:
        """The span of the nearest call around a call that has one, else that of the run."""
        caller = around(call)
        while caller is not None:
            if caller in self._calls:
                return self._calls[caller].span
            caller = around(caller)
        from opentelemetry.trace import INVALID_SPAN

        return INVALID_SPAN if self._run is None else self._run.span

    def _close(self, opened: _Open, status: str, error: BaseException | None) -> float:
        """End a span; the seconds that it took."""
        from opentelemetry.context import detach
        from opentelemetry.trace import Status, StatusCode

        span = opened.span
        span.set_attribute("flowfn.status", status)
        if status == "failed" and error is not None:
            span.record_exception(error)
            span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
        span.end()
        if opened.token is not None:
            detach(opened.token)
        return self._clock() - opened.began

    def _count(self, task: str, status: str) -> None:
        if self._instruments is not None:
            self._instruments.tasks.add(1, {"flowfn.task": task, "flowfn.status": status})


_HEARD: dict[type, Callable[[Telemetry, Any], None]] = {
    RunStarted: Telemetry._run_started,
    RunEnded: Telemetry._run_ended,
    TaskStarted: Telemetry._task_started,
    TaskFinished: Telemetry._task_finished,
    TaskRetried: Telemetry._task_retried,
    TaskReused: Telemetry._task_reused,
    NodeReused: Telemetry._node_reused,
}


def _status_of(error: BaseException) -> str:
    if isinstance(error, Suspended):
        return "waiting"
    return "failed" if isinstance(error, Exception) and not isinstance(error, Signal) else "cancelled"


def _attached(span: Span) -> Any:
    """Make a span the current one, so that those of the code that runs now are under it."""
    from opentelemetry.context import attach
    from opentelemetry.trace import set_span_in_context

    return attach(set_span_in_context(span))
