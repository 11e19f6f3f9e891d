"""Whose unfinished run a call goes on with where a class may have been edited: its own, and no other one's (G2)."""

import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, make_dataclass
from functools import partial, wraps
from types import MethodType
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import entrypoint
from flowfn.errors import DatabaseLocked
from flowfn.ports import ThreadRow

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


async def order(order: Any) -> Any:
    """What a decorator is put around by hand, for each customer."""


def of_decorator(world: World, body: Any) -> Callable[[str], Any]:
    def made(tenant: str) -> Any:
        @wraps(order)
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


@pytest.mark.parametrize("made_by", [of_partials, of_methods, of_factory, of_decorator])
def test_a_call_leaves_the_unfinished_run_of_another_customer(world: World, made_by: Any) -> None:
    """Section 4: the input is equal, and what a partial or an object holds beside it isn't."""
    of = made_by(world, failing(world))
    with pytest.raises(ConnectionError):
        world.call(of("acme"), Order(1))
    assert world.call(of("globex"), Order(1)) == "globex"
    assert world.call(of("acme"), Order(1)) == "acme"
    assert len([*world.saver.threads()]) == 2


@dataclass
class Parcel:
    weight: int


def test_a_call_is_known_though_only_the_class_of_its_argument_was_edited(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G1: a notebook's cell gives it a field, and the workflow's isn't run again."""
    body = failing(world)

    @world.entrypoint
    async def wf(parcel: Any) -> Any:
        return await body(str(parcel.weight))

    with pytest.raises(ConnectionError):
        world.call(wf, Parcel(1))
    edited: Any = make_dataclass("Parcel", [("weight", int), ("is_fragile", bool, False)])
    edited.__module__ = __name__
    monkeypatch.setattr(sys.modules[__name__], "Parcel", edited)
    assert world.call(wf, edited(1)) == "1"
    assert len([*world.saver.threads()]) == 1


@pytest.mark.parametrize("given", [1, Order(1)], ids=["plain", "an object"])
def test_a_call_on_a_thread_leaves_the_run_of_another_partial(world: World, given: Any) -> None:
    """Section 4: what is recorded there belongs to the call that had other arguments."""
    of = of_partials(world, failing(world))
    with pytest.raises(ConnectionError):
        world.call(of("acme").thread("t"), given)
    assert world.call(of("globex").thread("t"), given) == "globex"


class Pickling:
    """A serializer of somebody's own, which raises what it likes."""

    def dumps(self, value: Any) -> bytes:
        return pickle.dumps(value)

    def loads(self, data: bytes) -> Any:
        if b"gone" in data:
            raise AttributeError("its class is gone")
        return pickle.loads(data)


class Looked(MemorySaver):
    """Counts how often it is asked for all threads, and may be locked meanwhile."""

    looks = 0
    is_locked = False

    def threads(self, **wanted: Any) -> Iterator[ThreadRow]:
        self.looks += 1
        return super().threads(**wanted)

    def history(self, *args: Any, **wanted: Any) -> Any:
        if self.is_locked:
            raise DatabaseLocked("somebody else writes")
        return super().history(*args, **wanted)


def unfinished(saver: MemorySaver) -> Any:
    """A workflow that left a run unfinished, and was decorated anew since."""

    @entrypoint(checkpointer=saver, name="wf")
    def before(given: Any) -> Any:
        raise ConnectionError("lost")

    @entrypoint(checkpointer=saver, name="wf")
    def wf(given: Any) -> Any:
        return given

    with pytest.raises(ConnectionError):
        before({"gone": Order(1)})
    return wf


def test_a_run_that_cannot_be_read_is_no_hindrance_to_another() -> None:
    """Whatever a serializer of somebody's own raises."""
    wf = unfinished(MemorySaver(serde=Pickling()))
    assert wf(Order(2)) == Order(2)


def test_a_run_that_could_not_be_looked_at_is() -> None:
    """G1: it may be the very call, and what is recorded of it would run again."""
    saver = Looked()
    wf = unfinished(saver)
    saver.is_locked = True
    with pytest.raises(DatabaseLocked):
        wf(Order(2))
    saver.is_locked = False
    assert wf(Order(2)) == Order(2)


def test_what_is_unfinished_is_looked_through_once_for_all_that_a_factory_makes_of_the_same() -> None:
    """A workflow that is made anew for each request doesn't cost by the questions that are open."""
    saver = Looked()

    def pipeline(tenant: str) -> Any:
        @entrypoint(checkpointer=saver)
        def wf(order: Order) -> str:
            return tenant

        return wf

    assert [pipeline("acme")(Order(number)) for number in range(3)] == ["acme"] * 3
    assert saver.looks == 1
