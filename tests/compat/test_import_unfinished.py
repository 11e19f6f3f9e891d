"""`flowfn import-langgraph`: threads that LangGraph left in the middle of a step go on here."""

from __future__ import annotations

import operator
import sqlite3
import types
from pathlib import Path
from typing import Annotated, Any, TypedDict

import langgraph.channels
import langgraph.func
import langgraph.graph
import langgraph.types
import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

import graph_compat.func
import graph_compat.graph
import graph_compat.types
from checkpointers import MemorySaver
from graph_compat.importing import Imported, import_threads, serializer

ONE: Any = {"configurable": {"thread_id": "1"}}
THEIRS = types.SimpleNamespace(**{**vars(langgraph.graph), **vars(langgraph.types), **vars(langgraph.func)})
OURS = types.SimpleNamespace(
    **{**vars(graph_compat.graph), **vars(graph_compat.types), **vars(graph_compat.func)}
)


class State(TypedDict):
    xs: Annotated[list[Any], operator.add]


class Moved:
    """A thread that LangGraph ran until it stopped, and flowfn goes on with; `ran` is what ran here."""

    def __init__(self, folder: Path, make: Any, *commands: Any, given: Any = None) -> None:
        source, before = folder / "old.db", list[Any]()
        with SqliteSaver.from_conn_string(str(source)) as saver:
            app = make(THEIRS, saver, before)
            self.asked = app.invoke({"xs": []} if given is None else given, ONE)
            for command in commands:
                self.asked = app.invoke(THEIRS.Command(resume=command), ONE)
        saver = MemorySaver()
        (self.imported,) = import_threads(source, saver, serializer())
        self.saver = saver
        self.ran: list[Any] = []
        self.app = make(OURS, saver, self.ran)

    def answer(self, value: Any) -> Any:
        return self.app.invoke(OURS.Command(resume=value), ONE)


def beside(lib: Any, saver: Any, ran: list[Any]) -> Any:
    """Nodes that have finished, two of them sent for, beside one that asks."""

    graph = lib.StateGraph(State)
    graph.add_node("b", lambda state: ran.append("b") or {"xs": ["b"]})
    graph.add_node("sent", lambda given: ran.append(given) or {"xs": [given]})
    graph.add_node("ask", lambda state: {"xs": [lib.interrupt("ok?")]})
    graph.add_node("last", lambda state: ran.append("last") or {"xs": ["last"]})
    graph.add_conditional_edges(lib.START, lambda _: ["b", "ask", lib.Send("sent", 1), lib.Send("sent", 2)])
    graph.add_edge("b", "last")
    return graph.compile(checkpointer=saver)


def test_finished_nodes_do_not_run_again(tmp_path: Path) -> None:
    """What they wrote is applied with the answer; what follows them runs."""
    moved = Moved(tmp_path, beside)
    assert moved.imported == Imported("1", checkpoints=2, waiting=1)
    assert moved.app.get_state(ONE).next == ("ask",)
    assert moved.answer("yes")["xs"] == ["yes", "b", 1, 2, "last"]
    assert moved.ran == ["last"]


def two(lib: Any, saver: Any, ran: list[Any]) -> Any:
    graph = lib.StateGraph(State)
    graph.add_node("a", lambda state: {"xs": [lib.interrupt("a?")]})
    graph.add_node("b", lambda state: {"xs": [lib.interrupt("b?")]})
    graph.add_edge(lib.START, "a").add_edge(lib.START, "b")
    return graph.compile(checkpointer=saver)


def test_a_question_keeps_its_id(tmp_path: Path) -> None:
    """So that whoever was asked under LangGraph can answer here."""
    moved = Moved(tmp_path, two)
    ids = {each.value: each.id for each in moved.asked["__interrupt__"]}
    with pytest.raises(RuntimeError, match="2 questions wait"):
        moved.answer("plain")
    assert moved.answer({ids["b?"]: "B", ids["a?"]: "A"})["xs"] == ["A", "B"]


def stopped(lib: Any, saver: Any, ran: list[Any]) -> Any:
    graph = lib.StateGraph(State)
    graph.add_node("a", lambda state: ran.append("a") or {"xs": ["a"]})
    graph.add_node("b", lambda state: ran.append("b") or {"xs": ["b"]})
    graph.add_edge(lib.START, "a").add_edge("a", "b")
    return graph.compile(checkpointer=saver, interrupt_before=["b"])


def test_a_thread_that_has_nodes_to_run_is_shown_as_running(tmp_path: Path) -> None:
    """Whoever looks for threads that haven't ended finds it; it goes on with the next node."""
    moved = Moved(tmp_path, stopped)
    assert [thread.status for thread in moved.saver.threads()] == ["running"]
    assert moved.app.invoke(None, ONE)["xs"] == ["a", "b"]
    assert moved.ran == ["b"]


def joined(lib: Any, saver: Any, ran: list[Any]) -> Any:
    graph = lib.StateGraph(State)
    for name in ("a", "b", "last"):
        graph.add_node(name, lambda state, name=name: ran.append(name) or {"xs": [name]})
    graph.add_edge(lib.START, "a").add_edge(lib.START, "b").add_edge(["a", "b"], "last")
    return graph.compile(checkpointer=saver, interrupt_before=["last"])


def test_a_thread_that_stands_at_a_join_goes_on(tmp_path: Path) -> None:
    """LangGraph stores which nodes have arrived as a set."""
    moved = Moved(tmp_path, joined)
    assert moved.app.invoke(None, ONE)["xs"] == ["a", "b", "last"]
    assert moved.ran == ["last"]


