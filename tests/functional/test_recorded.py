"""`now`, `uuid4`, `random` and `sleep` are recorded once, and the same when the run goes on (section 3)."""

import asyncio
import contextlib
import functools
import math
import sys
import time
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count, cycle
from threading import Event
from typing import Any
from uuid import UUID, uuid4

import pytest

import flowfn
from checkpointers import MemorySaver
from flowfn import entrypoint, interrupt, task

from ..worlds import World

MAKERS = {"now": flowfn.now, "uuid4": flowfn.uuid4, "random": flowfn.random}


@pytest.mark.parametrize("name", MAKERS)
def test_a_value_is_made_once(world: World, name: str) -> None:
    """The attempt that goes on sees what the first one saw, in the entrypoint and in tasks."""
    make, seen = MAKERS[name], []

    @world.task
    async def inside() -> Any:
        return make()

    @world.entrypoint
    async def wf() -> Any:
        values = [make(), await world.value(inside()), make()]
        seen.append(values)
        return [*values, interrupt("ok?")]

    world.invoke(wf, thread_id="t")
    assert world.resume(wf, "yes", "t") == [*seen[0], "yes"]
    assert seen[0] == seen[1]
    assert len(set(seen[0])) == 3


def helped() -> Any:
    """A project's own way to make one."""
    return flowfn.uuid4()


seen: list[Any] = []


def asked(*values: Any) -> Any:
    """Note the values, and wait."""
    seen.append(values)
    return interrupt("ok?")


def original() -> Any:
    first = flowfn.uuid4()
    second = helped()
    third = [flowfn.uuid4() for _ in range(2)]
    return asked(first, second, third)


def inserted() -> Any:
    new = flowfn.uuid4()
    first = flowfn.uuid4()
    newer = helped()
    second = helped()
    newest = flowfn.uuid4() if new != newer else None
    third = [flowfn.uuid4() for _ in range(2)]
    assert newest not in third
    return asked(first, second, third)


def swapped() -> Any:
    third = [flowfn.uuid4() for _ in range(2)]
    second = helped()
    first = flowfn.uuid4()
    return asked(first, second, third)


def renamed() -> Any:
    earliest = flowfn.uuid4()
    second = helped()
    third = [flowfn.uuid4() for _ in range(2)]
    return asked(earliest, second, third)


def moved() -> Any:
    def begin() -> Any:
        first = flowfn.uuid4()
        return first

    return asked(begin(), helped(), [flowfn.uuid4() for _ in range(2)])


@pytest.mark.parametrize("edited", [original, inserted, swapped, renamed, moved])
def test_a_value_stays_with_its_place_whatever_is_edited_around_it(world: World, edited: Any) -> None:
    """G9: made values are arguments of calls, and a call that got another one would run again."""
    seen.clear()
    world.invoke(world.entrypoint(name="wf")(original), thread_id="t")
    world.resume(world.entrypoint(name="wf")(edited), "yes", "t")
    before, after = seen
    assert after == before


def sent(**keys: Any) -> list[Any]:
    """A call that tells by keywords what the values are."""
    return [*keys.values()]


def test_a_keyword_tells_one_value_from_another(world: World) -> None:
    """G9: the id of an order isn't that of a refund, which an edit puts in front of it."""
    seen.clear()

    def before() -> Any:
        order = sent(order=flowfn.uuid4())
        return asked(order)

    def after() -> Any:
        order = sent(refund=flowfn.uuid4())
        order = sent(order=flowfn.uuid4())
        return asked(order)

    world.invoke(world.entrypoint(name="wf")(before), thread_id="t")
    world.resume(world.entrypoint(name="wf")(after), "yes", "t")
    assert seen[0] == seen[1]


def test_a_keyword_on_a_line_of_its_own_tells_its_value(world: World) -> None:
    """G9: so it is where the keywords stand below what is called."""
    seen.clear()

    def before() -> Any:
        order = sent(
            order=flowfn.uuid4(),
        )
        return asked(order[-1])

    def after() -> Any:
        order = sent(
            refund=flowfn.uuid4(),
            order=flowfn.uuid4(),
        )
        return asked(order[-1])

    world.invoke(world.entrypoint(name="wf")(before), thread_id="t")
    world.resume(world.entrypoint(name="wf")(after), "yes", "t")
    assert seen[0] == seen[1]


