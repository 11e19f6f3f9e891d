"""How one call is made: config keys, durability, and what happens where another run holds the thread."""

import asyncio
from typing import Any

import pytest

from flowfn import (
    GraphRecursionError,
    Runtime,
    entrypoint,
    get_config,
)

from ..worlds import World


def test_the_config_that_code_sees(world: World) -> None:
    """`thread_id`, `tags`, `metadata`, `run_id`, own `configurable` and unknown keys reach the code."""

    @world.task
    async def inside() -> Any:
        return get_config()

    @world.entrypoint
    async def wf() -> list[Any]:
        world.ran.extend([get_config(), await world.value(inside())])
        return []

    given = {
        "configurable": {"thread_id": "t", "user": "ann"},
        "tags": ["a", "b"],
        "metadata": {"who": "ann"},
        "run_id": "run-1",
        "recursion_limit": 7,
        "max_concurrency": 3,
        "run_name": "nightly",
    }
    world.invoke(wf, config=given)
    for seen in world.ran:
        assert {key: seen[key] for key in given if key != "configurable"} == {
            key: value for key, value in given.items() if key != "configurable"
        }
        assert (seen["configurable"]["thread_id"], seen["configurable"]["user"]) == ("t", "ann")


def test_thread_ids_become_text(world: World) -> None:
    """A thread id of another type means the same as its text."""

    @world.entrypoint
    async def wf(x: int, *, previous: int = 0) -> int:
        return previous + x

    world.invoke(wf, 1, {"configurable": {"thread_id": 7}})
    assert world.invoke(wf, 1, thread_id="7") == 2


def test_without_a_thread_id_each_call_is_a_new_thread(world: World) -> None:
    """LangGraph refuses such a call; here it starts a thread of its own."""

    @world.entrypoint
    async def wf(x: int, *, previous: int = 0) -> int:
        return previous + x

    assert [world.invoke(wf, 1), world.invoke(wf, 1)] == [1, 1]
    assert len(list(world.saver.threads())) == 2


def test_one_superstep_is_enough_for_an_entrypoint(world: World) -> None:
    """`recursion_limit` counts supersteps: an entrypoint takes one, however many tasks it calls."""

    @world.task
    async def one(x: int) -> int:
        return x

    @world.entrypoint
    async def wf() -> int:
        return sum([await world.value(one(x)) for x in range(5)])

    assert world.invoke(wf, config={"recursion_limit": 1}) == 10
    assert issubclass(GraphRecursionError, RecursionError)


def test_context_reaches_the_code(world: World) -> None:
    """`context=` is what `runtime.context` shows."""

    @world.entrypoint
    async def wf(runtime: Runtime) -> Any:
        return runtime.context

    assert world.invoke(wf, context={"user": "ann"}) == {"user": "ann"}


def test_a_context_schema_makes_the_context(world: World) -> None:
    """A mapping given as context becomes an instance of `context_schema`."""
    from dataclasses import dataclass

    @dataclass
    class Context:
        user: str

    @world.entrypoint(context_schema=Context, checkpointer=None)
    async def wf(runtime: Runtime) -> Any:
        return runtime.context.user

    assert world.invoke(wf, context={"user": "ann"}) == "ann"


def test_batch_runs_each_input(world: World) -> None:
    """`batch` gives the results in the order of the inputs, with one config or one each."""

    @world.entrypoint
    async def wf(x: int, *, previous: int = 0) -> int:
        return previous + x

    assert world.do(wf, "batch", [1, 2, 3]) == [1, 2, 3]
    configs = [{"configurable": {"thread_id": name}} for name in "ab"]
    assert world.do(wf, "batch", [1, 2], configs) == [1, 2]
    assert world.do(wf, "batch", [1, 2], configs) == [2, 4]
    with pytest.raises(TypeError, match="3 inputs and 2 configs"):
        world.do(wf, "batch", [1, 2, 3], configs)


@pytest.mark.parametrize("most", [1, 2])
def test_a_batch_keeps_to_max_concurrency(world: World, most: int) -> None:
    """No more than `max_concurrency` of a batch's runs are under way at a time, and each has its result."""
    under_way: list[int] = []
    seen: list[int] = []

    @world.entrypoint
    async def wf(x: int) -> int:
        under_way.append(x)
        seen.append(len(under_way))
        if world.is_async:
            for _ in range(5):
                await asyncio.sleep(0)
        under_way.remove(x)
        return x

    assert world.do(wf, "batch", list(range(12)), {"max_concurrency": most}) == list(range(12))
    assert max(seen) <= most


@entrypoint(checkpointer="memory://")
async def doubled(x: int) -> int:
    return x * 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: doubled(1),
        lambda: doubled.ainvoke(1, thread_id="t"),
        lambda: doubled.aget_state({"configurable": {"thread_id": "t"}}),
        lambda: anext(doubled.astream(1, thread_id="t")),
        lambda: doubled.abatch([1, 2]),
    ],
    ids=["call", "ainvoke", "aget_state", "astream", "abatch"],
)
def test_a_coroutine_that_no_event_loop_of_asyncio_runs_is_told_what_to_write(call: Any) -> None:
    """Under trio, say; asyncio's own error names no function of the author's to call."""
    with pytest.raises(RuntimeError, match=r"^no event loop of asyncio runs here.*trio\.to_thread\.run_sync"):
        call().__await__().send(None)
