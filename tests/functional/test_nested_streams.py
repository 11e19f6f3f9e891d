"""Streams of workflows that call workflows: namespaces, and `subgraphs=True` (behaviour page 4.1)."""

import asyncio
import uuid
from typing import Any

import pytest

from flowfn import RetryPolicy, get_stream_writer, interrupt
from flowfn.engine.drive import drive
from flowfn.errors import SerializationError

from ..worlds import World, asked


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


def failing_once(world: World, failing: list[str]) -> Any:
    """A task that fails at each place of a list the first time that it is called there."""

    @world.task
    async def fails_once(where: str) -> str:
        if where in failing:
            failing.remove(where)
            raise ConnectionError(where)
        return where

    return fails_once


def reading(world: World, mode: Any, failing: list[str], subgraphs: bool = False) -> Any:
    """A workflow that reads the stream of another one, and fails once at each place; its result is what it read."""
    ran = world.ran

    @world.task
    async def inc(x: int) -> int:
        ran.append(x)
        get_stream_writer()(f"in {x}")
        return x + 1

    fails_once = failing_once(world, failing)

    @world.task
    async def twice(x: int) -> int:
        return await world.value(inc(await world.value(inc(x))))

    @world.entrypoint(checkpointer=None)
    async def inner(x: int) -> int:
        get_stream_writer()(f"body {x}")
        return await world.value(inc(x))

    @world.entrypoint(checkpointer=None)
    async def child(x: int) -> int:
        first = await world.value(twice(x))
        second = await inner(first) if world.is_async else inner(first)
        await world.value(fails_once("within"))
        return await world.value(inc(second))

    @world.entrypoint
    async def wf(x: int) -> list[Any]:
        options = {"stream_mode": mode, "subgraphs": subgraphs}
        if world.is_async:
            found = [chunk async for chunk in child.astream(x, **options)]
        else:
            found = [*child.stream(x, **options)]
        await world.value(fails_once("after"))
        return found

    return wf


def unnamed(chunks: Any) -> Any:
    """Chunks without what is made anew for each thread: ids, and the places that have them."""
    if isinstance(chunks, dict):
        return {name: unnamed(item) for name, item in chunks.items() if name not in ("id", "metadata")}
    if isinstance(chunks, list | tuple):
        return [unnamed(item) for item in chunks]
    return chunks.partition(":")[0] if isinstance(chunks, str) else chunks


@pytest.mark.parametrize("where", ["within", "after"])
@pytest.mark.parametrize("mode", ["updates", "values", "custom", "tasks", ["updates", "custom"]])
def test_a_stream_inside_a_run_is_the_same_on_resume(world: World, mode: Any, where: str) -> None:
    """A caller that reads a nested stream as data reads the same chunks when it is resumed, and nothing runs again."""
    wf = reading(world, mode, [where], subgraphs=True)
    with pytest.raises(ConnectionError):
        world.invoke(wf, 1, thread_id="failed")
    resumed = world.invoke(wf, None, thread_id="failed")
    assert world.ran == [1, 2, 3, 4]
    calm = world.invoke(wf, 1, thread_id="calm")
    assert unnamed(resumed) == unnamed(calm)


def test_a_result_that_a_reader_acted_on_stays_what_it_was(world: World) -> None:
    """Who fails on the last chunk of a nested stream reads the same one when resumed, though the body runs again."""
    charged: list[str] = []

    @world.entrypoint(checkpointer=None)
    async def child(x: int) -> str:
        return uuid.uuid4().hex

    @world.task
    async def charge(number: str) -> None:
        charged.append(number)
        if len(charged) == 1:
            raise ConnectionError

    @world.entrypoint
    async def wf(x: int) -> Any:
        stream = child.astream(x) if world.is_async else child.stream(x)
        chunk = await anext(stream) if world.is_async else next(stream)
        await world.value(charge(chunk["child"]))
        return [chunk, *([each async for each in stream] if world.is_async else stream)]

    with pytest.raises(ConnectionError):
        world.invoke(wf, 1, thread_id="acted on")
    assert world.invoke(wf, None, thread_id="acted on") == [{"child": charged[0]}]
    assert charged[0] == charged[1]


