"""A call sees the context variables of the moment when it was made, and what it sets is its own."""

from __future__ import annotations

from contextvars import ContextVar

from ..worlds import World

tenant: ContextVar[str] = ContextVar("tenant", default="nobody")


def test_a_call_sees_what_was_set_when_it_was_made(world: World) -> None:
    """Who waits for it may have gone on meanwhile, and may run it in place."""

    @world.task
    async def seen(number: int) -> str:
        return tenant.get()

    async def each() -> list[str]:
        tenant.set("Ada")
        first = seen(1)
        tenant.set("Bob")
        second = seen(2)
        tenant.set("Eve")
        return [await world.value(first), await world.value(second), tenant.get()]

    assert world.invoke(world.entrypoint(each), thread_id="t") == ["Ada", "Bob", "Eve"]


def test_what_a_call_sets_is_seen_by_its_own_calls_alone(world: World) -> None:
    """Neither by its caller nor by the next call, be it run in place or beside: a reused one sets nothing."""

    @world.task
    async def inner(number: int) -> str:
        return tenant.get()

    @world.task
    async def sets(name: str) -> str:
        tenant.set(name)
        return str(await world.value(inner(1)))

    async def each() -> list[str]:
        tenant.set("Ada")
        alone = await world.value(sets("Bob"))
        together = [sets(name) for name in ("Eve", "Joe", "Sue")]
        return [alone, tenant.get(), *[await world.value(one) for one in together], tenant.get()]

    assert world.invoke(world.entrypoint(each), thread_id="t") == [
        "Bob",
        "Ada",
        "Eve",
        "Joe",
        "Sue",
        "Ada",
    ]