def test_a_line_that_is_no_longer_the_last_of_a_handler_keeps_its_value(world: World) -> None:
    """G9: Python forgets the error there, which the line doesn't name, and one inserted before it takes nothing."""
    seen.clear()
    told: list[Any] = []

    def before() -> Any:
        try:
            raise KeyError("k")
        except KeyError as error:  # noqa: F841
            key = flowfn.uuid4()
        return asked(key)

    def after() -> Any:
        try:
            raise KeyError("k")
        except KeyError as error:
            new = flowfn.uuid4()
            key = flowfn.uuid4()
            told.append((new, error))
        return asked(key)

    world.invoke(world.entrypoint(name="wf")(before), thread_id="t")
    world.resume(world.entrypoint(name="wf")(after), "yes", "t")
    assert seen[0] == seen[1]


def test_one_more_item_takes_no_value_of_a_line_that_has_moved(world: World) -> None:
    """G9: the item's line was there, so that it is none that was edited; the line that has moved has its value."""
    seen.clear()
    items = ["a"]

    def before() -> Any:
        keys = [flowfn.uuid4() for _ in items]
        key = flowfn.uuid4()
        return asked(keys, key)

    def after() -> Any:
        def begin() -> Any:
            key = flowfn.uuid4()
            return key

        keys = [flowfn.uuid4() for _ in items]
        return asked(keys, begin())

    world.invoke(world.entrypoint(name="wf")(before), thread_id="t")
    items = ["a", "b"]
    world.resume(world.entrypoint(name="wf")(after), "yes", "t")
    ([a], moved), ([again, new], same) = seen
    assert (again, same) == (a, moved)
    assert new not in (a, moved)


def test_items_of_an_edited_line_keep_their_values_from_one_attempt_to_the_next(world: World) -> None:
    """G9: what the line made for later items, since it was edited, says nothing of the earlier ones."""
    seen.clear()
    items = ["a"]

    def before() -> Any:
        return asked([flowfn.uuid4() for _ in items])

    def after() -> Any:
        keys = [flowfn.uuid4() for _ in items]
        asked(keys)
        interrupt("sure?")

    world.invoke(world.entrypoint(name="wf")(before), thread_id="t")
    items = ["a", "b"]
    flow = world.entrypoint(name="wf")(after)
    world.resume(flow, "yes", "t")
    world.resume(flow, "yes", "t")
    ([a],), *_, ([again, b],) = seen
    assert seen[1:] == [([a, b],), ([a, b],)]
    assert again == a != b


def test_items_of_an_edited_line_keep_their_values_beside_branches(async_world: World) -> None:
    """G9: also where branches are told apart, which look for their own records first."""
    got: dict[str, Any] = {}
    items = ["a"]

    @async_world.task
    async def check() -> None:
        pass

    async def branch() -> None:
        await check()

    async def before() -> Any:
        await asyncio.gather(branch(), branch())
        for item in items:
            got[item] = flowfn.uuid4()
        raise ConnectionError("lost")

    async def after() -> Any:
        await asyncio.gather(branch(), branch())
        for item in items:
            key = flowfn.uuid4()
            assert got.setdefault(item, key) == key
        raise ConnectionError("lost")

    with pytest.raises(ConnectionError):
        async_world.invoke(async_world.entrypoint(before, name="wf"), {}, thread_id="t")
    items = ["a", "b"]
    flow = async_world.entrypoint(after, name="wf")
    for _ in range(2):
        with pytest.raises(ConnectionError):
            async_world.invoke(flow, None, thread_id="t")
    assert len({*got.values()}) == 2


def logged(function: Any) -> Any:
    """A decorator of the project's."""

    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return function(*args)

    return wrapper


