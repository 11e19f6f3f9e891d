"""Waiting for several tasks: `gather` and `as_completed` (section 3)."""

import asyncio
from typing import Any

import pytest

from flowfn import InvalidInput, as_completed, entrypoint, gather, task

from ..worlds import Rendezvous, World


def test_gather_keeps_the_order_of_its_futures(world: World) -> None:
    """`gather` gives the results in the order of the calls; it takes futures, or one iterable of them."""

    @world.task
    async def double(x: int) -> int:
        return 2 * x

    @world.entrypoint
    async def wf() -> list[list[int]]:
        return [
            await world.value(gather(double(3), double(1))),
            await world.value(gather(double(x) for x in (5, 4))),
            await world.value(gather()),
        ]

    assert world.invoke(wf) == [[6, 2], [10, 8], []]


def test_gather_is_not_the_list_of_its_results(world: World) -> None:
    """A loop over it forgets to wait, or to await: an error says what to write."""

    @world.task
    async def double(x: int) -> int:
        return 2 * x

    @world.entrypoint
    async def wf() -> int:
        return sum(gather(double(3), double(1)))  # type: ignore[arg-type]

    with pytest.raises(TypeError, match=r"write `for x in gather\(…\)\.result\(\)`"):
        world.invoke(wf)


def test_gather_waits_for_all_before_it_raises(world: World) -> None:
    """An error in `gather` is raised when all have ended, so that what they did is recorded."""

    @world.task
    async def double(x: int) -> int:
        if x == 0:
            raise KeyError("gone")
        world.ran.append(x)
        return 2 * x

    @world.entrypoint
    async def wf() -> list[int]:
        return await world.value(gather(double(x) for x in range(4)))

    with pytest.raises(KeyError, match="gone"):
        world.invoke(wf)
    assert sorted(world.ran) == [1, 2, 3]


@pytest.mark.parametrize("wait", [gather, as_completed])
def test_what_is_no_future_is_refused_by_name(world: World, wait: Any) -> None:
    """Who passes results, or a task that wasn't called, is shown what, and told what to write."""

    @world.task
    async def double(x: int) -> int:
        return 2 * x

    @world.entrypoint
    async def wf(x: int) -> None:
        wait([double(1), await world.value(double(2))])

    name = wait.__name__
    with pytest.raises(
        InvalidInput, match=rf"{name}\(\) waits for the futures .* and 4 is none: write {name}"
    ):
        world.invoke(wf, 1, thread_id="joined")


def test_a_task_that_was_not_called_is_no_future() -> None:
    """`gather(task)` says so, where the call was forgotten."""
    with pytest.raises(InvalidInput, match=r"gather.*<task .*> is none"):
        gather(task(print))  # type: ignore[arg-type]


def test_as_completed_yields_every_future_once(world: World) -> None:
    """`as_completed` yields each future when it has ended, none twice."""

    @world.task
    async def double(x: int) -> int:
        return 2 * x

    @world.entrypoint
    async def wf() -> list[int]:
        calls = [double(x) for x in range(5)]
        if world.is_async:
            return sorted([future.result() async for future in as_completed(calls)])
        return sorted(future.result() for future in as_completed([*calls, calls[0]]))

    assert world.invoke(wf) == [0, 2, 4, 6, 8]


def test_as_completed_replays_the_recorded_order(world: World) -> None:
    """A resumed run gets finished futures in the order in which they were recorded, not in that of the calls."""
    rendezvous, orders = Rendezvous(world, 2), []

    @world.task
    async def slow() -> str:
        if len(orders) == 0:
            await rendezvous.meet()
        return "slow"

    @world.task
    async def quick() -> str:
        return "quick"

    @world.entrypoint
    async def wf() -> list[str]:
        order = []
        calls = [slow(), quick()]
        if world.is_async:
            async for future in as_completed(calls):
                order.append(future.result())
                if order == ["quick"] and not orders:
                    await rendezvous.meet()
        else:
            for future in as_completed(calls):
                order.append(future.result())
                if order == ["quick"] and not orders:
                    rendezvous._barrier.wait()
        orders.append(order)
        if len(orders) == 1:
            raise ConnectionError("lost")
        return order

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    assert world.invoke(wf, None, thread_id="t") == ["quick", "slow"]


def test_parents_that_wait_leave_their_threads_to_their_children(sync_world: World) -> None:
    """More parents than there are threads wait for their children with `as_completed`, and all end."""
    world = sync_world

    @world.task
    async def child(x: int) -> int:
        return x

    @world.task
    async def parent(n: int) -> int:
        return sum(future.result() for future in as_completed(child(10 * n + x) for x in range(3)))

    @world.entrypoint
    async def wf(n: int) -> int:
        return sum(await world.value(gather(parent(x) for x in range(n))))

    assert world.invoke(wf, 80) == sum(30 * n + 3 for n in range(80))


def test_a_parent_that_waits_leaves_its_place_to_its_children(world: World) -> None:
    """Under `max_concurrency` code in `as_completed` takes no place while it waits."""

    @world.task
    async def child(x: int) -> int:
        return x

    @world.task
    async def parent(n: int) -> int:
        found = 0
        if world.is_async:
            async for future in as_completed(child(10 * n + x) for x in range(3)):
                found += await future
        else:
            for future in as_completed(child(10 * n + x) for x in range(3)):
                found += future.result()
        return found

    @world.entrypoint
    async def wf() -> list[int]:
        return await world.value(gather(parent(n) for n in range(3)))

    assert world.invoke(wf, config={"max_concurrency": 1}) == [3, 33, 63]


async def test_the_event_loop_is_not_blocked_by_a_plain_for() -> None:
    """`for` over tasks that the loop has to run would wait for ever: it is refused, and says what to write."""

    @task
    async def answer() -> int:
        await asyncio.sleep(0)
        return 42

    @entrypoint()
    async def wf(x: int) -> list[int]:
        return [future.result() for future in as_completed([answer()])]

    with pytest.raises(RuntimeError, match="write `async for`"):
        await asyncio.wait_for(wf.ainvoke(1), 30)
