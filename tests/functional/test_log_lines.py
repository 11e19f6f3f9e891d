"""Logging: lines with the ids of the thread and the task that they belong to."""

import io
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from flowfn import RetryPolicy
from flowfn.logs import RunContext

from ..worlds import World

FORMAT = "%(name)s [%(flowfn_thread)s|%(flowfn_task)s|%(flowfn_attempt)s] %(message)s"


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What is logged, as the handler of a program writes it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(RunContext())
    handler.setFormatter(logging.Formatter(FORMAT))
    root = logging.getLogger()
    root.addHandler(handler)
    yield stream
    root.removeHandler(handler)


def test_a_line_says_where_in_a_run_it_was_logged(world: World, lines: io.StringIO) -> None:
    """Which thread, which task, which attempt; outside of runs nothing."""
    app = logging.getLogger("app")

    @world.task(retry_policy=RetryPolicy(max_attempts=2, initial_interval=0.0, jitter=False))
    async def step(x: int, tries: list[int]) -> None:
        tries.append(x)
        app.warning("trying")
        if len(tries) == 1:
            raise ConnectionError

    @world.entrypoint
    async def flow(x: int) -> None:
        app.warning("begins")
        await world.value(step(x, world.ran))

    app.warning("outside")
    world.invoke(flow, 1, thread_id="t")
    name = flow._self_setup.program.name
    assert lines.getvalue().splitlines() == [
        "app [||] outside",
        f"app [t|{name}|1] begins",
        "app [t|step|1] trying",
        "app [t|step|2] trying",
    ]


def test_a_run_tells_the_log_what_it_does(
    world: World, lines: io.StringIO, caplog: pytest.LogCaptureFixture
) -> None:
    """At the level DEBUG of the logger `flowfn`."""

    @world.task
    async def step(x: int) -> int:
        return x

    @world.entrypoint
    async def flow(x: int) -> Any:
        return await world.value(step(x))

    with caplog.at_level(logging.DEBUG, "flowfn"):
        world.invoke(flow, 1, thread_id="t")
    said = [line for line in lines.getvalue().splitlines() if line.startswith("flowfn [")]
    assert said == [
        f"flowfn [t||] run of {flow._self_setup.name} begins or goes on",
        "flowfn [t|step|] step started",
        "flowfn [t|step|] step finished",
        "flowfn [t||] run ended with a result",
    ]
