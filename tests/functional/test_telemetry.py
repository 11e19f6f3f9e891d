"""OpenTelemetry: spans and metrics of runs, where the program has set it up."""

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from flowfn import RetryPolicy, gather, interrupt
from flowfn.watching import watched_by
from flowfn.watching.telemetry import Telemetry

from ..worlds import World


class Collected:
    """What two providers were sent."""

    def __init__(self) -> None:
        self._spans, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.traces = TracerProvider()
        self.traces.add_span_processor(SimpleSpanProcessor(self._spans))
        self.metrics = MeterProvider([self._reader])

    def watcher(self) -> Telemetry:
        return Telemetry(self.traces, self.metrics)

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        """By name; of several of one name the last to end."""
        return {span.name: span for span in self._spans.get_finished_spans()}

    def parent(self, name: str) -> str | None:
        parent = self.spans[name].parent
        ids = {span.context.span_id: span.name for span in self._spans.get_finished_spans() if span.context}
        return None if parent is None else ids[parent.span_id]

    def counted(self, metric: str) -> dict[tuple[Any, ...], Any]:
        data = self._reader.get_metrics_data()
        assert data is not None
        return {
            tuple(point.attributes.values()): getattr(point, "value", None) or point.count
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for each in scope.metrics
            if each.name == metric
            for point in each.data.data_points
        }


@pytest.fixture
def collected(caplog: pytest.LogCaptureFixture) -> Iterator[Collected]:
    """Fresh providers; OpenTelemetry logs what it is used wrongly for."""
    found = Collected()
    yield found
    found.traces.shutdown()
    found.metrics.shutdown()
    assert [r.getMessage() for r in caplog.records if r.name.startswith("opentelemetry")] == []


def test_spans_are_a_tree(world: World, collected: Collected) -> None:
    """A call's span is under that of the call that made it; so are the spans that its own code makes."""
    tracer = collected.traces.get_tracer("app")

    @world.task
    async def leaf(x: int) -> int:
        with tracer.start_as_current_span(f"own {x}"):
            return x

    @world.task
    async def branch() -> int:
        return sum(await world.value(gather(leaf(1), leaf(2))))

    @world.entrypoint
    async def flow(_: int) -> Any:
        return await world.value(branch())

    with watched_by(collected.watcher()):
        assert world.invoke(flow, 1, thread_id="t") == 3
    run = f"run {flow._self_setup.name}"
    assert collected.parent(run) is None
    assert collected.parent("task branch") == run
    assert collected.parent("task leaf") == "task branch"
    assert [collected.parent(f"own {x}") for x in (1, 2)] == ["task leaf"] * 2
    told = dict(collected.spans["task branch"].attributes or {})
    assert told["flowfn.thread_id"] == "t"
    assert (told["flowfn.status"], told["flowfn.attempts"]) == ("done", 1)
    assert "test_telemetry.py:" in str(told["code.location"])
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_failures_and_retries(world: World, collected: Collected) -> None:
    """The span of a call that failed has the error; each attempt that was followed by another is an event of it."""

    @world.task(retry_policy=RetryPolicy(max_attempts=3, initial_interval=0.0, jitter=False))
    async def flaky() -> None:
        raise ConnectionError("gone")

    @world.entrypoint
    async def flow(_: int) -> Any:
        return await world.value(flaky())

    with watched_by(collected.watcher()), pytest.raises(ConnectionError):
        world.invoke(flow, 1, thread_id="t")
    span = collected.spans["task flaky"]
    assert span.status.description == "ConnectionError: gone"
    assert [event.name for event in span.events] == ["retry", "retry", "exception"]
    name = flow._self_setup.name
    assert collected.counted("flowfn.tasks") == {("flaky", "failed"): 1}
    assert collected.counted("flowfn.retries") == {("flaky",): 2}
    assert collected.counted("flowfn.runs") == {(name, "failed"): 1}
    assert collected.counted("flowfn.run.duration") == {(name, "failed"): 1}


def test_waiting_and_reusing(world: World, collected: Collected) -> None:
    """A run that asks is no error; what is reused afterwards has no span of its own."""

    @world.task
    async def price(item: str) -> int:
        return len(item)

    @world.task
    async def approve(total: int) -> Any:
        return interrupt(total)

    @world.entrypoint
    async def order(item: str) -> Any:
        return await world.value(approve(await world.value(price(item))))

    watchers = [collected.watcher()]
    with watched_by(lambda event: watchers[-1](event)):
        world.invoke(order, "ink", thread_id="t")
        run = f"run {order._self_setup.name}"
        assert dict(collected.spans[run].attributes or {})["flowfn.status"] == "interrupted"
        assert dict(collected.spans["task approve"].attributes or {})["flowfn.status"] == "waiting"
        assert collected.spans["task approve"].status.is_unset
        watchers.append(collected.watcher())
        world.resume(order, "yes", "t")
    assert [event.name for event in collected.spans[run].events] == ["reused"]
    assert collected.counted("flowfn.tasks") == {
        ("price", "done"): 1,
        ("approve", "waiting"): 1,
        ("price", "reused"): 1,
        ("approve", "done"): 1,
    }


def test_nothing_of_the_values_is_sent(world: World, collected: Collected) -> None:
    """Arguments and results may be anybody's secrets."""

    @world.task
    async def shout(text: str) -> str:
        return text.upper()

    @world.entrypoint
    async def flow(text: str) -> Any:
        return await world.value(shout(text))

    with watched_by(collected.watcher()):
        world.invoke(flow, "secret", thread_id="t")
    sent = "".join(span.to_json() for span in collected.spans.values()).lower()
    assert "secret" not in sent


SET_UP = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
"""

RUN = """
import sys
from flowfn import entrypoint, task
double = task(lambda x: 2 * x, name="double")
entrypoint(lambda x: double(x).result(), name="flow")(1)
"""


def test_setting_it_up_is_enough(run_python: Any) -> None:
    """Where the program has named a provider, its runs have spans."""
    done = run_python("-c", SET_UP + RUN + "print([span.name for span in spans.get_finished_spans()])")
    assert (done.stdout, done.stderr) == ("['task double', 'run flow']\n", "")


@pytest.mark.parametrize("before", ["", "import opentelemetry.trace, opentelemetry.metrics"])
def test_without_a_provider_nothing_is_loaded(run_python: Any, before: str) -> None:
    """Section 7: neither where it isn't used, nor where only its API is there."""
    probe = "print(*[name in sys.modules for name in ('opentelemetry', 'opentelemetry.sdk')])"
    done = run_python("-c", before + RUN + probe)
    assert done.stdout.split() == [str(bool(before)), "False"]