def test_a_stream_that_is_read_in_another_mode_on_resume_has_its_chunks(world: World) -> None:
    """An edit of `stream_mode` between failure and resume shows what is recorded in the new mode."""
    failing = ["after"]
    with pytest.raises(ConnectionError):
        world.invoke(reading(world, "updates", failing), 1, thread_id="edited")
    edited = reading(world, "values", failing)
    assert world.invoke(edited, None, thread_id="edited") == [5]
    assert world.ran == [1, 2, 3, 4]


def test_a_stream_that_is_left_early_is_the_same_on_resume(world: World) -> None:
    """Who takes the first chunk of a nested stream and leaves takes the same one when resumed."""
    failing = [True]

    @world.task
    async def inc(x: int) -> int:
        world.ran.append(x)
        return x + 1

    @world.entrypoint(checkpointer=None)
    async def child(x: int) -> int:
        return await world.value(inc(await world.value(inc(x))))

    @world.task
    async def fails_once() -> None:
        if failing:
            failing.clear()
            raise ConnectionError

    @world.entrypoint
    async def wf(x: int) -> Any:
        if world.is_async:
            stream = child.astream(x)
            first = await anext(stream)
            await stream.aclose()
        else:
            stream = child.stream(x)
            first = next(stream)
            stream.close()
        await world.value(fails_once())
        return first

    with pytest.raises(ConnectionError):
        world.invoke(wf, 1, thread_id="left")
    assert world.invoke(wf, None, thread_id="left") == {"inc": 2}
    assert world.ran[:1] == [1]
    assert 1 not in world.ran[1:]


@pytest.mark.parametrize("ends", ["error", "question", "result"])
def test_a_stream_that_is_held_and_not_read_holds_up_no_run(world: World, ends: str) -> None:
    """Code that ends with a nested stream in a variable ends: nobody will read on, and so the nested run stops."""
    held: list[Any] = []

    @world.entrypoint(checkpointer=None)
    async def child(x: int) -> int:
        return x

    @world.entrypoint
    async def wf(x: int) -> str:
        stream = child.astream(x) if world.is_async else child.stream(x)
        held.append(stream)
        first = await anext(stream) if world.is_async else next(stream)
        if ends == "error":
            raise ConnectionError(first)
        return interrupt("go on?") if ends == "question" else "done"

    async def ended() -> Any:
        try:
            found = await wf.ainvoke(1, thread_id="held") if world.asyncio else wf.invoke(1, thread_id="held")
        except ConnectionError as error:
            found = error.args
        finally:
            if world.is_async:
                await held[0].aclose()
            else:
                held[0].close()
        return found

    found = asyncio.run(ended()) if world.asyncio else drive(ended())
    if ends == "question":
        assert asked(found) == ["go on?"]
    else:
        assert found == ({"error": ({"child": 1},), "result": "done"}[ends])


def test_an_attempt_that_follows_another_repeats_no_chunk(world: World) -> None:
    """Where a nested workflow is tried again, its recorded calls are told once; a resumed caller reads the same."""
    failing = ["child", "wf"]

    @world.task
    async def inc(x: int) -> int:
        return x + 1

    fails_once = failing_once(world, failing)

    @world.entrypoint(checkpointer=None, retry_policy=RetryPolicy(initial_interval=0, jitter=False))
    async def child(x: int) -> int:
        found = await world.value(inc(x))
        await world.value(fails_once.with_options(retry_policy=())("child"))
        return found

    @world.entrypoint
    async def wf(x: int) -> list[Any]:
        found = [chunk async for chunk in child.astream(x)] if world.is_async else [*child.stream(x)]
        await world.value(fails_once("wf"))
        return found

    with pytest.raises(ConnectionError):
        world.invoke(wf, 1, thread_id="tried")
    assert world.invoke(wf, None, thread_id="tried") == [{"inc": 2}, {"fails_once": "child"}, {"child": 2}]


def test_a_chunk_that_can_not_be_stored_is_refused(world: World) -> None:
    """What a task tells a reader inside a run is data of that run: an error names the task, where it can't be kept."""

    @world.task
    async def tells() -> None:
        get_stream_writer()(print)

    @world.entrypoint(checkpointer=None)
    async def child() -> None:
        await world.value(tells())

    @world.entrypoint
    async def wf() -> None:
        if world.is_async:
            async for _ in child.astream({}, stream_mode="custom"):
                pass
        else:
            [*child.stream({}, stream_mode="custom")]

    with pytest.raises(SerializationError, match="a chunk that 'tells' told those who read its stream"):
        world.invoke(wf, {}, thread_id="told")
