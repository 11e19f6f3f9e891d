"""Checkpoints that nobody's work is lost without are committed with others, unless somebody could tell."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest

from flowfn.ports import CheckpointRow, Commit
from graph_compat.errors import InvalidUpdateError
from graph_compat.graph import END, START, StateGraph

from ..worlds import World

CONFIG = {"configurable": {"thread_id": "t"}}


class State(TypedDict):
    x: Annotated[list[str], operator.add]


def graph(world: World, **options: Any) -> Any:
    """A graph of one node, `n`."""
    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("n", lambda state: {"x": ["n"]})
    builder.set_entry_point("n")
    return builder.compile(checkpointer=world.saver, **options)


@pytest.fixture
def commits(world: World, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The sources of the checkpoints of each commit."""
    made: list[list[str]] = []
    commit = world.saver.commit

    def noted(commits: list[Commit], *, wait: bool = True) -> Any:
        refusals = commit(commits, wait=wait)
        made.extend([row.source for row in one.items if isinstance(row, CheckpointRow)] for one in commits)
        return refusals

    monkeypatch.setattr(world.saver, "commit", noted)
    return made


def test_an_input_is_committed_with_the_checkpoint_before_the_first_node(
    world: World, commits: list[list[str]]
) -> None:
    """Nothing but the engine runs between the two, so one commit is enough."""
    world.invoke(graph(world), {"x": ["given"]}, CONFIG, durability="sync")
    assert [made for made in commits if made] == [["input", "loop"], ["loop"]]


def test_an_input_is_committed_before_code_of_the_authors_sees_it(
    world: World, commits: list[list[str]]
) -> None:
    """A router at START is such code: what it is called with is durable."""
    seen: list[list[list[str]]] = []

    def route(state: State) -> str:
        seen.append([made for made in commits if made])
        return "n"

    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("n", lambda state: {"x": ["n"]})
    builder.add_conditional_edges(START, route, ["n"])
    world.invoke(builder.compile(checkpointer=world.saver), {"x": ["given"]}, CONFIG, durability="sync")
    assert seen == [[["input"]]]


def test_an_input_that_the_state_does_not_take_is_there_to_be_looked_at(world: World) -> None:
    """The run fails before its first checkpoint after it, and says where it stands."""
    app = graph(world)
    with pytest.raises(InvalidUpdateError):
        world.invoke(app, "no state", CONFIG)
    assert [kept.metadata["source"] for kept in world.history(app, "t")] == ["input"]


def test_a_breakpoint_before_the_first_node_keeps_the_input(world: World) -> None:
    """G1: the run that waits there can be resumed."""
    app = graph(world, interrupt_before=["n"])
    world.invoke(app, {"x": ["given"]}, CONFIG)
    assert world.invoke(app, None, CONFIG)["x"] == ["given", "n"]


@pytest.mark.parametrize("durability", ["async", "exit"])
def test_an_input_is_kept_under_any_durability(world: World, durability: str) -> None:
    """The history is the same."""
    app = graph(world)
    world.invoke(app, {"x": ["given"]}, CONFIG, durability=durability)
    sources = [kept.metadata["source"] for kept in world.history(app, "t")]
    assert sources == (["loop", "loop", "input"] if durability == "async" else ["loop"])


def test_an_input_that_is_watched_is_durable_before_it_is_shown(
    world: World, commits: list[list[str]]
) -> None:
    """G1: whoever streams may look the checkpoint up."""
    world.stream(graph(world), {"x": ["given"]}, CONFIG, durability="sync")
    assert [made for made in commits if made] == [["input"], ["loop"], ["loop"]]


def nested(world: World, *after: Any, **options: Any) -> Any:
    """A graph whose node is a graph of two, followed by nodes of its own."""
    inner: StateGraph[Any] = StateGraph(State)
    for name in ("one", "two"):
        inner.add_node(name, lambda state, name=name: {"x": [name]})
    inner.set_entry_point("one")
    inner.add_edge("one", "two")
    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("inner", inner.compile(**options))
    builder.set_entry_point("inner")
    for node in after:
        builder.add_node(node)
        builder.add_edge("inner", node.__name__)
    return builder.compile(checkpointer=world.saver)


def test_how_a_nested_graph_ends_is_committed_with_its_call(world: World, commits: list[list[str]]) -> None:
    """What its last node made, and what the graph around makes of that: no code of the author's runs in between."""
    world.invoke(nested(world), {"x": ["given"]}, CONFIG, durability="sync")
    assert [made for made in commits if made] == [
        ["input", "loop"],
        ["input", "loop"],
        ["loop"],
        ["loop", "loop"],
    ]


def test_a_nested_graph_is_shown_before_its_first_node_has_ended(world: World) -> None:
    """That may take long, and somebody may look on from elsewhere."""
    seen: list[Any] = []
    inner: StateGraph[Any] = StateGraph(State)

    def one(state: State) -> dict[str, Any]:
        (task,) = app.get_state(CONFIG, subgraphs=True).tasks
        seen.append((task.state.values, task.state.next))
        return {}

    inner.add_node("one", one)
    inner.set_entry_point("one")
    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("inner", inner.compile())
    builder.set_entry_point("inner")
    app = builder.compile(checkpointer=world.saver)
    app.invoke({"x": ["given"]}, CONFIG, durability="sync")
    assert seen == [({"x": ["given"]}, ("one",))]


def test_how_a_nested_graph_ended_is_kept_with_its_call(world: World) -> None:
    """G1: whoever runs after it finds its last checkpoint stored."""
    kept: list[list[int]] = []

    def after(state: State) -> dict[str, Any]:
        rows = [one.checkpoint for one in world.saver.history("t", None)]
        kept.append([row.step for row in rows if row.namespace.startswith("inner:")])
        return {}

    world.invoke(nested(world, after), {"x": []}, CONFIG, durability="sync")
    assert kept == [[2, 1, 0, -1]]


def test_a_router_after_a_nested_graph_finds_its_end_stored(world: World) -> None:
    """G1: code of the author's that decides on a result sees one that the next process sees too."""
    kept: list[list[int]] = []
    inner = nested(world).builder.nodes["inner"].action.source

    def route(state: State) -> str:
        rows = [one.checkpoint for one in world.saver.history("t", None)]
        kept.append([row.step for row in rows if row.namespace.startswith("inner:")])
        return END

    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("inner", inner)
    builder.set_entry_point("inner")
    builder.add_conditional_edges("inner", route, [END])
    world.invoke(builder.compile(checkpointer=world.saver), {"x": []}, CONFIG, durability="sync")
    assert kept == [[2, 1, 0, -1]]


def test_what_a_graph_remembers_is_read_by_its_next_call_in_the_same_run(world: World) -> None:
    """G2: a call goes on from what the last one of that graph left, stored or not."""
    inner: StateGraph[Any] = StateGraph(State)
    inner.add_node("one", lambda state: {"x": [f"{len(state['x'])} before"]})
    inner.set_entry_point("one")
    remembering = inner.compile(checkpointer=True)

    def call(state: State) -> dict[str, Any]:
        return {
            "x": [*map(str, [remembering.invoke({"x": ["a"]})["x"], remembering.invoke({"x": ["b"]})["x"]])]
        }

    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("call", call)
    builder.set_entry_point("call")
    app = builder.compile(checkpointer=world.saver)
    for _ in range(2):
        app.invoke({"x": []}, CONFIG)
    assert app.get_state(CONFIG).values["x"] == [
        "['a', '1 before']",
        "['b', '1 before']",
        "['a', '1 before', 'a', '3 before']",
        "['b', '1 before', 'b', '3 before']",
    ]
