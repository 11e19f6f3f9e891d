"""`step_timeout`: how long a superstep may take."""

import asyncio
from collections.abc import Iterator
from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from flowfn.testing import VirtualClock
from graph_compat.channels import LastValue
from graph_compat.graph import StateGraph
from graph_compat.pregel import NodeBuilder, Pregel
from graph_compat.types import RetryPolicy, interrupt

from ..worlds import World

ONE = {"configurable": {"thread_id": "1"}}
LIMIT = 5.0
LONG = 1000.0


class State(TypedDict):
    x: Annotated[list[Any], add]


@pytest.fixture
def clock() -> Iterator[VirtualClock]:
    """A clock that nodes move: no test waits."""
    with VirtualClock() as clock:
        yield clock


async def wait_in_vain() -> None:
    """Wait until somebody cancels it; the loop's own clock, by which coroutines are stopped, jumps ahead meanwhile."""
    loop = asyncio.get_running_loop()
    time = loop.time
    loop.time = lambda: time() + 2 * LONG  # type: ignore[method-assign]
    try:
        await asyncio.Event().wait()
    finally:
        loop.time = time  # type: ignore[method-assign]


def beside(saver: Any, nodes: dict[str, Any], **options: Any) -> Any:
    """A graph whose nodes are all due in the first superstep."""
    builder: StateGraph[Any] = StateGraph(State)
    for name, function in nodes.items():
        builder.add_node(name, function, **options)
        builder.set_entry_point(name)
    return builder.compile(checkpointer=saver)


def lasting(world: World, clock: VirtualClock, name: str, seconds: float) -> Any:
    """A sync node that takes so long; it notes that it ran."""

    def node(state: State) -> Any:
        world.ran.append(name)
        clock.advance(seconds)
        return {"x": [name]}

    return node


def test_a_superstep_in_time(sync_world: World, clock: VirtualClock) -> None:
    """The limit is each superstep's own, and the last moment is in time."""
    world = sync_world
    builder: StateGraph[Any] = StateGraph(State)
    builder.add_sequence([(name, lasting(world, clock, name, LIMIT)) for name in "abc"])
    graph = builder.set_entry_point("a").compile(checkpointer=world.saver)
    graph.step_timeout = LIMIT
    assert world.invoke(graph, {"x": []}, ONE) == {"x": ["a", "b", "c"]}


@pytest.mark.parametrize("others", [[], ["b"]], ids=["alone", "beside another"])
def test_a_sync_node_that_takes_too_long(sync_world: World, clock: VirtualClock, others: list[str]) -> None:
    """It runs to its end, what it did is kept, and the run fails; whoever goes on runs it no more."""
    world = sync_world
    nodes = {"a": lasting(world, clock, "a", 2 * LIMIT), **{n: lasting(world, clock, n, 0) for n in others}}
    graph = beside(world.saver, nodes)
    graph.step_timeout = LIMIT
    with pytest.raises(TimeoutError, match="took longer than its step_timeout of 5 s"):
        world.invoke(graph, {"x": []}, ONE)
    assert world.invoke(graph, None, ONE) == {"x": ["a", *others]}
    assert sorted(world.ran) == ["a", *others]


def test_nothing_starts_when_time_is_up(sync_world: World, clock: VirtualClock) -> None:
    """What queued meanwhile has not run, and runs when the thread goes on."""
    world = sync_world
    graph = beside(world.saver, {name: lasting(world, clock, name, 0.6 * LIMIT) for name in "abcd"})
    graph.step_timeout = LIMIT
    with pytest.raises(TimeoutError):
        world.invoke(graph, {"x": []}, {**ONE, "max_concurrency": 1})
    assert world.ran == ["a", "b"]
    graph.step_timeout = None
    assert world.invoke(graph, None, {**ONE, "max_concurrency": 1}) == {"x": ["a", "b", "c", "d"]}
    assert world.ran == ["a", "b", "c", "d"]


