"""A run that keeps nothing and that nobody watches begins at its first node, and comes to what a watched one does."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest

from graph_compat.config import get_config
from graph_compat.errors import GraphRecursionError, InvalidUpdateError
from graph_compat.graph import END, START, StateGraph
from graph_compat.types import Send

from ..worlds import KINDS, World

pytestmark = pytest.mark.parametrize(
    "world", [kind for kind in KINDS if kind.saver == "memory"], ids=str, indirect=True
)
"""No saver is asked."""


class State(TypedDict):
    x: Annotated[list[str], operator.add]


def graph(*edges: tuple[str | list[str], str], deferred: str = "", names: str = "abc") -> Any:
    """A graph whose nodes write their names, along these edges."""
    builder: StateGraph[Any] = StateGraph(State)
    for name in names:
        builder.add_node(name, lambda state, name=name: {"x": [name]}, defer=name == deferred)
    for start, end in edges:
        builder.add_edge(start, end)
    return builder


def sending() -> Any:
    """One whose nodes are sent to by its router, which is code of its author's."""
    builder = graph()
    builder.add_conditional_edges(START, lambda state: [Send("a", state), Send("b", state)], ["a", "b"])
    return builder


GRAPHS = {
    "a chain": graph((START, "a"), ("a", "b"), ("b", "c")),
    "several at once": graph((START, "c"), (START, "a"), ("a", "b")),
    "a deferred one": graph((START, "a"), (START, "b"), ("a", "c"), deferred="b"),
    "a deferred one alone": graph((START, "b"), deferred="b"),
    "a join": graph((START, "a"), (START, "b"), (["a", "b"], "c")),
    "sends": sending(),
    "no node": graph((START, END)),
}


@pytest.fixture(params=GRAPHS)
def app(request: pytest.FixtureRequest) -> Any:
    """Each graph, without a checkpointer."""
    return GRAPHS[request.param].compile()


GIVEN = {"x": ["given"]}


def test_a_run_comes_to_what_its_watchers_see(world: World, app: Any) -> None:
    """Watched it takes each superstep, and shows it."""
    assert world.invoke(app, GIVEN) == world.stream(app, GIVEN, stream_mode="values")[-1]


def test_a_graph_in_a_graph_comes_to_what_its_watchers_see(world: World, app: Any) -> None:
    """So does one that runs inside another."""
    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("inner", app)
    builder.add_edge(START, "inner")
    around = builder.compile()
    assert world.invoke(around, GIVEN) == world.stream(around, GIVEN, stream_mode="values")[-1]


def test_a_limit_of_supersteps_counts_the_first_one(world: World) -> None:
    """What a run isn't shown to take it takes all the same."""
    app = GRAPHS["a chain"].compile()
    assert world.invoke(app, GIVEN, {"recursion_limit": 4}) == {"x": ["given", "a", "b", "c"]}
    with pytest.raises(GraphRecursionError):
        world.invoke(app, GIVEN, {"recursion_limit": 3})


def test_the_first_node_is_told_that_it_runs_in_the_first_superstep(world: World) -> None:
    """Supersteps are numbered as if what came before it had been made."""

    def tell(state: State) -> Any:
        return {"x": [str(get_config()["metadata"]["langgraph_step"])]}

    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("a", tell)
    builder.add_node("b", tell)
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    assert world.invoke(builder.compile(), GIVEN) == {"x": ["given", "1", "2"]}


def test_an_input_that_the_state_does_not_take_is_refused_as_ever(world: World) -> None:
    """By the superstep that would have taken it."""
    with pytest.raises(InvalidUpdateError, match="Expected dict, got no state") as raised:
        world.invoke(GRAPHS["a chain"].compile(), "no state")
    assert [note.partition("' and id")[0] for note in raised.value.__notes__] == [
        "During task with name '__start__"
    ]


def test_a_breakpoint_before_the_first_node_is_met(world: World) -> None:
    """Nothing of it has run."""
    app = GRAPHS["a chain"].compile(interrupt_before=["a"])
    assert world.invoke(app, GIVEN) == GIVEN