def seller(currency: str) -> Any:
    """Makes a function of any arguments, which isn't a decorator's."""

    def sell(*new: Any) -> Any:
        offer = new[0] and (currency, helped())
        first = currency, helped()
        return asked(first[1], "tax" and helped()), offer

    return sell


class Sold:
    def sell(self, **new: Any) -> Any:
        return None


class Resold(Sold):
    """Hands on what it was given, and makes values."""

    def sell(self, **new: Any) -> Any:
        super().sell(**new)
        offer = new["new"] and ("offer", helped())
        return asked(helped()), offer


@pytest.mark.parametrize("sells", [lambda new: seller("EUR")(new), lambda new: Resold().sell(new=new)])
def test_lines_of_code_that_takes_anything_count(world: World, sells: Any) -> None:
    """G9: only the line that hands it on is a decorator's; where another is inserted, the values stay."""
    seen.clear()
    runs: list[None] = []

    def body() -> Any:
        runs.append(None)
        return sells(len(runs) > 1)

    workflow = world.entrypoint(name="wf")(body)
    world.invoke(workflow, thread_id="t")
    world.resume(workflow, "yes", "t")
    before, after = seen
    assert after == before


@pytest.mark.parametrize("put_on", [True, False], ids=["put on", "taken off"])
def test_a_decorator_moves_no_value(world: World, put_on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """G9: whether the helper that makes one has a decorator, or had one, is nothing to its place."""
    seen.clear()
    before, after = (helped, logged(helped)) if put_on else (logged(helped), helped)
    monkeypatch.setattr(sys.modules[__name__], "helped", before)
    world.invoke(world.entrypoint(name="wf")(original), thread_id="t")
    monkeypatch.setattr(sys.modules[__name__], "helped", after)
    world.resume(world.entrypoint(name="wf")(original), "yes", "t")
    assert seen[0] == seen[1]


@logged
def decorated() -> Any:
    return helped()


@dataclass
class Order:
    """Makes one for a field."""

    id: UUID = field(default_factory=lambda: flowfn.uuid4())


class Shop:
    """Makes one by an object that it was given."""

    def __init__(self, ids: Any) -> None:
        self.ids = ids


class Ids:
    def next(self) -> UUID:
        return flowfn.uuid4()


SHOP = Shop(Ids())


def by_a_decorated_helper(new: bool) -> Any:
    trace = helped() if new else None
    return asked(decorated()), trace


def by_a_default(new: bool) -> Any:
    trace = helped() if new else None
    return asked(Order().id), trace


def by_an_object_that_was_given(new: bool) -> Any:
    trace = helped() if new else None
    return asked(SHOP.ids.next()), trace


class Initialised(type):
    """Makes instances by an `__init__` that isn't in their class, as mappers of classes to tables do."""

    def __call__(cls, *args: Any) -> Any:
        made = cls.__new__(cls)
        INIT.get()(made, *args)
        return made


@dataclass
class Parcel(metaclass=Initialised):
    """Its code is generated, and nothing leads to it."""

    to: str
    id: UUID = field(default_factory=lambda: flowfn.uuid4())


INIT: ContextVar[Any] = ContextVar("INIT", default=Parcel.__init__)
del Parcel.__init__


def by_generated_code(new: bool) -> Any:
    probe = Parcel("probe") if new else None
    return asked(Parcel("ada").id), probe and probe.id


@pytest.mark.parametrize(
    "place", [by_a_decorated_helper, by_a_default, by_an_object_that_was_given, by_generated_code]
)
def test_a_value_stays_with_a_place_that_no_name_leads_to(world: World, place: Any) -> None:
    """G9: what is inserted before it gets a value of its own, however the code comes to the place."""
    seen.clear()
    runs: list[None] = []

    def body() -> Any:
        runs.append(None)
        return place(len(runs) > 1)

    workflow = world.entrypoint(name="wf")(body)
    world.invoke(workflow, thread_id="t")
    _, trace = world.resume(workflow, "yes", "t")
    (before,), (after,) = seen
    assert (after == before, trace in (before, None)) == (True, False)


def test_a_value_inside_what_is_waited_for_is_told_by_who_waits() -> None:
    """G2: one that is inserted before it, at another line that waits for the same, is made anew."""
    made: list[list[UUID]] = []

    async def draw() -> UUID:
        return flowfn.uuid4()

    async def drawn() -> UUID:
        (found,) = [await asyncio.wait_for(draw(), 60) for _ in range(1)]
        return found

    @entrypoint(checkpointer=MemorySaver())
    async def wf() -> None:
        inserted = [await asyncio.wait_for(draw(), 50)] if made else []
        made.append([await asyncio.wait_for(asyncio.wait_for(drawn(), 60), 60), *inserted])
        if len(made) == 1:
            raise ConnectionError("lost")

    with pytest.raises(ConnectionError):
        asyncio.run(wf.thread("t").ainvoke())
    asyncio.run(wf.thread("t").aresume())
    (before,), (after, inserted) = made
    assert (after, inserted != before) == (before, True)


def test_a_value_of_a_place_that_is_new_is_made_anew(world: World) -> None:
    """G2: it is never the one that another place, which hasn't been reached, was given."""
    made: list[UUID] = []

    @world.entrypoint
    async def wf() -> Any:
        new = flowfn.uuid4() if made else None
        made.append(flowfn.uuid4())
        return [new, interrupt("ok?")]

    world.invoke(wf, thread_id="t")
    new, _ = world.resume(wf, "yes", "t")
    assert (made[0] == made[1], new in made) == (True, False)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="asyncio has no eager tasks before Python 3.12")
