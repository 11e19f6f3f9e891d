"""A test sets `graph.nodes["a"].bound`, and the graph runs that in the node's place."""

from operator import add
from typing import Annotated, Any, TypedDict
from unittest.mock import patch

import pytest
from langchain_core.runnables import RunnableLambda

from graph_compat.graph import START, StateGraph
from graph_compat.types import Command, RetryPolicy, interrupt

from ..worlds import World

ONE = {"configurable": {"thread_id": "1"}}
FAKE = RunnableLambda(lambda state: {"x": ["fake"]})


class State(TypedDict):
    x: Annotated[list[str], add]


def chain(world: World, first: Any) -> Any:
    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("a", first, retry_policy=RetryPolicy(initial_interval=0, max_attempts=2))
    builder.add_node("b", lambda state: {"x": ["b"]})
    return builder.add_edge(START, "a").add_edge("a", "b").compile(checkpointer=world.saver)


def real(state: State) -> State:
    return {"x": ["real"]}


def test_what_is_set_runs(world: World) -> None:
    """Also where the graph has run before, and the node by itself."""
    graph = chain(world, real)
    assert world.invoke(graph, {"x": []}, ONE) == {"x": ["real", "b"]}
    graph.nodes["a"].bound = FAKE
    assert world.invoke(graph, {"x": []}, ONE) == {"x": ["real", "b", "fake", "b"]}
    assert graph.nodes["a"].invoke({"x": []}) == {"x": ["fake"]}


def test_it_is_set_for_a_while(world: World) -> None:
    """What ran before runs again when a patch ends."""
    graph = chain(world, real)
    with patch.object(graph.nodes["a"], "bound", FAKE):
        assert world.invoke(graph, {"x": []}, ONE) == {"x": ["fake", "b"]}
    assert world.invoke(graph, {"x": []}, ONE) == {"x": ["fake", "b", "real", "b"]}


def test_the_node_keeps_what_else_it_has(world: World) -> None:
    """Its retries, and that a thread waits in it."""
    failures = [ValueError("once")]

    def asks(state: State) -> State:
        if failures:
            raise ConnectionError from failures.pop()
        return {"x": [interrupt("?")]}

    graph = chain(world, real)
    graph.nodes["a"].bound = RunnableLambda(asks)
    world.invoke(graph, {"x": []}, ONE)
    assert world.invoke(graph, Command(resume="yes"), ONE) == {"x": ["yes", "b"]}
    assert not failures


def test_what_would_change_no_run_is_refused(world: World) -> None:
    """A node in the mapping, other attributes, a part of what runs, and the hidden first node."""
    graph = chain(world, real)
    with pytest.raises(TypeError, match="does not support item assignment"):
        graph.nodes["a"] = graph.nodes["b"]
    with pytest.raises(AttributeError, match="'metadata' of a compiled node can't be set"):
        graph.nodes["a"].metadata = {}
    with pytest.raises(AttributeError, match=r"set nodes\[…\].bound instead"):
        graph.nodes["a"].bound.func = FAKE.func
    with pytest.raises(ValueError, match="can't be replaced"):
        graph.nodes[START].bound = FAKE
