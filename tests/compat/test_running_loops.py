"""Blocking calls on a thread that has an event loop running, as that of a notebook's cell has.

What LangGraph runs on threads may begin a loop of its own there; a superstep's lone node runs on the caller's thread.
"""

import asyncio
import threading
from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from graph_compat.func import entrypoint, task
from graph_compat.graph import START, StateGraph
from graph_compat.types import Send


class State(TypedDict, total=False):
    x: Annotated[list[Any], add]


async def doubled(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


def begins_a_loop(number: int) -> int:
    """What code of a notebook does to call a coroutine."""
    return asyncio.run(doubled(number))


def thread(state: Any) -> Any:
    """A node that tells which thread it runs on."""
    return {"x": [threading.get_ident()]}


def fan(*numbers: int) -> Any:
    """A graph that sends each number to a node that begins a loop."""
    builder: Any = StateGraph(State).add_node("node", lambda number: {"x": [begins_a_loop(number)]})
    return builder.add_conditional_edges(START, lambda state: [Send("node", n) for n in numbers]).compile()


def alone() -> Any:
    """A graph of one node."""
    return StateGraph(State).add_node("node", thread).add_edge(START, "node").compile()


async def test_nodes_side_by_side_may_begin_a_loop() -> None:
    """Each has a thread."""
    assert fan(1, 2, 3).invoke({"x": []}) == {"x": [2, 4, 6]}


async def test_graphs_side_by_side_may_begin_a_loop() -> None:
    """So have the nodes of graphs in nodes."""
    builder: Any = StateGraph(State)
    for name in ("a", "b"):
        inner: Any = StateGraph(State).add_node("node", lambda state: {"x": [begins_a_loop(1)]})
        builder.add_node(name, inner.add_edge(START, "node").compile()).add_edge(START, name)
    assert builder.compile().invoke({}) == {"x": [2, 2]}


async def test_tasks_may_begin_a_loop() -> None:
    """Be it one that is waited for at once, or one of several."""
    work = task(begins_a_loop)

    @entrypoint()
    def wf(number: int) -> list[int]:
        return [work(number).result(), *(future.result() for future in [work(2), work(3)])]

    assert wf.invoke(1) == [2, 4, 6]


@pytest.mark.parametrize("limit", [None, 1])
async def test_inputs_of_a_batch_may_begin_a_loop(limit: int | None) -> None:
    """Their nodes, too, that are the only ones of their supersteps."""
    builder: Any = StateGraph(State).add_node("node", lambda state: {"x": [begins_a_loop(state["x"][0])]})
    graph = builder.add_edge(START, "node").compile()
    config = {"max_concurrency": limit} if limit else None
    assert graph.batch([{"x": [1]}, {"x": [2]}], config) == [{"x": [1, 2]}, {"x": [2, 4]}]


@pytest.mark.parametrize("number", [1, 2])
async def test_tools_may_begin_a_loop(number: int) -> None:
    """One call as well as several."""
    from graph_compat.prebuilt import ToolNode

    def double(number: int) -> int:
        """Double a number."""
        return begins_a_loop(number)

    calls = [{"name": "double", "args": {"number": n}, "id": str(n)} for n in range(number)]
    builder: Any = StateGraph(dict).add_node("tools", ToolNode([double], handle_tool_errors=False))
    graph = builder.add_edge(START, "tools").compile()
    answers = graph.invoke({"messages": [{"role": "assistant", "content": "", "tool_calls": calls}]})[
        "messages"
    ]
    assert [_content(answer) for answer in answers[-number:]] == [str(2 * n) for n in range(number)]


def _content(message: Any) -> str:
    return message["content"] if isinstance(message, dict) else message.content


async def test_a_blocking_graph_in_a_coroutine_of_a_run_may_begin_a_loop() -> None:
    """The run around it has a loop, on which it blocks."""

    async def outer(state: Any) -> Any:
        return {"x": fan(1, 2).invoke({"x": []})["x"]}

    graph = StateGraph(State).add_node("outer", outer).add_edge(START, "outer").compile()
    assert await graph.ainvoke({}) == {"x": [2, 4]}


async def test_a_lone_node_runs_on_the_callers_thread() -> None:
    """What belongs to that, such as a connection of sqlite3, it may use."""
    assert alone().invoke({}) == {"x": [threading.get_ident()]}


@pytest.mark.parametrize("mode", ["values", "updates"])
async def test_a_lone_node_of_a_stream_runs_on_its_readers_thread(mode: str) -> None:
    """As where no loop runs."""
    *_, last = alone().stream({}, stream_mode=mode)
    assert threading.get_ident() in (last.get("node") or last)["x"]


async def test_nodes_side_by_side_in_a_stream_may_begin_a_loop() -> None:
    """Each has a thread, as in any stream."""
    assert sorted(chunk["node"]["x"][0] for chunk in fan(1, 2).stream({}, stream_mode="updates")) == [2, 4]
