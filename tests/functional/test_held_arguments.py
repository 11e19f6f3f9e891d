"""What a callable brings along is a part of its calls' identity: partials, bound methods, callable objects (G2)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from flowfn import CachePolicy, MemoryCache, task
from flowfn.caching.keys import key_of

from ..worlds import World

ran: list[Any] = []


def add(left: int, right: int, *more: int, scale: int = 1, **named: int) -> int:
    ran.append((left, right, *more, scale, *named.values()))
    return (left + right + sum(more) + sum(named.values())) * scale


@dataclass
class Adder:
    left: int

    def __call__(self, right: int) -> int:
        ran.append((self.left, right))
        return self.left + right

    def plus(self, right: int) -> int:
        return self(right)


class Opaque:
    """Nothing tells one from another."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self, right: int) -> int:
        return self.left + right


class Stateless:
    """There is nothing to tell."""

    def __call__(self, right: int) -> int:
        return right


MAKERS: dict[str, Callable[[int], Any]] = {
    "partial": lambda left: functools.partial(add, left),
    "partial of a partial": lambda left: functools.partial(functools.partial(add, left), scale=2),
    "partial with a keyword": lambda left: functools.partial(add, 5, scale=left),
    "partial of *args": lambda left: functools.partial(add, 5, 6, left),
    "partial of **kwargs": lambda left: functools.partial(add, 5, extra=left),
    "partial of a method": lambda left: functools.partial(Adder.plus, Adder(left)),
    "bound method": lambda left: Adder(left).plus,
    "object with __call__": lambda left: Adder(left),
}


@pytest.mark.parametrize("made", MAKERS.values(), ids=MAKERS)
def test_calls_that_come_in_another_order_get_their_own_records(
    world: World, made: Callable[[int], Any]
) -> None:
    """Each of three tasks of one name has a record, found whatever comes first; nothing runs again."""
    tasks = [task(made(left)) for left in (10, 20, 30)]
    order = [0, 1, 2]

    def both() -> list[int]:
        found = {place: tasks[place](7) for place in order}
        if order[0] == 0:
            [each.result() for each in found.values()]
            raise ConnectionError("killed here")
        return [found[place].result() for place in range(3)]

    async def coroutine() -> list[int]:
        found = {place: await tasks[place](7) for place in order}
        if order[0] == 0:
            raise ConnectionError("killed here")
        return [found[place] for place in range(3)]

    workflow = world.entrypoint(coroutine if world.is_async else both)
    with pytest.raises(ConnectionError):
        world.invoke(workflow, thread_id="t")
    ran.clear()
    order.reverse()
    assert world.invoke(workflow, None, thread_id="t") == [made(left)(7) for left in (10, 20, 30)]
    assert len(ran) == 3  # those of the line above


@pytest.mark.parametrize("made", MAKERS.values(), ids=MAKERS)
def test_a_kept_result_is_that_of_its_own_arguments(world: World, made: Callable[[int], Any]) -> None:
    """No task gets the cached result of another of its name."""
    tasks = [task(cache_policy=CachePolicy())(made(left)) for left in (10, 20, 10)]

    async def each() -> list[int]:
        return [await world.value(one(7)) for one in tasks]

    ran.clear()
    found = world.invoke(world.entrypoint(cache=MemoryCache())(each), thread_id="t")
    assert len(ran) == 2
    assert found == [made(left)(7) for left in (10, 20, 10)]


def test_what_cannot_be_told_apart_is_not_kept() -> None:
    """An object without a digest is an argument without one, and may be left out by the name that it has there."""
    policy = CachePolicy()
    assert key_of(task(cache_policy=policy)(Opaque(1))._self_definition, (7,), {}).text == ""
    ignored = task(cache_policy=policy, ignore="self")(Opaque(1))
    assert key_of(ignored._self_definition, (7,), {}).text != ""
    assert key_of(task(cache_policy=policy)(Stateless())._self_definition, (7,), {}).text != ""


def test_a_direct_call_continues_the_run_of_its_own_arguments(world: World) -> None:
    """Two workflows that are one function with other arguments leave runs of their own."""
    left = {"calls": 2}

    def visit(name: str, count: int) -> str:
        if left["calls"]:
            left["calls"] -= 1
            raise ConnectionError("killed here")
        return f"{name} {count}"

    ada, bob = (world.entrypoint(functools.partial(visit, name)) for name in ("Ada", "Bob"))
    for workflow in (ada, bob):
        with pytest.raises(ConnectionError):
            world.call(workflow, 1)
    assert (world.call(ada, 1), world.call(bob, 1)) == ("Ada 1", "Bob 1")
