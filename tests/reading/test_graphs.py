"""A graph's run read without its program: its supersteps' nodes, and what was called in them (issue 9)."""

import operator
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from checkpointers import MemorySaver, SqliteSaver
from checkpointers.foreign import adapted
from flowfn import RetryPolicy, entrypoint, task
from flowfn.drawing.journey import journey
from flowfn.drawing.timeline import timeline
from flowfn.history.reading import CallView, Unreadable, view
from flowfn.testing import VirtualClock
from flowfn.watching import watched_by
from flowfn.watching.calls import Heard
from graph_compat.graph import END, START, StateGraph
from graph_compat.types import Command, Send, interrupt

from ..drawing.shapes import arrows
from ..worlds import World


class State(TypedDict):
    found: Annotated[list[Any], operator.add]


@task
def square(number: int) -> int:
    return number * number


def config(thread: str = "t") -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}}


def run_of(saver: Any, thread: str = "t") -> tuple[CallView, ...]:
    row = saver.thread(thread)
    assert row is not None
    return view(saver, row).calls


def outline(calls: tuple[CallView, ...]) -> list[Any]:
    """Nodes as `step name(arguments)`, calls as they are, each with its status and what is under it."""
    return [
        (call.label if call.step is None else f"{call.step} {call.label}", call.status, outline(call.calls))
        for call in calls
    ]


def failing(times: int) -> Callable[[State], State]:
    """A node that fails so many times, and then finds 1."""
    errors = iter([ConnectionError("not yet")] * times)

    def flaky(state: State) -> State:
        for error in errors:
            raise error
        return {"found": [1]}

    return flaky


def graph_of(nodes: dict[str, Any], edges: list[tuple[str, str]], **options: Any) -> Any:
    graph = StateGraph(State)
    for name, node in nodes.items():
        graph.add_node(name, node)
    for edge in edges:
        graph.add_edge(*edge)
    return graph.compile(**options)


def pipeline(saver: Any) -> Any:
    """A node that calls a task and sends twice, what was sent, and a subgraph whose node asks."""

    def ask(state: State) -> State:
        return {"found": [interrupt("sure?")]}

    graph = StateGraph(State)
    graph.add_node("first", lambda state: {"found": [square(3).result()]})
    graph.add_node("work", lambda sent: {"found": [sent["n"]]})
    graph.add_node("inner", graph_of({"ask": ask}, [(START, "ask")]))
    graph.add_edge(START, "first")
    graph.add_conditional_edges("first", lambda state: [Send("work", {"n": n}) for n in range(2)], ["work"])
    graph.add_edge("work", "inner")
    return graph.compile(checkpointer=saver, name="pipeline")


DONE = [
    ("1 first", "done", [("square(number=3)", "done", [])]),
    ("2 work({'n': 0})", "done", []),
    ("2 work({'n': 1})", "done", []),
]


def test_nodes_are_shown_with_what_they_called(world: World) -> None:
    """By superstep; what a Send gave is its node's arguments, and subgraphs and tasks are under their nodes."""
    app = pipeline(world.saver)
    world.do(app, "invoke", {"found": []}, config())
    asks = ("interrupt(value='sure?')", "asked", [])
    inner = ("3 inner", "waiting", [("1 ask", "waiting", [asks])])
    assert outline(run_of(world.saver)) == [*DONE, inner]
    world.do(app, "invoke", Command(resume="yes"), config())
    answered = ("interrupt(value='sure?')", "answered", [])
    assert outline(run_of(world.saver)) == [*DONE, ("3 inner", "done", [("1 ask", "done", [answered])])]
    assert [call.result for call in run_of(world.saver)][:2] == [{"found": [9]}, {"found": [0]}]