def test_a_branch_gets_its_own_value_whether_the_loop_runs_it_or_an_eager_task_its_maker() -> None:
    """G2: on the next attempt, recorded results are there at once, and an eager task goes on where it had waited."""
    made: list[list[UUID]] = []

    @task
    async def wait(number: int) -> int:
        await asyncio.sleep(0)
        return number

    async def branch(number: int) -> UUID:
        if number % 2:
            await wait(number)
        return flowfn.uuid4()

    @entrypoint(checkpointer=MemorySaver())
    async def wf() -> Any:
        made.append(await asyncio.gather(*map(branch, range(4))))
        return interrupt("ok?")

    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]
        await wf.thread("t").ainvoke()
        await wf.thread("t").aresume("yes")

    asyncio.run(main())
    before, after = made
    assert after == before


@pytest.mark.skipif(sys.version_info < (3, 12), reason="asyncio has no eager tasks before Python 3.12")
def test_code_whose_time_is_limited_is_one_branch_also_where_its_task_is_eager() -> None:
    """G2: what it calls before it first waits, and after that, are calls of the same code in their order."""
    numbers, seen = count(1), list[list[int]]()

    @task
    async def poll() -> int:
        await asyncio.sleep(0)
        return next(numbers)

    @entrypoint(checkpointer=MemorySaver(), timeout=60)
    async def wf() -> None:
        await wait(0)
        seen.append([])
        for _ in range(len(seen)):
            seen[-1].append(await poll())
        raise ConnectionError("lost")

    @task
    async def wait(number: int) -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]
        for _ in range(4):
            with pytest.raises(ConnectionError):
                await wf.ainvoke({} if not seen else None, thread_id="t")

    asyncio.run(main())
    assert seen == [[*range(1, length)] for length in range(2, 6)]


TURNS = cycle((0, 9))
"""Turns of the loop, in the first attempt and in the second."""


async def _by_names(branch: Any) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(branch(number), name=f"branch {9 - number}")


async def _by_anyio(branch: Any) -> None:
    import anyio

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(branch, number)


async def _by_anyio_as_they_come(branch: Any) -> None:
    import anyio

    async with anyio.create_task_group() as group:
        for number in range(4) if next(TURNS) else reversed(range(4)):
            group.start_soon(branch, number)


async def _by_anyio_by_ids_as_they_come(branch: Any) -> None:
    import anyio

    async def of(order: UUID, url: str, at: float) -> None:
        await branch(order.int % 4)

    async with anyio.create_task_group() as group:
        for number in range(4) if next(TURNS) else reversed(range(4)):
            order = UUID(int=7 * 10**36 + number)
            group.start_soon(of, order, f"https://shop.example/{order}", number / 7)


