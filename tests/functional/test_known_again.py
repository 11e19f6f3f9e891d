"""Whose unfinished run a call goes on with where a class may have been edited: its own, and no other one's (G2)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import MethodType
from typing import Any

import pytest

from ..worlds import World


@dataclass
class Order:
    amount: int


@dataclass
class Shop:
    """What a workflow is a method of; its list counts in a call, and is nothing that it goes by for good."""

    tenants: list[str]


def of_partials(world: World, body: Any) -> Callable[[str], Any]:
    async def wf(tenant: str, order: Any) -> Any:
        return await body(tenant)

    return lambda tenant: world.entrypoint(partial(world.colour(wf), tenant))


def of_methods(world: World, body: Any) -> Callable[[str], Any]:
    async def wf(self: Shop, order: Any) -> Any:
        return await body(self.tenants[0])

    return lambda tenant: world.entrypoint(MethodType(world.colour(wf), Shop([tenant])))


def of_factory(world: World, body: Any) -> Callable[[str], Any]:
    def made(tenant: str) -> Any:
        async def wf(order: Any) -> Any:
            return await body(tenant)

        return world.entrypoint(wf)

    return made


def failing(world: World) -> Any:
    """A body that fails on its first run, after a task that tells whose it was."""
    failures = [True]

    async def load() -> Any:
        return world.ran[-1]

    task = world.task(load)

    async def body(tenant: str) -> Any:
        world.ran.append(tenant)
        loaded = await world.value(task())
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return loaded

    return body


@pytest.mark.parametrize("made_by", [of_partials, of_methods, of_factory])
def test_a_call_leaves_the_unfinished_run_of_another_customer(world: World, made_by: Any) -> None:
    """Section 4: the input is equal, and what a partial or an object holds beside it isn't."""
    of = made_by(world, failing(world))
    with pytest.raises(ConnectionError):
        world.call(of("acme"), Order(1))
    assert world.call(of("globex"), Order(1)) == "globex"
    assert world.call(of("acme"), Order(1)) == "acme"
    assert len([*world.saver.threads()]) == 2


@pytest.mark.parametrize("given", [1, Order(1)], ids=["plain", "an object"])
def test_a_call_on_a_thread_leaves_the_run_of_another_partial(world: World, given: Any) -> None:
    """Section 4: what is recorded there belongs to the call that had other arguments."""
    of = of_partials(world, failing(world))
    with pytest.raises(ConnectionError):
        world.call(of("acme").thread("t"), given)
    assert world.call(of("globex").thread("t"), given) == "globex"