@pytest.mark.parametrize("make", [MemorySaver, lambda: adapted(InMemorySaver())], ids=["own", "LangGraph's"])
def test_ids_are_those_of_the_state(make: Any) -> None:
    """So that a node in a picture can be found in a stream or a snapshot, on savers of others too."""
    saver = make()
    app = pipeline(saver)
    app.invoke({"found": []}, config())
    (waiting,) = app.get_state(config()).tasks
    assert run_of(saver)[-1].id == waiting.id
    assert outline(run_of(saver))[:-1] == DONE


def test_the_live_tree_is_the_recorded_one(world: World) -> None:
    """A resumed run puts what it reuses where it was made, in a subgraph too."""
    seen: list[str] = []

    def ask(state: State) -> State:
        seen.append(interrupt("sure?"))
        return {"found": seen}

    nodes = {"ask": ask, "tell": lambda state: {"found": ["told"]}}
    inner = graph_of(nodes, [(START, "ask"), (START, "tell")])
    app = graph_of({"inner": inner}, [(START, "inner")], checkpointer=world.saver)
    ears = [Heard()]
    with watched_by(lambda event: ears[-1](event)):
        world.do(app, "invoke", {"found": []}, config())
        ears.append(Heard())
        world.do(app, "invoke", Command(resume="yes"), config())
    assert outline(ears[0].calls) == [
        ("1 inner", "waiting", [("1 ask", "waiting", []), ("1 tell", "done", [])])
    ]
    assert outline(ears[1].calls) == [("1 inner", "done", [("1 ask", "done", []), ("1 tell", "reused", [])])]


def test_a_run_under_way_shows_what_is_due(world: World) -> None:
    """From the moment that its superstep begins: nothing has to be committed first."""
    seen: list[Any] = []

    def look(state: State) -> State:
        seen.extend(outline(run_of(world.saver)))
        return {"found": []}

    app = graph_of({"look": look, "next": square}, [(START, "look")], checkpointer=world.saver)
    world.do(app, "invoke", {"found": []}, config())
    assert seen == [("1 look", "running", [])]


def test_a_failed_node_has_its_error(world: World) -> None:
    """Its neighbours keep what they came to; the node is what failed the run."""

    def fail(state: State) -> State:
        raise ValueError("no such ink")

    nodes = {"fail": fail, "good": lambda state: {"found": [1]}}
    app = graph_of(nodes, [(START, "good"), (START, "fail")], checkpointer=world.saver)
    with pytest.raises(ValueError, match="no such ink"):
        world.do(app, "invoke", {"found": []}, config())
    row = world.saver.thread("t")
    assert row is not None
    shown = view(world.saver, row)
    failed = next(call for call in shown.calls if call.name == "fail")
    assert (failed.status, str(failed.result), str(shown.error)) == ("failed", "no such ink", "no such ink")


def test_a_breakpoint_leaves_a_node_due() -> None:
    """It hasn't begun, so it neither waits nor is in doubt."""
    saver = MemorySaver()
    nodes = {"one": lambda state: {"found": [1]}, "two": lambda state: {"found": [2]}}
    app = graph_of(nodes, [(START, "one"), ("one", "two")], checkpointer=saver, interrupt_before=["two"])
    app.invoke({"found": []}, config())
    assert outline(run_of(saver)) == [("1 one", "done", []), ("2 two", "due", [])]
    app.invoke(None, config())
    assert outline(run_of(saver)) == [("1 one", "done", []), ("2 two", "done", [])]


def test_a_node_of_a_loop_is_shown_each_time() -> None:
    """With the calls that it made that time, which are alike; and a subgraph that remembers with what it did then."""
    saver = MemorySaver()
    inner = StateGraph(State)
    inner.add_node("add", lambda state: {"found": [square(2).result()]})
    inner.add_edge(START, "add")
    graph = StateGraph(State)
    graph.add_node("again", lambda state: {"found": [square(2).result()]})
    graph.add_node("inner", inner.compile(checkpointer=True))
    graph.add_edge(START, "again")
    graph.add_edge("again", "inner")
    graph.add_conditional_edges("inner", lambda state: END if len(state["found"]) > 4 else "again")
    graph.compile(checkpointer=saver).invoke({"found": []}, config())
    called = ("square(number=2)", "done", [])
    assert outline(run_of(saver)) == [
        ("1 again", "done", [called]),
        ("2 inner", "done", [("1 add", "done", [called])]),
        ("3 again", "done", [called]),
        ("4 inner", "done", [("4 add", "done", [called])]),
    ]
    assert len({call.id for call in run_of(saver)}) == 4


