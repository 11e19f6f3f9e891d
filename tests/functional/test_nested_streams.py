"""Streams of workflows that call workflows: namespaces, and `subgraphs=True` (behaviour page 4.1)."""

from typing import Any

from flowfn import get_stream_writer

from ..worlds import World


def nested(world: World) -> Any:
    """A workflow that calls another, which has a task that writes."""

    @world.task
    async def inc(x: int) -> int:
        get_stream_writer()(f"w{x}")
        return x + 1

    @world.entrypoint(checkpointer=None)
    async def child(x: int) -> int:
        return await world.value(inc(x))

    @world.entrypoint
    async def wf(x: int) -> int:
        return (await child(x) if world.is_async else child(x)) + 1

    return wf


def test_children_are_hidden_by_default(world: World) -> None:
    """Without `subgraphs=True` only the parent's own tasks are shown: the child is one of them."""
    wf = nested(world)
    assert world.stream(wf, 1) == [{"child": 2}, {"wf": 3}]
    assert world.stream(wf, 1, stream_mode="custom") == []


def test_subgraphs_shows_children_by_namespace(world: World) -> None:
    """`subgraphs=True` gives `(namespace, chunk)`; a child's namespace is `(child:id,)`."""
    chunks = world.stream(nested(world), 1, subgraphs=True)
    assert [(tuple(part.split(":")[0] for part in path), chunk) for path, chunk in chunks] == [
        (("child",), {"inc": 2}),
        (("child",), {"child": 2}),
        ((), {"child": 2}),
        ((), {"wf": 3}),
    ]


def test_subgraphs_with_several_modes_gives_triples(world: World) -> None:
    """`(namespace, mode, chunk)` where both are asked for; what a task writes is of the call that called it."""
    chunks = world.stream(nested(world), 1, subgraphs=True, stream_mode=["values", "custom"])
    assert [(len(path), mode, chunk) for path, mode, chunk in chunks] == [
        (2, "custom", "w1"),
        (1, "values", 2),
        (0, "values", 3),
    ]


def streaming(world: World, **options: Any) -> Any:
    """A workflow that streams another one, and returns its chunks."""

    @world.task
    async def inc(x: int) -> int:
        get_stream_writer()(f"w{x}")
        return x + 1

    @world.entrypoint(checkpointer=None)
    async def child(x: int) -> int:
        first = await world.value(inc(x))
        return await world.value(inc(first))

    @world.entrypoint
    async def wf(x: int) -> list[Any]:
        if world.is_async:
            return [chunk async for chunk in child.astream(x, **options)]
        return [*child.stream(x, **options)]

    return wf


def test_a_stream_inside_a_run_is_the_childs(world: World) -> None:
    """A workflow that streams another one inside a run gets the chunks of that one."""
    assert world.invoke(streaming(world), 1) == [{"inc": 2}, {"inc": 3}, {"child": 3}]
    assert world.invoke(streaming(world, stream_mode=["values", "custom"]), 1) == [
        ("custom", "w1"),
        ("custom", "w2"),
        ("values", 3),
    ]


def test_a_stream_inside_a_run_takes_nothing_from_one_around(world: World) -> None:
    """`subgraphs=True` shows the caller of the run around the same chunks."""
    chunks = world.stream(streaming(world), 1, subgraphs=True)
    assert [(len(path), *chunk) for path, chunk in chunks[:3]] == [(1, "inc"), (1, "inc"), (1, "child")]
    assert chunks[-1] == ((), {"wf": [{"inc": 2}, {"inc": 3}, {"child": 3}]})
