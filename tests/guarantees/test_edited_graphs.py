"""G2, G9: a graph is edited between a crash and the resume: it goes on or is refused, and nothing is lost silently."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from checkpointers import SqliteSaver
from flowfn import NonDeterminismError
from graph_compat.graph import START, StateGraph
from graph_compat.types import Command, Send

CONFIG: Any = {"configurable": {"thread_id": "job"}}


class State(TypedDict):
    log: Annotated[list[str], operator.add]


class Killed(BaseException): ...


class Graphs:
    """Versions of a graph over one file; a node whose name is in `dying` dies once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.dying: set[str] = set()
        self.ran: list[str] = []

    def record(self, build: Callable[[Graphs], Any], dies: str) -> None:
        """Run a version until the node dies."""
        self.dying = {dies}
        with pytest.raises(Killed):
            self.run(build, {"log": ["in"]})
        self.ran.clear()

    def run(self, build: Callable[[Graphs], Any], given: Any = None) -> list[str]:
        with SqliteSaver(self.folder / "runs.db") as saver:
            log: list[str] = build(self).compile(checkpointer=saver).invoke(given, CONFIG)["log"]
        return log

    def calm(self, build: Callable[[Graphs], Any]) -> list[str]:
        """What a version comes to that nobody kills."""
        log: list[str] = build(self).compile().invoke({"log": ["in"]})["log"]
        return log

    def node(self, name: str) -> Callable[[Any], Any]:
        def run(state: Any) -> Any:
            label = name + state.get("item", "")
            self.ran.append(label)
            if label in self.dying:
                self.dying.remove(label)
                raise Killed
            return {"log": [label]}

        return run

    def drawn(self, *edges: tuple[str, str]) -> Any:
        """A graph of those edges and the nodes that they name."""
        builder: Any = StateGraph(State)
        for name in sorted({name for edge in edges for name in edge} - {START}):
            builder.add_node(name, self.node(name))
        for start, end in edges:
            builder.add_edge(start, end)
        return builder

    def fan(self, worker: str, size: int) -> Any:
        """A graph that sends that many items to a worker."""
        builder: Any = StateGraph(State)
        builder.add_node("split", self.node("split"))
        builder.add_node(worker, self.node(worker))
        builder.add_edge(START, "split")
        items = [Send(worker, {"item": str(number)}) for number in range(size)]
        builder.add_conditional_edges("split", lambda state: items, [worker])
        return builder

    def around(self, *edges: tuple[str, str]) -> Any:
        """A graph whose only node is a graph of those edges."""
        builder: Any = StateGraph(State)
        builder.add_node("inner", self.drawn(*edges).compile())
        builder.add_edge(START, "inner")
        return builder


def chain(graphs: Graphs) -> Any:
    return graphs.drawn((START, "a"), ("a", "b"), ("b", "c"))


def renamed(graphs: Graphs) -> Any:
    return graphs.drawn((START, "a"), ("a", "bee"), ("bee", "c"))


def parallel(graphs: Graphs) -> Any:
    return graphs.drawn((START, "a"), (START, "b"), ("a", "c"), ("b", "c"))


@pytest.fixture
def graphs(tmp_path: Path) -> Graphs:
    return Graphs(tmp_path)


GONE: dict[str, tuple[Any, str, Any]] = {
    "next": (chain, "b", renamed),
    "finished beside it": (parallel, "b", lambda g: g.drawn((START, "a2"), (START, "b"), ("a2", "c"))),
    "sent to": (lambda g: g.fan("work", 3), "work1", lambda g: g.fan("labour", 3)),
    "in a subgraph": (
        lambda g: g.around((START, "a"), ("a", "b")),
        "b",
        lambda g: g.around((START, "a"), ("a", "bee")),
    ),
}


@pytest.mark.parametrize("which", GONE)
def test_a_node_that_is_due_and_gone_is_refused(graphs: Graphs, which: str) -> None:
    """G2, G9: work, and what a finished node wrote, isn't passed over; with the name back the run goes on."""
    before, dies, after = GONE[which]
    graphs.record(before, dies)
    with pytest.raises(NonDeterminismError, match="no longer has"):
        graphs.run(after)
    assert graphs.ran == []
    whole = graphs.run(before)
    assert (graphs.ran[0], whole) == (dies, graphs.calm(before))


def test_a_command_says_where_to_go_on_instead(graphs: Graphs) -> None:
    """G9: the author's word settles what a renamed node stands for."""
    graphs.record(chain, "b")
    assert graphs.run(renamed, Command(goto="bee")) == ["in", "a", "bee", "c"]


def test_a_command_that_went_elsewhere_is_remembered(graphs: Graphs) -> None:
    """G9: killed on the way, the run goes on where the command sent it."""
    graphs.record(chain, "b")
    graphs.dying = {"bee"}
    with pytest.raises(Killed):
        graphs.run(renamed, Command(goto="bee"))
    assert graphs.run(renamed) == ["in", "a", "bee", "c"]


def test_a_new_input_starts_anew(graphs: Graphs) -> None:
    """G9: a thread whose due node is gone takes a new input, which gives up what was due."""
    graphs.record(chain, "b")
    assert graphs.run(renamed, {"log": ["again"]}) == ["in", "a", "again", "a", "bee", "c"]


def test_nodes_behind_what_is_due_may_change(graphs: Graphs) -> None:
    """G9: nodes added, removed and reordered where the run hasn't been yet."""
    graphs.record(chain, "b")
    edited: Any = lambda g: g.drawn((START, "a"), ("a", "x"), ("x", "b"), ("b", "y"), ("y", "z"))  # noqa: E731
    assert graphs.run(edited) == ["in", "a", "b", "y", "z"]


@pytest.mark.parametrize("size", [1, 5])
def test_a_fan_out_keeps_the_items_that_were_sent(graphs: Graphs, size: int) -> None:
    """G1, G2: the recorded items count, whatever the edited code would send; each has its own result."""
    graphs.record(lambda g: g.fan("work", 3), "work1")
    assert graphs.run(lambda g: g.fan("work", size)) == ["in", "split", "work0", "work1", "work2"]
    assert graphs.ran == ["work1"]
