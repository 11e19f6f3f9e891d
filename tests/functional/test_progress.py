"""Progress: a live tree of a run's calls, where somebody would see it."""

import io
import re
import sys
from threading import Barrier
from types import ModuleType
from typing import Any

import pytest

from flowfn import CachePolicy, MemoryCache, RetryPolicy, entrypoint, interrupt, task
from flowfn.events import RunEnded, RunStarted, TaskFinished
from flowfn.history.reading import CallView
from flowfn.watching import watched_by
from flowfn.watching.calls import Heard
from flowfn.watching.progress import NotebookScreen, screen

from ..worlds import World


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True

    @property
    def text(self) -> str:
        """What was written, without its colours."""
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.getvalue())


def outline(calls: tuple[CallView, ...]) -> list[Any]:
    return [(call.name, call.status, outline(call.calls)) for call in calls]


def heard_of(world: World, workflow: Any, *given: Any, **options: Any) -> Heard:
    heard = Heard()
    with watched_by(heard):
        world.invoke(workflow, *given, **options)
    return heard


def test_every_state_of_a_call_is_shown(world: World) -> None:
    """Done, cached, waiting, then reused; calls are under the calls that made them, arguments beside them."""

    @world.task
    async def price(item: str) -> int:
        return len(item)

    @world.task(cache_policy=CachePolicy())
    async def rate(code: str) -> int:
        return 2

    @world.task
    async def total(items: list[str]) -> int:
        return sum([await world.value(price(item)) for item in items]) * await world.value(rate("EUR"))

    @world.task
    async def approve(amount: int) -> str:
        return str(interrupt(f"{amount}?"))

    @world.entrypoint(cache=MemoryCache())
    async def order(items: list[str]) -> Any:
        amount = await world.value(total(items))
        await world.value(rate("EUR"))
        return await world.value(approve(amount))

    heard, again = Heard(), Heard()
    ears = [heard]
    with watched_by(lambda event: ears[-1](event)):
        world.invoke(order, ["ink"], thread_id="t")
        ears.append(again)
        world.resume(order, "yes", "t")
    assert (heard.workflow, heard.thread, heard.status) == (order._self_setup.name, "t", "interrupted")
    assert outline(heard.calls) == [
        ("total", "done", [("price", "done", []), ("rate", "done", [])]),
        ("rate", "cached", []),
        ("approve", "waiting", []),
    ]
    assert heard.calls[0].arguments == "items=['ink']"
    assert [question.value for question in heard.questions] == ["6?"]
    assert (again.status, outline(again.calls)) == (
        "done",
        [("total", "reused", []), ("rate", "reused", []), ("approve", "done", [])],
    )


def test_retries_and_failures_are_shown(world: World) -> None:
    """An attempt that failed is followed by its number; the last one's error is there."""
    seen: list[tuple[str, int]] = []

    @world.task(retry_policy=RetryPolicy(max_attempts=2, initial_interval=0.0, jitter=False))
    async def flaky() -> None:
        raise ConnectionError("gone")

    @world.entrypoint
    async def flow(_: int) -> Any:
        return await world.value(flaky())

    heard = Heard()

    def hear(event: Any) -> None:
        heard(event)
        seen.extend((call.status, call.attempts) for call in heard.calls)

    with watched_by(hear), pytest.raises(ConnectionError):
        world.invoke(flow, 1)
    assert ("retried", 2) in seen
    (call,) = heard.calls
    assert (heard.status, call.status, call.attempts, str(call.result)) == ("failed", "failed", 2, "gone")


def test_a_nested_workflow_is_under_its_call(world: World) -> None:
    """Its own node isn't shown twice."""

    @world.task
    async def leaf(x: int) -> int:
        return x

    @world.entrypoint
    async def inner(x: int) -> Any:
        return await world.value(leaf(x))

    @world.entrypoint
    async def outer(x: int) -> Any:
        found = inner(x)
        return await found if world.is_async else found

    assert outline(heard_of(world, outer, 1).calls) == [("inner", "done", [("leaf", "done", [])])]


