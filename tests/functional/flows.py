"""Workflows whose states several rooms of tests look at."""

from typing import Any

from flowfn import entrypoint, interrupt

from ..worlds import World


def increasing(world: World) -> Any:
    """Golden trace C8: two tasks, a question, and `final`."""

    @world.task
    async def inc(x: int) -> int:
        world.ran.append(x)
        return x + 1

    @world.entrypoint
    async def wf(x: int, *, previous: Any = None) -> Any:
        results = [await world.value(inc(x)), await world.value(inc(x + 1))]
        answer = interrupt("ok?")
        return entrypoint.final(value={"r": results, "a": answer, "prev": previous}, save=x + 4)

    return wf


def adding(world: World) -> Any:
    """A workflow that adds to what its thread has summed up."""

    @world.task
    async def add(x: int, y: int) -> int:
        world.ran.append((x, y))
        return x + y

    @world.entrypoint
    async def wf(x: int, *, previous: int = 0) -> int:
        return await world.value(add(previous, x))

    return wf
