"""A superstep whose writes were refused is given up for what comes from outside, and a log line says so."""

import logging
from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from graph_compat.errors import InvalidUpdateError
from graph_compat.graph import StateGraph

from ..worlds import World

ONE = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    x: Annotated[list[Any], add]
    y: int


def graph(world: World, **nodes: dict[str, Any]) -> Any:
    """Nodes that are due side by side, and return what they are given."""
    builder: StateGraph[Any] = StateGraph(State)
    for name, value in nodes.items():
        builder.add_node(name, lambda state, value=value: value)
        builder.set_entry_point(name)
    return builder.compile(checkpointer=world.saver)


@pytest.fixture
def mended(world: World) -> Any:
    """A graph that works, on a thread on which one that didn't has stopped."""
    with pytest.raises(InvalidUpdateError, match="At key 'y'"):
        world.invoke(graph(world, a={"y": 1}, b={"y": 2}), {"y": 0}, ONE)
    return graph(world, a={"y": 1}, b={"x": ["b"]})


def test_a_new_input_gives_it_up(world: World, mended: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The graph runs on the input, and nothing of what was refused is in its state."""
    with caplog.at_level(logging.WARNING, "flowfn"):
        assert world.invoke(mended, {"x": ["i"]}, ONE) == {"x": ["i", "b"], "y": 1}
    assert [record.message.partition(":")[0] for record in caplog.records] == ["thread 1"]
    assert "is dropped, since it is refused: At key 'y'" in caplog.text


def test_an_update_gives_it_up(world: World, mended: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The state has the update alone."""
    with caplog.at_level(logging.WARNING, "flowfn"):
        mended.update_state(ONE, {"y": 7}, as_node="a")
    assert "is dropped, since it is refused: At key 'y'" in caplog.text
    assert mended.get_state(ONE).values == {"x": [], "y": 7}


def test_an_update_that_is_refused_itself_changes_nothing(world: World, mended: Any) -> None:
    """It isn't what had finished that stands in its way: the thread is as it was."""
    before = mended.get_state(ONE)
    with pytest.raises(TypeError, match="concatenate"):
        mended.update_state(ONE, {"x": 5}, as_node="a")
    assert mended.get_state(ONE) == before
