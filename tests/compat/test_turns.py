"""Tasks of a superstep start in plan order wherever `max_concurrency` makes them queue."""

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from flowfn.context import current_frame
from flowfn.hosts.threads import MAX_WORKERS
from graph_compat.graph import START, StateGraph
from graph_compat.types import Command, Send, interrupt

from ..worlds import World

NODES = range(6)


class State(TypedDict):
    x: Annotated[list[Any], add]


@pytest.fixture
def eager_switches() -> Iterator[None]:
    """Threads take turns about as often as the interpreter can, so that a race is lost soon."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.fixture
def no_switches() -> Iterator[None]:
    """A thread goes on until it waits for something, so that what is taken first also runs first."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(60)
    yield
    sys.setswitchinterval(usual)


def beside(world: World, nodes: dict[str, Any]) -> Any:
    """A graph whose nodes are all due in the first superstep."""
    builder: StateGraph[Any] = StateGraph(State)
    for name, function in nodes.items():
        builder.add_node(name, function)
        builder.set_entry_point(name)
    return builder.compile(checkpointer=world.saver)


def noting(world: World, number: int, *, plain: bool = False) -> Any:
    """A node that notes that it ran; `plain` ones are sync in every world."""

    async def node(state: State) -> Any:
        world.ran.append(number)
        if world.is_async:
            await asyncio.sleep(0)
        return {"x": [number]}

    def plain_node(state: State) -> Any:
        world.ran.append(number)
        return {"x": [number]}

    return plain_node if plain else world.colour(node)


@pytest.mark.usefixtures("eager_switches")
@pytest.mark.parametrize("mixed", [False, True], ids=["alike", "mixed"])
def test_one_at_a_time_means_in_plan_order(world: World, mixed: bool) -> None:
    """Under a limit of one, nodes start, end and are told in plan order, whatever their colour."""
    graph = beside(world, {str(n): noting(world, n, plain=mixed and n % 2 == 0) for n in NODES})
    for thread in range(5):
        world.ran.clear()
        config = {"configurable": {"thread_id": str(thread)}, "max_concurrency": 1}
        chunks = world.stream(graph, {"x": []}, config, stream_mode="updates")
        assert world.ran == list(NODES)
        assert chunks == [{str(n): {"x": [n]}} for n in NODES]


@pytest.mark.usefixtures("eager_switches")
def test_sent_tasks_queue_as_they_were_sent(world: World) -> None:
    """So do the tasks of one node that was sent several packets."""

    async def worker(sent: int) -> Any:
        world.ran.append(sent)
        return {"x": [sent]}

    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("worker", world.colour(worker))
    builder.set_conditional_entry_point(lambda state: [Send("worker", n) for n in NODES])
    graph = builder.compile(checkpointer=world.saver)
    config = {"configurable": {"thread_id": "1"}, "max_concurrency": 1}
    world.stream(graph, {"x": []}, config)
    assert world.ran == list(NODES)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_no_more_start_than_the_limit_lets(world: World, limit: int) -> None:
    """A task starts only while fewer than the limit have yet to end."""
    inside: list[int] = []
    most: list[int] = []

    def node(number: int) -> Any:
        async def run(state: State) -> Any:
            inside.append(number)
            most.append(len(inside))
            if world.is_async:
                await asyncio.sleep(0)
            inside.remove(number)

        return world.colour(run)

    graph = beside(world, {str(n): node(n) for n in NODES})
    world.invoke(graph, {"x": []}, {"configurable": {"thread_id": "1"}, "max_concurrency": limit})
    assert len(most) == len(NODES)
    assert max(most) <= limit


@pytest.mark.usefixtures("eager_switches")
def test_what_queues_behind_a_failure(world: World) -> None:
    """Nothing that queues starts after a failure, whatever its colour, and what ran is kept."""
    sound = False

    async def fails(state: State) -> Any:
        world.ran.append("fails")
        if not sound:
            raise ValueError("boom")

    functions = {str(n): noting(world, n) for n in NODES}
    graph = beside(world, {**functions, "2": world.colour(fails)})
    config = {"configurable": {"thread_id": "1"}, "max_concurrency": 1}
    with pytest.raises(ValueError, match="boom"):
        world.invoke(graph, {"x": []}, config)
    assert world.ran == [0, 1, "fails"]
    sound = True
    world.ran.clear()
    world.invoke(graph, None, config)
    assert world.ran == ["fails", 3, 4, 5]


def test_what_waits_for_a_thread_behind_a_failure(sync_world: World) -> None:
    """Without a limit, too: of more nodes than there are threads, those that have none don't begin."""

    def node(sent: int) -> Any:
        frame = current_frame.get()
        assert frame is not None
        sync_world.ran.append(sent)
        if sent == 0:
            raise ValueError("boom")
        while not frame.call.given_up:
            time.sleep(0.001)

    builder: StateGraph[Any] = StateGraph(State).add_node("node", node)
    builder.set_conditional_entry_point(lambda state: [Send("node", n) for n in range(3 * MAX_WORKERS)])
    with pytest.raises(ValueError, match="boom"):
        sync_world.invoke(builder.compile(), {"x": []})
    assert sorted(sync_world.ran) == list(range(MAX_WORKERS + 1))


