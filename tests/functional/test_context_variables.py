"""A call of a sync task sees the context variables of the moment when it was made, and what it sets is its own.

A coroutine that is awaited at once is a part of the code that awaits it, as any other.
"""

from __future__ import annotations

from contextvars import ContextVar

from ..worlds import World

tenant: ContextVar[str] = ContextVar("tenant", default="nobody")


def test_a_call_sees_what_was_set_when_it_was_made(sync_world: World) -> None:
    """Who waits for it may have gone on meanwhile, and may run it in place."""

    @sync_world.task
    def seen(number: int) -> str:
        return tenant.get()

    async def each() -> list[str]:
        tenant.set("Ada")
        first = seen(1)
        tenant.set("Bob")
        second = seen(2)
        tenant.set("Eve")
        return [await sync_world.value(first), await sync_world.value(second), tenant.get()]

    assert sync_world.invoke(sync_world.entrypoint(each), thread_id="t") == ["Ada", "Bob", "Eve"]


def test_what_a_call_sets_is_seen_by_its_own_calls_alone(sync_world: World) -> None:
    """Neither by its caller nor by the next call, be it run in place or beside."""

    @sync_world.task
    async def inner(number: int) -> str:
        return tenant.get()

    @sync_world.task
    async def sets(name: str) -> str:
        tenant.set(name)
        return str(await sync_world.value(inner(1)))

    async def each() -> list[str]:
        tenant.set("Ada")
        alone = await sync_world.value(sets("Bob"))
        together = [sets(name) for name in ("Eve", "Joe", "Sue")]
        return [alone, tenant.get(), *[await sync_world.value(one) for one in together], tenant.get()]

    assert sync_world.invoke(sync_world.entrypoint(each), thread_id="t") == [
        "Bob",
        "Ada",
        "Eve",
        "Joe",
        "Sue",
        "Ada",
    ]