async def _by_anyio_with_a_deadline(branch: Any) -> None:
    import anyio

    async def until(box: list[int], end: float, id: UUID) -> None:
        await branch(*box)

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(until, [number], time.monotonic() + 60, uuid4())


async def _by_anyio_and_a_decorator(branch: Any) -> None:
    import anyio

    async def wrapper(*args: Any, **kwargs: Any) -> None:
        await branch(*args, **kwargs)

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(wrapper, number)


async def _by_anyio_with_a_parameter_that_changes(branch: Any) -> None:
    import anyio

    async def until(number: int, end: float | None = None) -> None:
        end = end or time.monotonic() + 60
        await branch(number)

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(until, number)


async def _by_anyio_with_a_parameter_that_is_used_up(branch: Any) -> None:
    import anyio

    async def numbered(number: int) -> None:
        guest, number = number, 0
        await branch(guest)

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(numbered, number)


async def _in_what_waits(branch: Any) -> None:
    async def boxed(box: list[int]) -> None:
        await branch(*box)

    await asyncio.gather(*(asyncio.wait_for(boxed([number]), 60) for number in range(4)))


async def _in_librarys_coroutines(branch: Any) -> None:
    @contextlib.asynccontextmanager
    async def quiet() -> Any:
        yield

    @quiet()
    async def boxed(box: list[int]) -> None:
        await branch(*box)

    await asyncio.gather(*(boxed([number]) for number in range(4)))


async def _beside_a_quiet_one(branch: Any) -> None:
    turns = next(TURNS)

    async def warm_up() -> None:
        for _ in range(turns):
            await asyncio.sleep(0)

    await asyncio.gather(warm_up(), *map(branch, range(4)))


async def _after_some_polling(branch: Any) -> None:
    stop = asyncio.Event()
    for _ in range(next(TURNS)):
        await asyncio.wait({asyncio.create_task(stop.wait())}, timeout=0)
    await asyncio.gather(*map(branch, range(4)))


async def _beside_one_that_waits_for_another(branch: Any) -> None:
    turns = next(TURNS)

    async def warm_up() -> None:
        for _ in range(turns):
            await asyncio.sleep(0)

    warm = asyncio.create_task(warm_up())
    for _ in range(5):
        await asyncio.sleep(0)
    await asyncio.gather(asyncio.wait_for(warm, 60), *map(branch, range(4)))