def test_what_a_failure_stopped_is_handed_to_no_error_handler(world: World) -> None:
    """It hasn't failed: it runs when the graph goes on."""
    sound = False

    async def fails(state: State) -> Any:
        if not sound:
            raise ValueError("boom")

    async def handles(state: State) -> Any:
        world.ran.append("handles")

    builder: StateGraph[Any] = StateGraph(State)
    builder.add_node("fails", world.colour(fails)).add_edge(START, "fails")
    builder.add_node("queues", noting(world, 1), error_handler=world.colour(handles))
    graph = builder.add_edge(START, "queues").compile(checkpointer=world.saver)
    config = {"configurable": {"thread_id": "1"}, "max_concurrency": 1}
    with pytest.raises(ValueError, match="boom"):
        world.invoke(graph, {"x": []}, config)
    sound = True
    world.invoke(graph, None, config)
    assert world.ran == [1]


def test_what_queues_behind_a_question_starts(world: World) -> None:
    """A task that asks has ended for now, and the next one starts."""

    async def asks(state: State) -> Any:
        return {"x": [interrupt("?")]}

    functions = {str(n): noting(world, n) for n in NODES}
    graph = beside(world, {**functions, "2": world.colour(asks)})
    world.invoke(graph, {"x": []}, {"configurable": {"thread_id": "1"}, "max_concurrency": 1})
    assert world.ran == [0, 1, 3, 4, 5]


@pytest.mark.parametrize("names", [["leaves", "fails"], ["fails", "leaves"]])
def test_a_failure_beside_a_command_for_the_graph_around(world: World, names: list[str]) -> None:
    """The failure isn't lost, whichever comes first: on LangGraph that is chance."""

    async def leaves(state: State) -> Any:
        return Command(graph=Command.PARENT, update={"x": ["left"]})

    async def fails(state: State) -> Any:
        raise ValueError("boom")

    functions = {"leaves": world.colour(leaves), "fails": world.colour(fails)}
    inner: StateGraph[Any] = StateGraph(State)
    for name in names:
        inner.add_node(name, functions[name])
        inner.set_entry_point(name)
    graph = beside(world, {"inner": inner.compile()})
    with pytest.raises(ValueError, match="boom"):
        world.invoke(graph, {"x": []}, {"configurable": {"thread_id": "1"}, "max_concurrency": 1})


def test_nested_graphs_end_under_a_limit_of_one(world: World) -> None:
    """A nested graph's nodes run while the node around them holds its turn; its siblings wait for its end."""
    inner = beside(world, {f"inner{n}": noting(world, 10 + n) for n in NODES})
    inner.checkpointer = None
    graph = beside(world, {"0": noting(world, 0), "1": inner, "2": noting(world, 2), "3": inner})
    world.invoke(graph, {"x": []}, {"configurable": {"thread_id": "1"}, "max_concurrency": 1})
    assert world.ran == [0, 10, 11, 12, 13, 14, 15, 2, 10, 11, 12, 13, 14, 15]


def test_a_coroutine_that_queues_in_a_blocking_run_is_refused() -> None:
    """It fails before anything starts, wherever it is: what queues doesn't start, and the others run to their end."""
    ran: list[int] = []

    async def coroutine(state: State) -> Any:
        raise AssertionError("nobody can run it")

    builder: StateGraph[Any] = StateGraph(State)
    for n in NODES:
        builder.add_node(str(n), coroutine if n == 3 else lambda state, n=n: ran.append(n))
        builder.set_entry_point(str(n))
    with pytest.raises(TypeError, match="No synchronous function provided"):
        builder.compile().invoke({"x": []}, {"max_concurrency": 1})
    assert ran == [0]


@pytest.mark.usefixtures("no_switches")
@pytest.mark.parametrize("caller", ["a coroutine", "plain code on the loop's thread"])
@pytest.mark.parametrize("nodes", [NODES, range(MAX_WORKERS + 8)], ids=["few", "more than there are workers"])
def test_plain_nodes_beside_an_event_loop_begin_in_plan_order(
    async_world: World, caller: str, nodes: Sequence[int]
) -> None:
    """What a test of parallel nodes notes is in the order of the nodes, as without a loop: none begins last because
    its caller had already come to wait for it.
    """
    world = async_world
    graph = beside(world, {f"n{number:02}": noting(world, number, plain=True) for number in nodes})

    async def main() -> None:
        for nth in range(21):
            config = {"configurable": {"thread_id": str(nth)}}
            if nth == 1:  # nodes of the first one wait for what it imports
                world.ran.clear()
            if caller == "a coroutine":
                await graph.ainvoke({"x": []}, config)
            else:
                graph.invoke({"x": []}, config)

    asyncio.run(main())
    assert world.ran == [*nodes] * 20
