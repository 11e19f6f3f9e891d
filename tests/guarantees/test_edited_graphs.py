"""G2, G9: a graph is edited between a crash and the resume: it goes on or is refused, and nothing is lost silently."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from checkpointers import MemorySaver, SqliteSaver
from flowfn import NonDeterminismError
from graph_compat.channels.last_value import LastValueAfterFinish
from graph_compat.graph import START, StateGraph
from graph_compat.types import Command, Send, StateUpdate, interrupt

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

    def joined(
        self, *sources: str, into: str = "c", first: tuple[str, ...] = ("a", "b"), defer: bool = False
    ) -> Any:
        """A graph of nodes that follow the start, of `b → b2`, and of a join of `sources` into a node."""
        builder: Any = StateGraph(State)
        for name in sorted({*first, "b2"}):
            builder.add_node(name, self.node(name))
        builder.add_node(into, self.node(into), defer=defer)
        for name in first:
            builder.add_edge(START, name)
        builder.add_edge("b", "b2")
        builder.add_edge(list(sources), into)
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

    def sending(self, worker: str) -> Any:
        """A graph of two nodes that run at once, of which the first sends an item to a worker."""
        builder: Any = StateGraph(State)
        for name in ("a", "b", worker):
            builder.add_node(name, self.node(name))
        builder.add_edge(START, "a")
        builder.add_edge(START, "b")
        builder.add_conditional_edges("a", lambda state: [Send(worker, {"item": "1"})], [worker])
        return builder

    def last(self, defer: bool) -> Any:
        """A graph of two nodes, one after the other."""
        builder: Any = StateGraph(State)
        builder.add_node("a", self.node("a"))
        builder.add_node("c", self.node("c"), defer=defer)
        builder.add_edge(START, "a")
        builder.add_edge("a", "c")
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


def fork(graphs: Graphs) -> Any:
    return graphs.drawn((START, "a"), (START, "b"), ("a", "x"), ("b", "y"))


def join(graphs: Graphs) -> Any:
    return graphs.joined("a", "b2")


@pytest.fixture
def graphs(tmp_path: Path) -> Graphs:
    return Graphs(tmp_path)


GONE: dict[str, tuple[Any, str, Any]] = {
    "next": (chain, "b", renamed),
    "finished beside it": (parallel, "b", lambda g: g.drawn((START, "a2"), (START, "b"), ("a2", "c"))),
    "sent to": (lambda g: g.fan("work", 3), "work1", lambda g: g.fan("labour", 3)),
    "after one that has finished": (fork, "b", lambda g: g.drawn((START, "a"), (START, "b"), ("a", "z"))),
    "sent to by one that has finished": (
        lambda g: g.sending("x"),
        "b",
        lambda g: g.sending("z"),
    ),
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


JOINS: dict[str, Callable[[Graphs], Any]] = {
    "a source is renamed": lambda g: g.joined("z", "b2", first=("z", "b")),
    "a source is added": lambda g: g.joined("a", "b2", "z", first=("a", "b", "z")),
    "a source is removed": lambda g: g.joined("b2"),
    "the sources are reordered": lambda g: g.joined("b2", "a"),
    "its node is renamed": lambda g: g.joined("a", "b2", into="z"),
    "it is removed": lambda g: g.drawn((START, "a"), (START, "b"), ("b", "b2")),
    "it became an edge": lambda g: g.drawn((START, "a"), (START, "b"), ("b", "b2"), ("b2", "c")),
}


@pytest.mark.parametrize("dies", ["b", "b2", "c"])
@pytest.mark.parametrize("which", JOINS)
def test_a_join_at_which_nodes_have_arrived_is_not_passed_over(graphs: Graphs, which: str, dies: str) -> None:
    """G2, G9: where one source arrived before the edit, or beside the crash, the run neither ends without the join's
    node nor runs it early: it is refused, and goes on once the join is back."""
    graphs.record(join, dies)
    with pytest.raises(NonDeterminismError, match=r"the join of a\+b2 into 'c', which .* no longer has"):
        graphs.run(JOINS[which])
    assert graphs.ran == []
    assert graphs.run(join) == graphs.calm(join)


def meeting(*edges: Any) -> Callable[[Graphs], Any]:
    """A graph of a, of b → b2, and of those edges, joins among them."""

    def build(graphs: Graphs) -> Any:
        builder = graphs.drawn((START, "a"), (START, "b"), ("b", "b2"))
        for name in sorted({end for _, end in edges}):
            builder.add_node(name, graphs.node(name))
        for start, end in edges:
            builder.add_edge(start, end)
        return builder

    return build


AFTER_B2 = meeting(("b2", "c"))
BOTH = meeting((["a", "b2"], "c"))

ADDED: dict[str, tuple[Callable[[Graphs], Any], Callable[[Graphs], Any], str, str]] = {
    "the source ran": (AFTER_B2, BOTH, "b2", "a"),
    "the source has finished beside the crash": (AFTER_B2, BOTH, "b", "a"),
    "an edge becomes a join": (meeting(("a", "c"), ("b2", "c")), BOTH, "b2", "a"),
    "a join has another source, and nobody has arrived": (
        meeting((["b2", "c"], "d"), ("b2", "c")),
        meeting((["a", "b2", "c"], "d"), ("b2", "c")),
        "b2",
        "a",
    ),
    "a join is there beside another one": (
        meeting((["a", "b"], "c"), ("b2", "d")),
        meeting((["a", "b"], "c"), (["a", "b2"], "d")),
        "b2",
        "a",
    ),
}


@pytest.mark.parametrize("which", ADDED)
def test_a_join_that_its_source_has_run_past_is_refused(graphs: Graphs, which: str) -> None:
    """G2, G9: it would wait for the source for ever, and its node be left out; as it was, the graph goes on."""
    before, after, dies, passed = ADDED[which]
    graphs.record(before, dies)
    with pytest.raises(
        NonDeterminismError, match=rf"would wait for ever, at the join of .* for '{passed}', which"
    ):
        graphs.run(after)
    assert graphs.ran == []
    assert sorted(graphs.run(before)) == sorted(graphs.calm(before))


def test_a_join_may_be_told_who_has_run(graphs: Graphs) -> None:
    """G9: an update in the names of those who ran lets them arrive, and the run goes on with the edited graph."""
    graphs.record(AFTER_B2, "b2")
    with SqliteSaver(graphs.folder / "runs.db") as saver:
        ran = [StateUpdate({"log": []}, as_node=name) for name in "ab"]
        BOTH(graphs).compile(checkpointer=saver).bulk_update_state(CONFIG, [ran])
    assert graphs.run(BOTH) == ["in", "a", "b", "b2", "c"]


HARMLESS: dict[str, tuple[Callable[[Graphs], Any], Callable[[Graphs], Any], str]] = {
    "of nodes that are still to run": (
        AFTER_B2,
        meeting(("b2", "c"), ("b2", "d"), (["c", "d"], "e")),
        "b2",
    ),
    "of edges that have led to its node": (meeting(("b2", "c")), meeting((["b", "b2"], "c")), "c"),
    "behind one that is as it was": (BOTH, meeting((["a", "b2"], "c"), (["b2", "c"], "d")), "b"),
}


@pytest.mark.parametrize("which", HARMLESS)
def test_a_join_that_nobody_has_run_past_may_be_added(graphs: Graphs, which: str) -> None:
    """G9: its sources arrive when they run, or its node runs as it would have."""
    before, after, dies = HARMLESS[which]
    graphs.record(before, dies)
    assert sorted(graphs.run(after)) == sorted(graphs.calm(after))


def test_a_join_is_added_in_a_later_turn(graphs: Graphs) -> None:
    """G9: who ran before the last input has nothing to do with it."""
    graphs.run(AFTER_B2, {"log": ["in"]})
    graphs.dying = {"a", "b"}
    with pytest.raises(Killed):
        graphs.run(AFTER_B2, {"log": ["again"]})
    graphs.dying.clear()
    assert graphs.run(BOTH)[-4:] == ["a", "b", "b2", "c"]


def test_whoever_may_have_run_past_a_join_counts(graphs: Graphs) -> None:
    """G2, G9: with durability `exit` no checkpoint says who ran, and an edited join is refused."""

    class Broken(Exception): ...

    def build(edges: Any) -> Any:
        builder = meeting(*edges)(graphs)
        builder.add_node("last", breaks)
        builder.add_edge("b2", "last")
        return builder

    def breaks(state: Any) -> Any:
        raise Broken

    with SqliteSaver(graphs.folder / "runs.db") as saver:
        with pytest.raises(Broken):
            build([("b2", "c")]).compile(checkpointer=saver).invoke({"log": []}, CONFIG, durability="exit")
        with pytest.raises(
            NonDeterminismError, match="the join of a\\+b2 into 'c' for 'a', 'b2', which may have run"
        ):
            build([(["a", "b2"], "c")]).compile(checkpointer=saver).invoke(None, CONFIG)


def test_a_join_that_was_given_up_stays_so(graphs: Graphs) -> None:
    """G9: after a command, a new input or an update of the state, a crash brings the old join up no more."""
    edited: Any = JOINS["its node is renamed"]
    graphs.record(join, "b2")
    graphs.dying = {"z"}
    with pytest.raises(Killed):
        graphs.run(edited, Command(goto="z"))
    assert graphs.run(edited)[-1] == "z"
    graphs.record(join, "b2")
    graphs.dying = {"b2"}
    with pytest.raises(Killed):
        graphs.run(edited, {"log": ["again"]})
    assert graphs.run(edited)[-2:] == ["b2", "z"]


@pytest.mark.parametrize("dies", ["b2", "c"])
@pytest.mark.parametrize("defer", [True, False])
def test_a_join_may_be_deferred_half_way(graphs: Graphs, defer: bool, dies: str) -> None:
    """G9: `defer=` says when its node runs, and not whether; what was due is due."""
    graphs.record(lambda g: g.joined("a", "b2", defer=defer), dies)
    assert graphs.run(lambda g: g.joined("a", "b2", defer=not defer)) == ["in", "a", "b", "b2", "c"]


@pytest.mark.parametrize("defer", [True, False])
def test_a_node_may_be_deferred_half_way(graphs: Graphs, defer: bool) -> None:
    """G9: an edge into it likewise."""
    graphs.record(lambda g: g.last(defer), "c")
    assert graphs.run(lambda g: g.last(not defer)) == ["in", "a", "c"]


def test_a_key_whose_kind_changes_is_refused(graphs: Graphs) -> None:
    """G9: what one kind of channel stored and another can't hold is an error that names the key."""

    def keyed(kind: Any) -> Any:
        builder: Any = StateGraph(TypedDict("Keyed", {"count": kind}))
        builder.add_node("a", lambda state: None)
        builder.add_edge(START, "a")
        return builder.compile(checkpointer=saver)

    with SqliteSaver(graphs.folder / "runs.db") as saver:
        keyed(int).invoke({"count": 5}, CONFIG)
        with pytest.raises(NonDeterminismError, match="'count' was stored as 5"):
            keyed(Annotated[int, LastValueAfterFinish]).invoke(None, CONFIG)


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