def test_attempts_and_times_are_kept() -> None:
    """A node that was retried says how often; one that takes no time began with its superstep."""
    saver = MemorySaver()
    graph = StateGraph(State)
    graph.add_node("flaky", failing(2), retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
    graph.add_node("quick", lambda state: {"found": []})
    graph.add_edge(START, "flaky")
    graph.add_edge("flaky", "quick")
    graph.compile(checkpointer=saver).invoke({"found": []}, config())
    slow, quick = run_of(saver)
    assert (slow.attempts, quick.attempts) == (3, 1)
    assert slow.seconds is not None
    assert slow.seconds >= 0.002
    assert (quick.started or 0.0) >= (
        slow.started or 0.0
    ) + slow.seconds - 1e-5  # times are kept in microseconds


def test_a_node_that_is_retried_in_no_time_says_how_often() -> None:
    """What ends at once has no row for its time, unless it took several attempts."""
    saver = MemorySaver()
    graph = StateGraph(State)
    graph.add_node("flaky", failing(2), retry_policy=RetryPolicy(initial_interval=0.0, jitter=False))
    graph.add_edge(START, "flaky")
    with VirtualClock():
        graph.compile(checkpointer=saver).invoke({"found": []}, config())
    (node,) = run_of(saver)
    assert (node.attempts, node.seconds) == (3, 0.0)


def test_times_are_no_writes_of_the_program() -> None:
    """LangGraph's tools that list what a task wrote aren't told of them."""
    saver = MemorySaver()
    graph = StateGraph(State)
    graph.add_node("flaky", failing(1), retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
    graph.add_edge(START, "flaky")
    graph.compile(checkpointer=saver).invoke({"found": []}, config())
    written = [write for found in saver.list(config()) for write in found.pending_writes or ()]
    assert {channel for _, channel, _ in written} == {"found", "branch:to:flaky"}


def test_whatever_handled_an_error_is_shown() -> None:
    """Beside the node whose error it was."""
    saver = MemorySaver()

    def fail(state: State) -> State:
        raise ValueError("no such ink")

    graph = StateGraph(State)
    graph.add_node("fail", fail, error_handler=lambda state: {"found": ["mended"]})
    graph.add_edge(START, "fail")
    graph.compile(checkpointer=saver).invoke({"found": []}, config())
    assert outline(run_of(saver)) == [("1 fail", "failed", []), ("1 node_error_handler(fail)", "done", [])]


def test_a_node_that_a_command_went_to_is_shown() -> None:
    """It was due by no edge, and so no checkpoint had named it."""
    saver = MemorySaver()
    nodes = {
        "ask": lambda state: {"found": [interrupt("sure?")]},
        "aside": lambda state: {"found": ["aside"]},
        "sent": lambda sent: {"found": [sent]},
    }
    app = graph_of(nodes, [(START, "ask")], checkpointer=saver)
    app.invoke({"found": []}, config())
    app.invoke(Command(resume="yes", goto=["aside", Send("sent", 7)]), config())
    names = sorted(call.label for call in run_of(saver))
    assert names == ["aside", "ask", "sent(7)"]


def test_a_graph_whose_state_is_one_value_has_nodes() -> None:
    """What is its own only node is an entrypoint, and no graph is."""
    saver = MemorySaver()
    graph = StateGraph(int)
    graph.add_node("double", lambda number: 2 * number)
    graph.add_edge(START, "double")
    heard = Heard()
    with watched_by(heard):
        graph.compile(checkpointer=saver).invoke(4, config())
    assert outline(run_of(saver)) == outline(heard.calls) == [("1 double", "done", [])]


def test_all_workflows_that_a_call_ran_are_under_it() -> None:
    """The second and the third as the first."""
    saver = MemorySaver()
    single = entrypoint(lambda number: square(number).result(), name="single")
    several = task(lambda: single(1) + single(2) + single(3), name="several")
    app = graph_of(
        {"node": lambda state: {"found": [several().result()]}}, [(START, "node")], checkpointer=saver
    )
    app.invoke({"found": []}, config())
    ((_, _, ((_, _, below),)),) = outline(run_of(saver))
    assert [label for label, _, _ in below] == [f"single(number={n})" for n in (1, 2, 3)]


def test_what_only_the_program_can_restore_hides_nothing_else() -> None:
    """G5: a Send of an unknown type has no arguments to show, and its node is there all the same."""
    saver = MemorySaver()
    app = pipeline(saver)
    app.invoke({"found": []}, config())
    loads, serde = saver.serde.loads, saver.serde

    class Partly:
        dumps = staticmethod(serde.dumps)

        @staticmethod
        def loads(data: bytes) -> Any:
            value = loads(data)
            if isinstance(value, list) and value and isinstance(value[0], Send):
                from flowfn import UntrustedTypeError

                raise UntrustedTypeError("app.Parcel")
            return value

    saver.serde = Partly()
    assert [call.label for call in run_of(saver)] == ["first", "work", "work", "inner"]
    assert not isinstance(run_of(saver)[1].result, Unreadable)


def test_pictures_follow_the_edges_that_were_taken() -> None:
    """An edge leads from the node that chose it, over supersteps in between where it waits for several."""
    saver = MemorySaver()
    graph = StateGraph(State)
    for name in ("long", "longer", "short", "join"):
        graph.add_node(name, lambda state: {"found": [square(1).result()]})
    graph.add_edge(START, "long")
    graph.add_edge(START, "short")
    graph.add_edge("long", "longer")
    graph.add_edge(["longer", "short"], "join")
    graph.compile(checkpointer=saver).invoke({"found": []}, config())
    row = saver.thread("t")
    assert row is not None
    shown = view(saver, row)
    assert arrows(journey(shown)) == [
        "__start__ -> long",
        "__start__ -> short",
        "long -> longer",
        "short -> join",
        "longer -> join",
        "join -> __end__",
    ]
    lines = [(line.label, line.depth) for line in timeline(shown).lines]
    assert lines[lines.index(("long", 0)) + 1] == ("square(number=1)", 1)


def test_only_the_last_run_of_a_thread_is_read(tmp_path: Path) -> None:
    """A graph that is called again on its thread, on what it remembers."""
    with SqliteSaver(tmp_path / "runs.db") as saver:
        app = graph_of({"one": lambda state: {"found": [1]}}, [(START, "one")], checkpointer=saver)
        app.invoke({"found": []}, config())
        app.invoke({"found": []}, config())
        assert outline(run_of(saver)) == [("4 one", "done", [])]


KILLED = """
import os, signal
from graph_compat.graph import START, StateGraph
from checkpointers import SqliteSaver

def die(state):
    os.kill(os.getpid(), signal.SIGKILL)

graph = StateGraph(dict)
graph.add_node("first", lambda state: {"one": 1})
graph.add_node("die", die)
graph.add_edge(START, "first")
graph.add_edge("first", "die")
graph.compile(checkpointer=SqliteSaver("runs.db")).invoke({}, {"configurable": {"thread_id": "t"}})
"""


def test_a_killed_run_shows_the_node_that_it_died_in(tmp_path: Path) -> None:
    """G3: it is in doubt, though nothing had been committed of it."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", KILLED], cwd=tmp_path, env={"PYTHONPATH": str(root)}, check=False
    )
    assert done.returncode == -9
    with SqliteSaver(tmp_path / "runs.db") as saver:
        assert outline(run_of(saver)) == [("1 first", "done", []), ("2 die", "in_doubt", [])]