def test_a_coroutine_that_takes_too_long(async_world: World) -> None:
    """It is cancelled, and runs again when the thread goes on."""
    world = async_world

    async def quick(state: State) -> Any:
        return {"x": ["quick"]}

    async def slow(state: State) -> Any:
        world.ran.append("slow")
        if world.ran.count("slow") == 1:
            try:
                await wait_in_vain()
            except asyncio.CancelledError:
                world.ran.append("cancelled")
                raise
        return {"x": ["slow"]}

    graph = beside(world.saver, {"quick": quick, "slow": slow})
    graph.step_timeout = LONG
    with pytest.raises(TimeoutError):
        world.invoke(graph, {"x": []}, ONE)
    assert world.ran == ["slow", "cancelled"]
    assert world.state(graph, "1").next[-1] == "slow"
    graph.step_timeout = None
    assert world.invoke(graph, None, ONE) == {"x": ["quick", "slow"]}
    assert world.ran == ["slow", "cancelled", "slow"]


def test_a_lone_coroutine_that_takes_too_long(async_world: World) -> None:
    """It is cancelled as well, at however many removes the graph runs that it is in."""

    async def slow(state: State) -> Any:
        await wait_in_vain()

    inner = beside(None, {"slow": slow})
    graph = beside(async_world.saver, {"inner": inner})
    graph.step_timeout = LONG
    with pytest.raises(TimeoutError, match="A superstep of 'LangGraph'"):
        async_world.invoke(graph, {"x": []}, ONE)
    assert async_world.state(graph, "1").next == ("inner",)


def test_a_failure_in_time_is_what_a_superstep_fails_with(sync_world: World, clock: VirtualClock) -> None:
    """How long the others take after it doesn't matter."""
    world = sync_world

    def fails(state: State) -> Any:
        raise ValueError("boom")

    graph = beside(world.saver, {"a": fails, "b": lasting(world, clock, "b", 2 * LIMIT)})
    graph.step_timeout = LIMIT
    with pytest.raises(ValueError, match="boom"):
        world.invoke(graph, {"x": []}, {**ONE, "max_concurrency": 1})


def test_a_question_that_took_too_long(sync_world: World, clock: VirtualClock) -> None:
    """The run fails; whoever goes on is asked again."""
    world = sync_world

    def asks(state: State) -> Any:
        clock.advance(2 * LIMIT)
        return {"x": [interrupt("?")]}

    graph = beside(world.saver, {"a": asks})
    graph.step_timeout = LIMIT
    with pytest.raises(TimeoutError):
        world.invoke(graph, {"x": []}, ONE)
    graph.step_timeout = None
    assert [question.value for question in world.invoke(graph, None, ONE)["__interrupt__"]] == ["?"]


def test_a_nested_graph_has_a_limit_of_its_own(sync_world: World, clock: VirtualClock) -> None:
    """Its supersteps' timeout is an error of the node that it runs in, which may be retried."""
    world = sync_world

    def slow_at_first(state: State) -> Any:
        world.ran.append("inner")
        clock.advance(2 * LIMIT if len(world.ran) == 1 else 0)
        return {"x": ["inner"]}

    inner = beside(None, {"slow": slow_at_first})
    inner.step_timeout = LIMIT
    policy = RetryPolicy(max_attempts=2, retry_on=TimeoutError, jitter=False)
    graph = beside(world.saver, {"node": inner}, retry_policy=policy)
    assert world.invoke(graph, {"x": []}, ONE) == {"x": ["inner"]}


def test_of_a_pregel(sync_world: World, clock: VirtualClock) -> None:
    """A program that was put together by hand is given its limit at once; it needs no checkpointer."""
    world = sync_world
    node = NodeBuilder().subscribe_only("a").do(lambda given: clock.advance(LIMIT + 1)).write_to("b")
    graph = Pregel(
        nodes={"node": node},
        channels={"a": LastValue(int), "b": LastValue(int)},
        input_channels="a",
        output_channels="b",
        step_timeout=LIMIT,
    )
    with pytest.raises(TimeoutError):
        world.invoke(graph, 1)


@pytest.mark.parametrize("wrong", [0, -1, "soon", True])
def test_a_limit_that_makes_no_sense_is_refused(sync_world: World, wrong: Any) -> None:
    """By the next call; nothing runs."""
    graph = beside(sync_world.saver, {"a": lambda state: sync_world.ran.append("a")})
    graph.step_timeout = wrong
    with pytest.raises((TypeError, ValueError), match="step_timeout must be"):
        sync_world.invoke(graph, {"x": []}, ONE)
    assert sync_world.ran == []