def test_a_thread_with_a_delta_channel_is_left_behind(tmp_path: Path) -> None:
    """Its checkpoints don't have the channel's value, and what was written in past steps doesn't come along."""

    class Kept(TypedDict):
        xs: Annotated[list[Any], langgraph.channels.DeltaChannel(lambda xs, writes: sum(writes, xs))]

    source = tmp_path / "old.db"
    with SqliteSaver.from_conn_string(str(source)) as saver:
        graph = langgraph.graph.StateGraph(Kept).add_node("a", lambda state: {"xs": ["a"]})
        app = graph.add_edge(langgraph.graph.START, "a").compile(checkpointer=saver)
        assert app.invoke({"xs": ["i"]}, ONE) == {"xs": ["i", "a"]}
    (imported,) = import_threads(source, MemorySaver(), serializer())
    assert (imported.checkpoints, "'xs'" in str(imported.problem)) == (0, True)


def nested(lib: Any, saver: Any, ran: list[Any]) -> Any:
    """A question two graphs down, behind a node that has finished."""
    graph: Any = None
    for name in ("inner", "middle", "outer"):
        asks = lambda state: {"xs": [lib.interrupt("deep?")]}  # noqa: E731
        builder = lib.StateGraph(State)
        builder.add_node("before", lambda state, name=name: ran.append(name) or {"xs": []})
        builder.add_node("below", graph if graph is not None else asks)
        builder.add_edge(lib.START, "before").add_edge("before", "below")
        graph = builder.compile(checkpointer=saver if name == "outer" else None)
    return graph


def test_a_graph_in_a_graph_goes_on_where_it_was(tmp_path: Path) -> None:
    """Its namespace bears the id that its node has here."""
    moved = Moved(tmp_path, nested)
    assert moved.imported.waiting == 1
    assert moved.answer("yes")["xs"] == ["yes"]
    assert moved.ran == []


def remembering(lib: Any, saver: Any, ran: list[Any]) -> Any:
    """A subgraph with a memory of its own, whose namespace has no ids."""
    below = lib.StateGraph(State)
    below.add_node("before", lambda state: ran.append("before") or {"xs": ["x"]})
    below.add_node("ask", lambda state: {"xs": [lib.interrupt("ok?")]})
    below.add_edge(lib.START, "before").add_edge("before", "ask")
    graph = lib.StateGraph(State).add_node("below", below.compile(checkpointer=True))
    return graph.add_edge(lib.START, "below").compile(checkpointer=saver)


def test_a_graph_with_a_memory_goes_on_too(tmp_path: Path) -> None:
    """What it had done isn't done again."""
    moved = Moved(tmp_path, remembering)
    assert moved.answer("yes")["xs"] == ["x", "yes"]
    assert moved.ran == []


def twice(lib: Any, saver: Any, ran: list[Any]) -> Any:
    """A node that asks the same for two things."""
    graph = lib.StateGraph(State)
    graph.add_node("ask", lambda state: {"xs": [lib.interrupt("sure?"), lib.interrupt("sure?")]})
    return graph.add_edge(lib.START, "ask").compile(checkpointer=saver)


def test_no_answer_reaches_another_question(tmp_path: Path) -> None:
    """G2: where a question was answered before, which one is open is known by position alone: both are asked again."""
    moved = Moved(tmp_path, twice, "first")
    assert moved.imported == Imported("1", checkpoints=2, questions=1)
    assert moved.app.invoke(None, ONE)["__interrupt__"][0].value == "sure?"
    assert moved.answer("one")["__interrupt__"][0].value == "sure?"
    assert moved.answer("two")["xs"] == ["one", "two"]


def order(lib: Any, saver: Any, ran: list[Any]) -> Any:
    @lib.task
    def pay(n: int) -> int:
        ran.append(n)
        return n

    @lib.entrypoint(checkpointer=saver)
    def order(n: int) -> Any:
        return pay(n).result(), lib.interrupt("send?")

    return order


def test_an_entrypoints_question_waits_and_its_tasks_run_again(tmp_path: Path) -> None:
    """LangGraph knows a task's result by the position of its call alone."""
    moved = Moved(tmp_path, order, given=7)
    assert moved.imported == Imported("1", checkpoints=1, waiting=1, tasks=1)
    assert moved.answer("yes") == (7, "yes")
    assert moved.ran == [7]


def within(lib: Any, saver: Any, ran: list[Any]) -> Any:
    @lib.task
    def ask(n: int) -> Any:
        return lib.interrupt(n)

    graph = lib.StateGraph(State).add_node("a", lambda state: {"xs": [ask(1).result()]})
    return graph.add_edge(lib.START, "a").compile(checkpointer=saver)


def test_a_question_of_a_task_is_asked_again(tmp_path: Path) -> None:
    """Which call of the task asked it isn't known."""
    moved = Moved(tmp_path, within)
    assert moved.imported == Imported("1", checkpoints=2, questions=1)
    assert moved.app.invoke(None, ONE)["__interrupt__"][0].value == 1
    assert moved.answer("yes")["xs"] == ["yes"]


def test_files_without_paths_are_read(tmp_path: Path) -> None:
    """LangGraph's earlier files: all of the step runs and asks again."""
    db = tmp_path / "old.db"
    with SqliteSaver.from_conn_string(str(db)) as saver:
        beside(THEIRS, saver, []).invoke({"xs": []}, ONE)
    connection = sqlite3.connect(db)
    connection.execute("ALTER TABLE writes DROP COLUMN task_path")
    connection.close()
    (imported,) = import_threads(db, MemorySaver(), serializer())
    assert imported == Imported("1", checkpoints=2, questions=1, tasks=3)