async def _in_branches(branch: Any) -> None:
    turns = next(TURNS)

    async def half(guests: Any, turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        await asyncio.gather(*map(branch, guests))

    await asyncio.gather(half(range(2), turns), half(range(2, 4), 9 - turns))


async def _by_a_factory(branch: Any) -> None:
    asyncio.get_running_loop().set_task_factory(
        lambda loop, coro, **kw: _named(asyncio.Task(coro, loop=loop, **kw))
    )
    await asyncio.gather(*map(branch, range(4)))


def _named(task: Any) -> Any:
    task.set_name("made")
    return task


SPLIT = [_by_names, _in_what_waits, _in_librarys_coroutines, _beside_a_quiet_one, _in_branches, _by_a_factory]
SPLIT += [
    _after_some_polling,
    _beside_one_that_waits_for_another,
    _by_anyio_as_they_come,
    _by_anyio_by_ids_as_they_come,
    _by_anyio_with_a_deadline,
    _by_anyio,
    _by_anyio_and_a_decorator,
    _by_anyio_with_a_parameter_that_changes,
    _by_anyio_with_a_parameter_that_is_used_up,
]


@pytest.mark.parametrize("split", SPLIT)
def test_branches_get_their_own_values_however_they_were_made(split: Any) -> None:
    """G2: whichever comes first, each branch gets the value that it had, and of equal calls the results of its own."""
    if "anyio" in split.__name__:
        pytest.importorskip("anyio")
    seats, booked, order = count(), [], [[0, 1, 2, 3], [3, 1, 0, 2]]

    @task
    async def seat() -> int:
        return next(seats)

    @task
    async def book(guest: int, number: int, id: UUID) -> None:
        booked.append(guest)

    @entrypoint(checkpointer=MemorySaver())
    async def wf() -> None:
        turns, come = order.pop(), [asyncio.Event() for _ in range(5)]
        come[0].set()

        async def branch(guest: int) -> None:
            turn = turns.index(guest)
            await come[turn].wait()
            future, id = seat(), flowfn.uuid4()
            come[turn + 1].set()
            await book(guest, await future, id)

        await split(branch)
        if order:
            raise ConnectionError("lost")

    async def twice() -> None:
        with pytest.raises(ConnectionError):
            await wf.thread("t").ainvoke()
        await wf.thread("t").aresume()

    asyncio.run(twice())
    assert sorted(booked) == [0, 1, 2, 3]


@pytest.mark.parametrize("own", [None, lambda loop, coro, **more: asyncio.Task(coro, loop=loop, **more)])
def test_a_loop_has_the_task_factory_that_it_had(own: Any) -> None:
    """What counts tasks while a run is under way takes nobody's place, leaves with it, and takes no task's name."""

    @entrypoint
    async def wf() -> str:
        async def branch() -> str:
            current = asyncio.current_task()
            assert current is not None
            return current.get_name()

        return await asyncio.create_task(branch())

    async def main() -> tuple[str, Any, Any]:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(own)
        return (
            await wf.ainvoke(),
            loop.get_task_factory(),
            await asyncio.create_task(asyncio.sleep(0, "after")),
        )

    name, factory, after = asyncio.run(main())
    assert (factory, after) == (own, "after")
    assert own is not None or name.startswith("Task-")


@pytest.mark.parametrize("name", MAKERS)
def test_another_run_sees_another_value(world: World, name: str) -> None:
    """What is recorded belongs to one run."""
    make = MAKERS[name]

    @world.entrypoint
    async def wf() -> Any:
        return make()

    assert world.invoke(wf, thread_id="a") != world.invoke(wf, thread_id="b")
    assert world.invoke(wf, thread_id="a") != world.invoke(wf, thread_id="a")


def test_outside_a_run_they_are_ordinary() -> None:
    """Outside a run they are what their names say, and `now` is in UTC."""
    assert isinstance(flowfn.uuid4(), UUID)
    assert 0 <= flowfn.random() < 1
    assert abs(flowfn.now() - datetime.now(UTC)).total_seconds() < 60
    assert flowfn.now().tzinfo is UTC


def test_a_recorded_value_matches_calls_made_from_it(world: World) -> None:
    """Section 4, rule 3: an argument from `flowfn.uuid4()` is the same on the next attempt, so the call is too."""

    @world.task
    async def charge(key: Any) -> str:
        world.ran.append(key)
        return f"charged {key}"

    @world.entrypoint
    async def wf() -> list[Any]:
        return [await world.value(charge(flowfn.uuid4())), interrupt("ok?")]

    world.invoke(wf, thread_id="t")
    world.resume(wf, "yes", "t")
    assert len(world.ran) == 1


def sleeping(world: World, seconds: float | timedelta) -> Any:
    """A workflow that sleeps in the world's colour, and then asks."""

    @world.entrypoint
    async def wf() -> Any:
        slept = flowfn.sleep(seconds)
        if world.is_async:
            await slept
        return interrupt("ok?")

    return wf


@pytest.mark.parametrize("seconds", [0.05, timedelta(milliseconds=50)], ids=["float", "timedelta"])
def test_sleep_is_not_slept_again(world: World, seconds: float | timedelta) -> None:
    """An attempt that goes on after the time of waking doesn't sleep."""
    wf = sleeping(world, seconds)
    started = time.monotonic()
    world.invoke(wf, thread_id="t")
    assert time.monotonic() - started >= 0.05
    assert world.resume(wf, "yes", "t") == "yes"


def test_a_sleep_takes_seconds(world: World) -> None:
    """What is no duration is told as such, inside a run and outside."""
    with pytest.raises(
        TypeError, match=r"sleep\(\) takes seconds or a timedelta, not '1'; write sleep\(30\)"
    ):
        world.invoke(sleeping(world, "1"), thread_id="t")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes seconds or a timedelta, not None"):
        flowfn.sleep(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [math.inf, math.nan])
def test_a_sleep_that_never_ends_is_refused(world: World, seconds: float) -> None:
    """Nothing is recorded, and it says what waits for somebody."""
    with pytest.raises(ValueError, match=r"would never wake up; .* interrupt\(\)"):
        world.invoke(sleeping(world, seconds), thread_id="t")


@pytest.mark.parametrize("passed", [-1, 0, timedelta(days=-1), Decimal("-0.5")])
def test_a_sleep_until_what_has_passed(world: World, passed: Any) -> None:
    """Nobody waits, inside a run and outside: a deadline may pass while a run is down."""
    wf = sleeping(world, passed)
    world.invoke(wf, thread_id="t")
    assert world.resume(wf, "yes", "t") == "yes"

    async def outside() -> None:
        await flowfn.sleep(passed)

    if world.asyncio:
        world.call(outside)
    else:
        assert flowfn.sleep(passed) is None


def test_a_short_sleep_outside_a_run(world: World) -> None:
    """Outside a run `sleep` is an ordinary one, awaitable on an event loop."""

    async def main() -> None:
        await flowfn.sleep(0)

    if world.asyncio:
        world.call(main)
    else:
        assert flowfn.sleep(0) is None


async def _threads(branch: Any) -> None:
    await asyncio.gather(*(branch(guest) for guest in range(4)))


async def _threads_in_contexts(branch: Any) -> None:
    tasks = [asyncio.create_task(branch(guest), context=copy_context()) for guest in range(4)]
    await asyncio.gather(*tasks)


@pytest.mark.parametrize("split", [_threads, _threads_in_contexts, _by_anyio])
def test_a_thread_that_a_branch_waits_for_gets_the_values_of_the_branch(split: Any) -> None:
    """G2: it has a copy of the branch's context, whichever thread comes first."""
    if split is _by_anyio:
        pytest.importorskip("anyio")
    booked: list[tuple[int, UUID]] = []
    order = [[0, 1, 2, 3], [3, 1, 0, 2]]

    @task
    def book(guest: int, id: UUID) -> None:
        booked.append((guest, id))

    def work(guest: int, turns: list[Event]) -> None:
        turns[guest].wait(10)
        book(guest, flowfn.uuid4()).result()
        following = order[0].index(guest) + 1
        if following < 4:
            turns[order[0][following]].set()

    @entrypoint(checkpointer=MemorySaver())
    async def wf() -> None:
        turns = [Event() for _ in range(4)]
        turns[order[0][0]].set()

        async def branch(guest: int) -> None:
            await asyncio.to_thread(work, guest, turns)

        await split(branch)
        if len(order) > 1:
            raise ConnectionError("lost")

    with pytest.raises(ConnectionError):
        asyncio.run(wf.thread("t").ainvoke())
    order.pop(0)
    asyncio.run(wf.thread("t").aresume())
    assert [guest for guest, _ in booked] == [0, 1, 2, 3]


def test_what_a_library_has_threads_do_for_a_branch_is_of_that_branch() -> None:
    """G2: LangChain runs plain functions so, from tasks of its own; how often it did before makes no difference."""
    pytest.importorskip("langchain_core")
    from langchain_core.runnables import RunnableLambda

    polls, drawn = [1, 3], []
    draw = RunnableLambda(lambda item: (item, flowfn.uuid4()))
    poll = RunnableLambda(lambda item: item)

    @entrypoint(checkpointer=MemorySaver())
    async def wf() -> None:
        for _ in range(polls.pop(0)):
            await poll.abatch([0, 1])
        drawn.append(sorted(await draw.abatch([5])))
        if polls:
            raise ConnectionError("lost")

    with pytest.raises(ConnectionError):
        asyncio.run(wf.thread("t").ainvoke())
    asyncio.run(wf.thread("t").aresume())
    assert drawn[0] == drawn[1]
