"""Streams of a graph to a blocking consumer: what runs when, and on which thread.

Between supersteps nobody has anything to read, so that the run goes on where its consumer is. What tasks beside each
other come to, and calls inside a node, is shown at once.
"""

import gc
import operator
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event, get_ident
from typing import Annotated, Any, TypedDict

import pytest

from checkpointers import MemorySaver, SqliteSaver
from graph_compat.func import task
from graph_compat.graph import START, StateGraph

PATIENCE = 10.0
"""Seconds for what has to come at once; a test that fails waits so long."""

CONFIG: Any = {"configurable": {"thread_id": "1"}}
MODES = ("values", "updates", "tasks", "checkpoints", "debug")


class State(TypedDict):
    """What ran, in order."""

    ran: Annotated[list[str], operator.add]


@pytest.fixture(params=[MemorySaver, SqliteSaver])
def saver(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    """One in memory, one on SQLite."""
    return MemorySaver() if request.param is MemorySaver else SqliteSaver(tmp_path / "runs.db")


def graph_of(saver: Any, *levels: dict[str, Callable[[], object]]) -> Any:
    """A graph whose supersteps are these: nodes by name, and what each does."""
    builder = StateGraph(State)
    before = [START]
    for level in levels:
        for name, does in level.items():
            builder.add_node(name, noting(name, does))
            for each in before:
                builder.add_edge(each, name)
        before = [*level]
    return builder.compile(checkpointer=saver)


def noting(name: str, does: Callable[[], object]) -> Callable[[State], State]:
    """A node that does something and notes that it ran."""

    def node(state: State) -> State:
        does()
        return {"ran": [name]}

    return node


def nothing() -> None:
    """What most nodes here do."""


def comes(event: Event) -> None:
    """Wait for what the consumer does."""
    assert event.wait(PATIENCE), "what was told before wasn't shown"


def fails() -> None:
    """What a node does that fails."""
    raise ValueError("no")


def begun(graph: Any, mode: Any = "updates") -> Iterator[Any]:
    """A stream of a new run."""
    stream: Iterator[Any] = graph.stream({"ran": []}, CONFIG, stream_mode=mode)
    return stream


@pytest.mark.parametrize("mode", [*MODES, MODES])
def test_it_runs_on_its_consumers_thread(saver: Any, mode: Any) -> None:
    """A way to another thread and back costs more than most supersteps."""
    threads: list[int] = []
    graph = graph_of(saver, *({name: lambda: threads.append(get_ident())} for name in "abc"))
    assert [*begun(graph, [*mode] if isinstance(mode, tuple) else mode)]
    assert threads == [get_ident()] * 3


@pytest.mark.parametrize("mode", ["tasks", "debug"])
def test_a_start_is_shown_before_the_work(saver: Any, mode: str) -> None:
    """So is an error before that of what handles it."""
    ran: list[str] = []

    def fail_after_noting() -> None:
        ran.append("a")
        fails()

    builder = StateGraph(State)
    builder.add_node("a", noting("a", fail_after_noting), error_handler=noting("b", lambda: ran.append("b")))
    builder.add_edge(START, "a")
    seen = []
    for chunk in begun(builder.compile(checkpointer=saver), mode):
        payload = chunk.get("payload", chunk)
        if payload.get("name") == "a":
            seen.append(("error" in payload, [*ran]))
    assert seen == [(False, []), (True, ["a"])]
    assert ran == ["a", "b"]


def test_a_consumers_time_is_not_that_of_a_step(saver: Any) -> None:
    """Where a superstep's time runs out, its run goes on without its consumer."""
    threads: list[int] = []
    graph = graph_of(saver, {"a": lambda: threads.append(get_ident())})
    graph.step_timeout = 600.0
    assert [*begun(graph)]
    assert threads != [get_ident()]


def test_tasks_beside_each_other_are_shown_as_they_end(saver: Any) -> None:
    """The second ends once the first has been seen."""
    seen = Event()
    graph = graph_of(
        saver, {"first": nothing}, {"quick": nothing, "slow": lambda: comes(seen)}, {"last": nothing}
    )
    shown = []
    for chunk in begun(graph):
        shown += chunk
        if "quick" in chunk:
            seen.set()
    assert shown == ["first", "quick", "slow", "last"]


def test_calls_in_a_node_are_shown_at_once_where_others_made_some_before(saver: Any) -> None:
    """Nobody knows beforehand that a node calls tasks; one that follows such a node runs on a worker."""
    seen = Event()

    @task
    def call(name: str) -> str:
        return name

    def calls_and_waits() -> None:
        call("two").result()
        comes(seen)

    graph = graph_of(saver, {"one": lambda: call("one").result()}, {"two": calls_and_waits})
    shown: list[Any] = []
    for chunk in begun(graph):
        shown.append(chunk)
        if chunk == {"call": "two"}:
            seen.set()
    assert shown == [{"call": "one"}, {"one": {"ran": ["one"]}}, {"call": "two"}, {"two": {"ran": ["two"]}}]


def test_leaving_stops_before_the_next_superstep(saver: Any) -> None:
    """What has been shown is kept, and the thread is free to go on from there."""
    graph = graph_of(saver, {"a": nothing}, {"b": nothing})
    for chunk in begun(graph):
        assert [*chunk] == ["a"]
        break
    assert graph.get_state(CONFIG).next == ("b",)
    assert graph.invoke(None, CONFIG) == {"ran": ["a", "b"]}


@pytest.mark.parametrize("names", ["a", "ab"])
def test_leaving_at_a_start_begins_no_work(saver: Any, names: str) -> None:
    """One task's or that of several; whoever goes on begins it."""
    ran: list[str] = []
    graph = graph_of(saver, {name: partial(ran.append, name) for name in names}, {"last": nothing})
    for chunk in begun(graph, "tasks"):
        assert "triggers" in chunk
        break
    assert (ran, sorted(graph.get_state(CONFIG).next)) == ([], [*names])
    assert sorted(graph.invoke(None, CONFIG)["ran"]) == [*names, "last"]


def test_leaving_tasks_beside_each_other_waits_for_them(saver: Any) -> None:
    """Code on threads can't be stopped; the superstep after it doesn't begin."""
    left, ended = Event(), Event()

    def slow() -> None:
        comes(left)
        ended.set()

    graph = graph_of(saver, {"quick": nothing, "slow": slow}, {"last": nothing})
    stream = begun(graph)
    assert [*next(stream)] == ["quick"]
    left.set()
    stream.close()  # type: ignore[attr-defined]
    assert ended.is_set()
    assert sorted(graph.invoke(None, CONFIG)["ran"]) == ["last", "quick", "slow"]


def test_a_stream_that_is_never_begun_runs_nothing(saver: Any) -> None:
    """A stream is a generator: nothing runs before its first chunk is asked for."""
    stream = begun(graph_of(saver, {"a": fails}))
    stream.close()  # type: ignore[attr-defined]
    assert [*saver.list(None)] == []


def test_a_stream_that_is_collected_gives_its_thread_back(saver: Any) -> None:
    """The collector isn't kept waiting, whoever needs the thread next is."""
    graph = graph_of(saver, {"a": nothing}, {"b": nothing})
    stream = begun(graph)
    next(stream)
    cycle: list[Any] = [stream]
    cycle.append(cycle)
    del stream, cycle
    gc.collect()
    assert graph.invoke(None, CONFIG) == {"ran": ["a", "b"]}


def test_its_consumer_may_move_between_threads(saver: Any) -> None:
    """Web servers ask for each chunk on whichever thread is free; what nodes see of the context stays the same."""
    graph = graph_of(saver, *({name: nothing} for name in "abc"))
    stream, shown = begun(graph), []
    for _ in "abc":
        with ThreadPoolExecutor(1) as pool:
            shown += pool.submit(next, stream).result()
    assert shown == ["a", "b", "c"]
    assert [*stream] == []


def test_what_was_shown_before_an_error_comes_first(saver: Any) -> None:
    """Then the error, to the consumer."""
    stream = begun(graph_of(saver, {"a": nothing}, {"b": fails}))
    assert [*next(stream)] == ["a"]
    with pytest.raises(ValueError, match="no"):
        next(stream)
