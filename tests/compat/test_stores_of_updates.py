"""A router that an update asks finds the store that it finds in a run, wherever its graph is nested."""

from pathlib import Path
from typing import Any, TypedDict

import pytest

from graph_compat.checkpoint.memory import InMemorySaver
from graph_compat.graph import END, START, StateGraph
from graph_compat.store.base import BaseStore
from graph_compat.store.memory import InMemoryStore
from graph_compat.types import interrupt

ONE = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    x: str


def routed() -> StateGraph[Any]:
    """A node that asks, and a router that goes by what the store says."""

    def route(state: State, *, store: BaseStore) -> str:
        found = store.get(("routes",), "after a")
        return END if found is None else found.value["to"]

    builder: StateGraph[Any] = StateGraph(State).add_node("a", lambda state: {"x": interrupt("?")})
    for name in ("own", "outer"):
        builder.add_node(name, lambda state: state)
    return builder.add_edge(START, "a").add_conditional_edges("a", route, ["own", "outer", END])


def around(graph: Any) -> StateGraph[Any]:
    return StateGraph(State).add_node("nested", graph).add_edge(START, "nested")


def store(to: str) -> InMemoryStore:
    made = InMemoryStore()
    made.put(("routes",), "after a", {"to": to})
    return made


def updated(graph: Any, depth: int) -> Any:
    """What is due in the innermost graph, after an update as the node that asks in it."""
    graph.invoke({"x": ""}, ONE)

    def innermost() -> Any:
        state = graph.get_state(ONE, subgraphs=True)
        for _ in range(depth):
            state = state.tasks[0].state
        return state

    graph.update_state(innermost().config, {"x": "u"}, as_node="a")
    return innermost().next


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(
    ("own", "outer", "finds"),
    [
        pytest.param(None, "outer", "outer", id="the outermost's"),
        pytest.param("own", None, "own", id="its own"),
        pytest.param("own", "outer", "outer", id="the outermost's before its own"),
    ],
)
def test_the_store_of_a_nested_graph(own: str | None, outer: str | None, finds: str, depth: int) -> None:
    """It is that of the outermost graph that has one."""
    graph: Any = routed().compile(store=own and store(own))
    for _ in range(depth - 1):
        graph = around(graph).compile()
    graph = around(graph).compile(checkpointer=InMemorySaver(), store=outer and store(outer))
    assert updated(graph, depth) == (finds,)


def test_a_store_that_a_path_names(tmp_path: Path) -> None:
    """It is open, as in a run."""
    graph = routed().compile(checkpointer=InMemorySaver(), store=str(tmp_path / "store.db"))
    assert updated(graph, 0) == ()