def _refusing(left: list[str], right: list[str]) -> list[str]:
    if "typo" in right:
        raise ValueError("typo is refused")
    return left + right


class Refusing(TypedDict):
    log: Annotated[list[str], _refusing]


def _asking(state: Any, saver: Any) -> Any:
    builder = StateGraph(state)
    builder.add_node("ask", lambda state: {"log": [interrupt("?")]})
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=saver)


def _commanded() -> Any:
    """A graph that refuses what a command has written to its thread."""
    saver = MemorySaver()
    before = _asking(State, saver)
    before.invoke({"log": ["in"]}, CONFIG)
    before.invoke(Command(update={"log": ["typo"]}), CONFIG)
    return _asking(Refusing, saver)


def test_who_goes_on_from_a_command_that_is_refused_is_told() -> None:
    """G2: what a command wrote isn't left out of a run that goes on from it."""
    with pytest.raises(ValueError, match="typo is refused"):
        _commanded().invoke(Command(resume="yes"), CONFIG)


def test_a_thread_with_a_command_that_is_refused_is_seen_and_mended(caplog: pytest.LogCaptureFixture) -> None:
    """G9: it is shown without it, a log line says so, and an update takes its place."""
    graph = _commanded()
    assert graph.get_state(CONFIG).values == {"log": ["in"]}
    assert "what a command wrote is left out" in caplog.text
    graph.update_state(CONFIG, {"log": ["right"]})
    graph.invoke(None, CONFIG)
    assert graph.invoke(Command(resume="yes"), CONFIG) == {"log": ["in", "right", "yes"]}


def test_a_new_input_does_without_a_command_that_is_refused() -> None:
    """G9: the thread isn't closed to new inputs."""
    graph = _commanded()
    assert graph.invoke({"log": ["again"]}, CONFIG)["log"] == ["in", "again"]
