"""What is written, or sent, to nothing that a graph has is dropped, and a log line says so, whoever wrote it."""

import logging
from collections.abc import Callable
from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from graph_compat.graph import StateGraph
from graph_compat.types import Command, Send

from ..worlds import World

ONE = {"configurable": {"thread_id": "1"}}
WRITTEN = "leads to node 'gone' (branch:to:gone), which 'LangGraph' doesn't have"
SENT = "Send(node='gone', arg=1) was sent to no node of 'LangGraph', and is dropped"


class State(TypedDict):
    x: Annotated[list[str], add]


def graph(world: World, leads: Any = (), **options: Any) -> Any:
    """A node whose router leads where it is told."""
    builder: StateGraph[Any] = StateGraph(State).add_node("a", lambda state: {"x": ["a"]})
    builder.set_entry_point("a").add_conditional_edges("a", lambda state: leads)
    return builder.compile(checkpointer=world.saver, **options)


def of_a_node(world: World, to: Any) -> None:
    assert world.invoke(graph(world, to), {"x": []}, ONE) == {"x": ["a"]}


def of_a_first_command(world: World, to: Any) -> None:
    assert world.invoke(graph(world), Command(update={"x": ["i"]}, goto=to), ONE) == {"x": ["i", "a"]}


def of_a_command(world: World, to: Any) -> None:
    waiting = graph(world, interrupt_before=["a"])
    world.invoke(waiting, {"x": []}, ONE)
    assert world.invoke(waiting, Command(goto=to), ONE) == {"x": ["a"]}


def of_a_command_at_an_old_checkpoint(world: World, to: Any) -> None:
    world.invoke(graph(world), {"x": []}, ONE)
    old = list(graph(world).get_state_history(ONE))[1].config
    assert world.invoke(graph(world), Command(goto=to), old) == {"x": ["a"]}


def of_an_update(world: World, to: Any) -> None:
    graph(world, to).update_state(ONE, {"x": ["u"]}, as_node="a")


@pytest.mark.parametrize(("to", "line"), [("gone", WRITTEN), (Send("gone", 1), SENT)], ids=["goto", "send"])
@pytest.mark.parametrize(
    ("write", "writer"),
    [
        (of_a_node, "node 'a' "),
        (of_a_first_command, "node '__start__' "),
        (of_a_command, "the call "),
        (of_a_command_at_an_old_checkpoint, "the call "),
        (of_an_update, "node 'a' "),
    ],
)
def test_a_destination_that_there_is_not_is_told(
    world: World,
    caplog: pytest.LogCaptureFixture,
    write: Callable[[World, Any], None],
    writer: str,
    to: Any,
    line: str,
) -> None:
    """Whoever misspelt the name of a node finds it in the log."""
    with caplog.at_level(logging.WARNING, "flowfn"):
        write(world, to)
    expected = writer + line if line is WRITTEN else line
    assert expected in [record.getMessage() for record in caplog.records]