def test_one_argument_shows_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`@entrypoint(progress=True)`, or `progress` in a call's config; on stderr, how it ended stays there."""
    double = task(lambda x: 2 * x, name="double")
    shows = entrypoint(progress=True, name="shows")(lambda x: double(x).result())
    quiet = entrypoint(name="quiet")(lambda x: double(x).result())
    for run, name in ((lambda: shows(1), "shows"), (lambda: quiet.invoke(1, {"progress": True}), "quiet")):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        assert run() == 2
        lines = terminal.text.splitlines()
        assert any(name in line and "done" in line for line in lines)
        assert any("double(x=1)" in line and "done" in line for line in lines)
    assert capsys.readouterr().out == ""


def test_quiet_where_nobody_would_see_it(capsys: pytest.CaptureFixture[str]) -> None:
    """A stderr that is no terminal gets nothing, and rich isn't asked for."""
    shows = entrypoint(progress=True, name="shows")(lambda x: x)
    assert shows(1) == 1
    assert capsys.readouterr() == ("", "")
    assert screen() == []


def test_many_calls_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more than a dozen of one caller those that ended are one line, so that what runs stays in sight."""
    double = task(lambda x: 2 * x, name="double")
    many = entrypoint(progress=True, name="many")(lambda n: sum(f.result() for f in map(double, range(n))))
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert many(50) == 2450
    lines = [line.strip("├─└ ") for line in terminal.text.splitlines()]
    assert "double: 38 calls  done" in lines
    assert any(line.startswith("double(x=49)  done") for line in lines)


def test_a_notebook_shows_one_picture_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of the cell is made once, and written anew; the last picture is of the run as it ended."""
    shown: list[dict[str, str]] = []

    class Handle:
        def update(self, bundle: dict[str, str], raw: bool) -> None:
            shown.append(bundle)

    def display(bundle: dict[str, str], raw: bool, display_id: bool) -> Handle:
        shown.append(bundle)
        return Handle()

    module: Any = ModuleType("IPython.display")
    module.display = display
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    notebook = NotebookScreen(lambda: 0.0)
    notebook(RunStarted("", "t", "app.flow"))
    notebook(RunEnded("", "t", 5))
    assert [bundle["text/plain"].split("  ")[:2] for bundle in shown] == [
        ["app.flow", "running"],
        ["app.flow", "done"],
    ]
    assert "<pre>" in shown[-1]["text/html"]


def test_a_watcher_that_fails_is_told_no_more(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The run goes on, and the log says why nothing is shown."""
    told: list[Any] = []

    def watch(event: Any) -> None:
        told.append(event)
        raise OSError("no screen")

    @world.entrypoint
    async def flow(x: int) -> int:
        return x

    with watched_by(watch):
        assert world.invoke(flow, 1) == 1
    assert len(told) == 1
    assert "is told no more" in caplog.text


def test_a_watcher_may_fail_on_two_threads_at_once(caplog: pytest.LogCaptureFixture) -> None:
    """Two calls end side by side, and neither the run nor the log hears of it twice."""
    both = Barrier(2)

    def watch(event: Any) -> None:
        if isinstance(event, TaskFinished):
            both.wait(60)
            raise OSError("no screen")

    @task
    def double(n: int) -> int:
        return 2 * n

    @entrypoint
    def flow(n: int) -> list[int]:
        return [each.result() for each in [double(1), double(2)]]

    with watched_by(watch):
        assert flow(1) == [2, 4]
    assert caplog.text.count("is told no more") == 1


def test_nodes_of_a_graph_are_shown() -> None:
    """Each with the calls that it made; what no author wrote isn't."""
    from typing import TypedDict

    from graph_compat.graph import END, START, StateGraph

    double = task(lambda x: 2 * x, name="double")

    class State(TypedDict):
        x: int

    def step(state: State) -> dict[str, int]:
        return {"x": double(state["x"]).result()}

    graph: Any = StateGraph(State).add_node(step).add_edge(START, "step").add_edge("step", END)
    heard = Heard()
    with watched_by(heard):
        assert graph.compile().invoke({"x": 1}) == {"x": 2}
    assert outline(heard.calls) == [("step", "done", [("double", "done", [])])]
