"""Of equal calls that branches of one code make, each gets the record of its own, whichever comes first (G2)."""

import asyncio
import math
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent import futures
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from flowfn import interrupt, now, task, uuid4
from flowfn.hosts import patience

from ..worlds import World, asked, questions


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for a branch that doesn't come would wait for ever."""
    monkeypatch.setattr(patience, "PATIENCE", math.inf)


class Customers:
    """Each gets a number, of which nothing in the call says whose it is, and an account of that number."""

    def __init__(self, world: World, *, made: bool = False, stamped: bool = False, wait: Any = None) -> None:
        self.world, self.numbers, self.ran = world, count(1), list[str]()
        self.first, self.dies = "", ""

        @world.task
        async def check(name: str) -> None:
            self.ran.append(f"check {name}")

        def numbering(of: str) -> Any:
            @world.task
            async def number(*stamp: float) -> int:
                self.ran.append(f"number for {of}")
                return next(self.numbers)

            return number

        @world.task
        async def account(name: str, number: int) -> str:
            self.ran.append(f"account {name}")
            return f"{name}{number}"

        number = [numbering("customers"), *([numbering("suppliers")] if made else [])][0]

        async def customer(name: str, turn: asyncio.Event) -> str:
            if name != self.first:
                await turn.wait()
            await check(name)
            turn.set()
            if name == self.dies:
                raise ConnectionError("lost")
            found = number(*([time.time()] if stamped else []))
            if wait is not None:
                await wait(found)
            return str(await account(name, await found))

        @world.entrypoint
        async def wf() -> list[str]:
            turn = asyncio.Event()
            return await asyncio.gather(*(customer(name, turn) for name in ("a", "b")))

        self.wf = wf

    def attempt(self, given: Any, *, first: str, dies: str = "") -> Any:
        """What an attempt comes to; `first` says whose check ends first, and after that of `dies` it is lost."""
        self.first, self.dies = first, dies
        self.ran.clear()
        with suppress(ConnectionError):
            return self.world.invoke(self.wf, given, thread_id="t")


@pytest.mark.parametrize("stamped", [False, True], ids=["", "stamped"])
@pytest.mark.parametrize("made", [False, True], ids=["", "namesakes"])
def test_a_branch_that_had_made_no_call_takes_no_other_ones(
    async_world: World, made: bool, stamped: bool
) -> None:
    """G2: it makes its own, though it comes first to what the other had made; so one account has a number, and each
    customer one account."""
    customers = Customers(async_world, made=made, stamped=stamped)
    customers.attempt({}, first="b", dies="a")
    recorded = [each for each in customers.ran if each.startswith("account")]
    assert recorded in ([], ["account b"])
    assert customers.attempt(None, first="a") == ["a2", "b1"]
    assert customers.ran.count("number for customers") == 1
    assert customers.ran.count("account a") == 1
    assert recorded + [each for each in customers.ran if each == "account b"] == ["account b"]


def test_a_thread_takes_no_call_of_another_branch(async_world: World) -> None:
    """G2: what a thread calls is of the branch that waits for it, though the thread can't await."""
    numbers, ran, first = count(1), list[str](), "b"

    @task
    def number() -> int:
        return next(numbers)

    @task
    def account(name: str, number: int) -> str:
        ran.append(f"{name}{number}")
        return ran[-1]

    def customer(name: str, turn: threading.Event) -> str:
        if name != first:
            turn.wait()
        if name != first == "b":
            raise ConnectionError("lost")
        found = number()
        if first == "a":
            turn.set()
        made = account(name, found.result()).result()
        turn.set()
        return made

    @async_world.entrypoint
    async def wf() -> list[str]:
        turn = threading.Event()
        return await asyncio.gather(*(asyncio.to_thread(customer, name, turn) for name in ("a", "b")))

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    first = "a"
    assert async_world.invoke(wf, None, thread_id="t") == ["a2", "b1"]
    assert ran == ["b1", "a2"]


GOING_ON = ["limit", "group", "first"]
"""How code goes on that doesn't wait any longer for its branches."""


@pytest.mark.parametrize("by", GOING_ON)
def test_a_branch_takes_nothing_of_the_code_that_had_gone_on_without_it(async_world: World, by: str) -> None:
    """G2: what that called then it will call again, or, if the branch is quicker now, not at all."""
    numbers, ran, lost = count(1), list[str](), True

    @async_world.task
    async def number() -> int:
        return next(numbers)

    @async_world.task
    async def account(name: str, number: int) -> str:
        ran.append(f"{name}{number}")
        return ran[-1]

    async def part() -> None:
        await (asyncio.Event().wait() if lost else asyncio.sleep(0))
        await account("part", await number())

    async def fail() -> None:
        raise ValueError

    @async_world.entrypoint
    async def wf() -> str:
        with suppress(TimeoutError, ExceptionGroup):
            if by == "limit":
                async with asyncio.timeout(0.05 if lost else None):
                    await asyncio.gather(part())
            elif by == "group":
                async with asyncio.TaskGroup() as group:
                    group.create_task(part())
                    await asyncio.sleep(0.01)
                    if lost:
                        group.create_task(fail())
            else:
                tasks = [asyncio.create_task(each) for each in (part(), asyncio.sleep(0.01))]
                await asyncio.wait(tasks, return_when="FIRST_COMPLETED" if lost else "ALL_COMPLETED")
        made = str(await account("whole", await number()))
        if lost:
            raise ConnectionError("lost")
        return made

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    lost = False
    assert async_world.invoke(wf, None, thread_id="t") == "whole1"
    assert ran == ["whole1", "part2"]


async def _by_wrapping(future: Any) -> None:
    await asyncio.wrap_future(future)


async def _by_waiting_on_a_thread(future: Any) -> None:
    await asyncio.to_thread(futures.wait, [future])


async def _by_looking(future: Any) -> None:
    while not future.done():
        await asyncio.sleep(0.001)


async def _by_a_callback(future: Any) -> None:
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    future.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set))
    await ended.wait()


WAYS = {
    "wrapped": _by_wrapping,
    "on a thread": _by_waiting_on_a_thread,
    "looking": _by_looking,
    "callback": _by_a_callback,
}


@pytest.mark.parametrize("wait", WAYS.values(), ids=WAYS)
def test_a_call_that_comes_upon_another_ones_record_goes_on_however_it_is_waited_for(
    async_world: World, wait: Callable[[Any], Awaitable[None]]
) -> None:
    """G2: nobody has to await it."""
    customers = Customers(async_world, wait=wait)
    customers.attempt({}, first="b", dies="a")
    assert customers.attempt(None, first="a") == ["a2", "b1"]


def test_a_branch_that_gave_up_on_a_call_keeps_its_records(async_world: World) -> None:
    """G2: others come upon them as if it had made no such call; and that isn't run any more."""
    numbers, ran, attempt = count(1), list[str](), 1

    @async_world.task
    async def number() -> int:
        ran.append("number")
        return next(numbers)

    @async_world.task
    async def key() -> str:
        return f"key {next(numbers)}"

    @async_world.task
    async def use(name: str, key: str) -> str:
        ran.append(f"{name}: {key}")
        return key

    async def giving_up(given_up: asyncio.Event, taken: asyncio.Event) -> str:
        if attempt == 1:
            await taken.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await number()
        given_up.set()
        if attempt == 3:
            await taken.wait()
        used = str(await use("one", await key()))
        taken.set()
        return used

    async def owner(taken: asyncio.Event) -> None:
        while attempt > 1 and (attempt == 2 or not taken.is_set()):
            await asyncio.sleep(0.001)  # it waits for nothing of the others', as far as is seen
        await number()
        if attempt == 1:
            raise ConnectionError("lost")

    async def other(given_up: asyncio.Event, taken: asyncio.Event) -> str:
        await given_up.wait()
        if attempt == 2:
            await taken.wait()
            raise ConnectionError("lost")
        found = key()
        taken.set()
        return str(await use("other", await found))

    @async_world.entrypoint
    async def wf() -> list[str | None]:
        given_up, taken = asyncio.Event(), asyncio.Event()
        return await asyncio.gather(giving_up(given_up, taken), owner(taken), other(given_up, taken))

    for given in ({}, None):
        with pytest.raises(ConnectionError):
            async_world.invoke(wf, given, thread_id="t")
        attempt += 1
    assert ran == ["number", "one: key 2"]
    assert async_world.invoke(wf, None, thread_id="t") == ["key 2", None, "key 3"]
    assert ran == ["number", "one: key 2", "other: key 3"]


IDS = {"a": "5e2c7f0e-6f7b-4c3a-9d57-3e1f7a1f5b01", "b": "c1a9d0b4-83f2-4d0e-8a3f-0b6f2f9e7d02"}
"""Ids of the customers, which look made anew on each attempt."""


LOCKS = {
    "lock": asyncio.Lock,
    "semaphore": lambda: asyncio.Semaphore(1),
    "anyio lock": lambda: anyio().Lock(),
    "anyio semaphore": lambda: anyio().Semaphore(1),
    "anyio limiter": lambda: anyio().CapacityLimiter(1),
}


def anyio() -> Any:
    """The library, which needn't be there where these tests aren't run."""
    import anyio

    return anyio


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
def test_a_branch_goes_on_before_one_that_waits_for_it(async_world: World, lock: Callable[[], Any]) -> None:
    """G2: what differs in what looks random is no other branch's record, though that one waits for its turn."""
    ran, first, dies = list[str](), "b", "a"

    @async_world.task
    async def check(name: str) -> None:
        if name != first:
            await checked.wait()
        checked.set()

    @async_world.task
    async def charge(customer: str) -> str:
        ran.append(customer)
        return customer

    @async_world.entrypoint
    async def wf() -> list[str]:
        limit = lock()

        async def customer(name: str) -> str:
            await check(name)
            async with limit:
                if name == dies:
                    raise ConnectionError("lost")
                return str(await charge(IDS[name]))

        return await asyncio.gather(*map(customer, IDS))

    checked = asyncio.Event()
    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    first, dies = "a", ""
    assert async_world.invoke(wf, None, thread_id="t") == [*IDS.values()]
    assert sorted(ran) == sorted(IDS.values())


def test_a_branch_of_edited_code_takes_no_value_of_another_one(async_world: World) -> None:
    """G2: it has come upon records of its own, so that it has the number that it had."""
    ran, first, dies = list[str](), "b", "a"

    @async_world.task
    async def check(name: str) -> None:
        ran.append(f"check {name}")

    @async_world.task
    async def charge(name: str, key: str) -> str:
        ran.append(f"charge {name}")
        return f"{name} {key}"

    async def customer(name: str, turn: asyncio.Event) -> str:
        if name != first:
            await turn.wait()
        await check(name)
        if name == dies:
            turn.set()
            raise ConnectionError("lost")
        charged = str(await charge(name, str(uuid4())))
        turn.set()
        return charged

    async def before() -> list[str]:
        turn = asyncio.Event()
        return await asyncio.gather(customer("a", turn), customer("b", turn))

    async def after() -> list[str]:
        turn, begun = asyncio.Event(), "begun"
        assert begun
        return await asyncio.gather(customer("a", turn), customer("b", turn))

    with pytest.raises(ConnectionError):
        async_world.invoke(async_world.entrypoint(before, name="wf"), {}, thread_id="t")
    charged = [each for each in ran if each.startswith("charge")]
    ran.clear()
    first, dies = "a", ""
    a, b = async_world.invoke(async_world.entrypoint(after, name="wf"), None, thread_id="t")
    assert (a.split()[0], b.split()[0]) == ("a", "b")
    assert a.split()[1] != b.split()[1]
    assert sorted(charged + ran) == ["charge a", "charge b"]


@pytest.mark.parametrize("value", [uuid4, now], ids=["uuid4", "now"])
def test_a_new_item_of_edited_code_takes_no_value_of_another_one(
    async_world: World, value: Callable[[], Any]
) -> None:
    """G2: it comes first, and has no record of its own; but the branch that has left one is there, and comes for it."""
    items = ["a", "b"]

    async def customer(item: str, turn: asyncio.Event) -> Any:
        if item in "ab" and "new" in items:
            await turn.wait()
        found = value()
        turn.set()
        return found

    async def before() -> None:
        turn = asyncio.Event()
        raise ConnectionError(await asyncio.gather(*(customer(item, turn) for item in items)))

    async def after() -> list[Any]:
        turn, edited = asyncio.Event(), True
        assert edited
        return await asyncio.gather(*(customer(item, turn) for item in items))

    with pytest.raises(ConnectionError) as lost:
        async_world.invoke(async_world.entrypoint(before, name="wf"), {}, thread_id="t")
    items = ["new", "a", "b"]
    new, *again = async_world.invoke(async_world.entrypoint(after, name="wf"), None, thread_id="t")
    assert again == lost.value.args[0]
    assert new not in again


def test_a_branch_takes_no_answer_to_another_ones_question(async_world: World) -> None:
    """G8: its own is the very same, and it asks that, though it comes first to the answer."""
    answers, first = list[str](), "a"

    async def one(name: str, turn: asyncio.Event) -> None:
        if name != first:
            await turn.wait()
        turn.set()
        if name == "b":
            interrupt("which?")
        answers.append(f"{name}: {interrupt('approve?')}")

    @async_world.entrypoint
    async def wf() -> None:
        turn = asyncio.Event()
        await asyncio.gather(one("a", turn), one("b", turn))

    ids = {each.value: each.id for each in questions(async_world.invoke(wf, {}, thread_id="t"))}
    assert sorted(ids) == ["approve?", "which?"]
    first = "b"
    left = async_world.resume(wf, {ids["which?"]: "this", ids["approve?"]: "for a"}, "t")
    assert (asked(left), answers) == (["approve?"], ["a: for a"])
    async_world.resume(wf, {questions(left)[0].id: "for b"}, "t")
    assert sorted(answers) == ["a: for a", "a: for a", "b: for b"]


class Workers:
    """Take items from a queue, and each makes one call for each of them."""

    def __init__(self, world: World) -> None:
        self.world, self.ran, self.order = world, list[str](), ""
        self.release = asyncio.Event()

        @world.task
        async def process(item: str) -> str:
            self.ran.append(item)
            if item == "long":
                await self.release.wait()
            if item == "next":
                self.release.set()
            return item.upper()

        self.process = process

    def run(self, body: Callable[[], Awaitable[Any]], given: Any) -> Any:
        """What a workflow with that body comes to."""
        self.release = asyncio.Event()
        self.ran.clear()
        wf = self.world.entrypoint(body, name="wf")
        return self.world.invoke(wf, given, thread_id="t")


def turn_by_turn(world: World, bodies: list[Callable[[Workers], Awaitable[Any]]]) -> tuple[Any, list[str]]:
    """What a workflow comes to by these bodies of one code, one for each attempt; and what ran in the last."""
    workers, attempts = Workers(world), iter(bodies)

    async def wf() -> Any:
        return await next(attempts)(workers)

    with pytest.raises(ConnectionError):
        workers.run(wf, {})
    return workers.run(wf, None), workers.ran


class Stream:
    """What anyio has for a queue, by the names of asyncio's."""

    def __init__(self) -> None:
        self._sent, self._received = anyio().create_memory_object_stream(math.inf)
        self._left, self._ended = 0, asyncio.Event()

    def put_nowait(self, item: str) -> None:
        self._left += 1
        self._sent.send_nowait(item)

    async def get(self) -> Any:
        return await self._received.receive()

    def task_done(self) -> None:
        self._left -= 1
        if not self._left:
            self._ended.set()

    async def join(self) -> None:
        if self._left:
            await self._ended.wait()
        self._sent.close()
        self._received.close()


def taking(
    *shares: list[str], lost: bool = False, beats: bool = False, kind: Callable[[], Any] = asyncio.Queue
) -> Callable[[Workers], Awaitable[list[str]]]:
    """Workers that take these items, one after the other, and then wait for more; whether the attempt is lost then, and
    another branch keeps time meanwhile."""

    async def body(workers: Workers) -> list[str]:
        found: list[str] = []
        queues = [kind() for _ in shares]
        for queue, share in zip(queues, shares, strict=True):
            for item in share:
                queue.put_nowait(item)

        async def worker(share: int) -> None:  # it might take of all, so that they are as one queue
            while True:
                found.append(await workers.process(await queues[share].get()))
                queues[share].task_done()

        async def beat() -> None:
            while True:
                await asyncio.sleep(0.01)

        started = [asyncio.create_task(worker(share)) for share in range(len(queues))]
        if beats:
            started.append(asyncio.create_task(beat()))
        for queue in queues:
            await queue.join()
        for each in started:
            each.cancel()
        if lost:
            raise ConnectionError("lost")
        return sorted(found)

    return body


def test_a_branch_gets_a_record_of_the_code_that_has_gone_past_it(async_world: World) -> None:
    """G2: what calls the code had come by that before it had branches, so nothing is kept for it."""
    ran: list[str] = []

    @async_world.task
    async def check(name: str) -> None:
        pass

    @async_world.task
    async def stamp(at: float) -> str:
        ran.append("stamp")
        return "stamped"

    async def stamped(name: str) -> None:
        await check(name)
        await stamp(time.time())

    order = ["a", "branch", "b"]

    @async_world.entrypoint
    async def wf() -> None:
        for each in order:
            await (asyncio.gather(stamped("c")) if each == "branch" else stamped(each))
        if order[-1] == "b":
            raise ConnectionError("lost")

    with suppress(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    ran.clear()
    order = ["a", "b", "branch"]
    async_world.invoke(wf, None, thread_id="t")
    assert ran == []


@pytest.mark.parametrize("kind", [asyncio.Queue, Stream])
def test_a_worker_gets_the_record_of_one_that_waits_for_items(
    async_world: World, kind: Callable[[], Any]
) -> None:
    """G2: what takes an item is whoever is free, and what is recorded of it doesn't run again."""
    before = taking(["x"], ["y"], lost=True, kind=kind)
    found = turn_by_turn(async_world, [before, taking(["y", "x", "more"], [], kind=kind)])
    assert found == (["MORE", "X", "Y"], ["more"])


def test_a_branch_gets_no_record_of_one_that_waits_at_a_queue_of_its_own(async_world: World) -> None:
    """G2: what that will be given is for none of the others."""
    numbers, ran, first = count(1), list[str](), "b"

    @async_world.task
    async def number() -> int:
        return next(numbers)

    @async_world.task
    async def account(name: str, number: int) -> str:
        ran.append(f"{name}{number}")
        return ran[-1]

    async def customer(name: str, turn: asyncio.Event) -> str:
        queue: asyncio.Queue[str] = asyncio.Queue()

        async def feed() -> None:
            if name != first:
                await turn.wait()
            if name != first == "b":
                raise ConnectionError("lost")
            queue.put_nowait("go")

        async def use() -> str:
            await queue.get()
            made = str(await account(name, await number()))
            turn.set()
            return made

        return (await asyncio.gather(feed(), use()))[1]

    @async_world.entrypoint
    async def wf() -> list[str]:
        turn = asyncio.Event()
        return await asyncio.gather(*(customer(name, turn) for name in ("a", "b")))

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    first = "a"
    assert async_world.invoke(wf, None, thread_id="t") == ["a2", "b1"]
    assert ran == ["b1", "a2"]


def test_a_worker_gets_the_record_of_one_that_is_at_work(async_world: World) -> None:
    """G2: that had made no call yet that ends later, so it won't make a recorded one after it."""
    found = turn_by_turn(async_world, [taking(["x"], ["y"], lost=True), taking(["y", "next"], ["long", "x"])])
    assert found == (["LONG", "NEXT", "X", "Y"], ["long", "next"])


def test_a_worker_gets_a_record_while_another_branch_only_keeps_time(async_world: World) -> None:
    """G2: a heartbeat has nobody wait for a worker that has nothing to do."""
    before, after = taking(["x"], ["y"], lost=True), taking(["y", "x"], [], beats=True)
    assert turn_by_turn(async_world, [before, after]) == (["X", "Y"], [])


def test_a_worker_gets_a_record_of_one_at_work_while_another_branch_only_keeps_time(
    async_world: World,
) -> None:
    """G2: what that is at work on takes as long as it may."""
    before, after = taking(["x"], ["y"], lost=True), taking(["y", "next"], ["long", "x"], beats=True)
    found = turn_by_turn(async_world, [before, after])
    assert found == (["LONG", "NEXT", "X", "Y"], ["long", "next"])


def test_workers_get_each_others_records(async_world: World) -> None:
    """G2: each takes what the other had taken."""
    before, after = taking(["a", "b"], ["c", "d"], lost=True), taking(["d", "c"], ["b", "a"])
    assert turn_by_turn(async_world, [before, after]) == (["A", "B", "C", "D"], [])


@pytest.mark.parametrize("own", [[], ["x"]], ids=["at once", "after its own"])
def test_a_worker_gets_the_record_of_one_that_has_done_something_new(
    async_world: World, own: list[str]
) -> None:
    """G2: that had had the outcome of no new call when it left the record, so it won't come for it, whatever it waits
    for."""

    def in_order(*shares: list[str], lost: bool = False) -> Callable[[Workers], Awaitable[list[str]]]:
        async def body(workers: Workers) -> list[str]:
            turn, found = asyncio.Event(), list[str]()

            async def worker(place: int) -> None:
                if place:
                    await turn.wait()
                for item in shares[place]:
                    found.append(await workers.process(item))
                if not place:
                    turn.set()
                    await asyncio.Queue[str]().get()

            first, second = (asyncio.create_task(worker(place)) for place in range(2))
            await second
            first.cancel()
            if lost:
                raise ConnectionError("lost")
            return found

        return body

    before = in_order([*own, "a"], ["b"], lost=True)
    found = turn_by_turn(async_world, [before, in_order([*own, "new"], ["a", "b"])])
    assert found == ([each.upper() for each in (*own, "new", "a", "b")], ["new"])


def test_a_branch_of_edited_code_gets_the_record_of_one_that_is_another_now(
    async_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G2: its function is new, and so is its number; nobody waits long for the branches that there are no more."""
    monkeypatch.setattr(patience, "PATIENCE", 0.01)
    workers = Workers(async_world)

    async def before() -> Any:
        await asyncio.gather(workers.process("x"), workers.process("y"))
        raise ConnectionError("lost")

    async def after() -> Any:
        async def watch() -> None:
            await asyncio.Event().wait()

        async def one(item: str) -> str:
            return str(await workers.process(item))

        watching = asyncio.create_task(watch())
        found = await asyncio.gather(one("x"), one("y"))
        watching.cancel()
        return found

    with pytest.raises(ConnectionError):
        workers.run(before, {})
    assert workers.run(after, None) == ["X", "Y"]
    assert workers.ran == []


@pytest.mark.parametrize("waits", ["", "charge", "mail"])
@pytest.mark.parametrize("after", ["abc", "bac", "cba", "cb", "ab"])
def test_an_item_that_another_branch_has_now_keeps_its_records(
    async_world: World, monkeypatch: pytest.MonkeyPatch, after: str, waits: str
) -> None:
    """Section 4, rule 1: a branch is told by its item, wherever that stands among the others."""
    monkeypatch.setattr(patience, "PATIENCE", 0.01)
    items, ran = "bc", list[str]()

    def step(name: str) -> Any:
        @async_world.task(name=name)
        async def run(item: str) -> str:
            ran.append(f"{name} {item}")
            return ran[-1]

        return run

    steps = {name: step(name) for name in ("charge", "mail")}

    @async_world.entrypoint
    async def wf() -> list[list[str]]:
        others = asyncio.get_running_loop().create_future()  # nobody sees that it is for the others' sake

        async def one(item: str) -> list[str]:
            found = []
            for name, call in steps.items():
                if item == "a" and name == waits:
                    await others
                found.append(await call(item))
            if item == "b":
                others.set_result(None)
            return found

        found = await asyncio.gather(*map(one, items))
        if items == "bc":
            raise ConnectionError("lost")
        return found

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    items, ran[:] = after, []
    expected = [[f"charge {item}", f"mail {item}"] for item in after]
    assert async_world.invoke(wf, None, thread_id="t") == expected
    assert ran == (["charge a", "mail a"] if "a" in after else [])


@dataclass
class Order:
    """An item of a class."""

    id: str


class Line(NamedTuple):
    """One that is a tuple."""

    order: str
    amount: int


class Account:
    """One of a plain class."""

    def __init__(self, owner: str) -> None:
        self.owner = owner

    def __repr__(self) -> str:
        return self.owner


ITEMS = {
    "numbers": (1, 2, 3, 4),
    "names": ("a", "b", "c", "d"),
    "dicts": tuple({"id": name, "at": {"city": "Rome"}} for name in "abcd"),
    "objects": tuple(map(Order, "abcd")),
    "ids": tuple(UUID(int=7 * 10**36 + number) for number in range(4)),
    "tuples": tuple(Line(name, 1) for name in "abcd"),
    "accounts": tuple(map(Account, "abcd")),
    "moments": tuple(datetime(2024, 5, day, 12, tzinfo=UTC) for day in range(1, 5)),
    "pages": tuple(range(first, first + 10) for first in range(0, 40, 10)),
}


@pytest.mark.parametrize("moved", [(2, 1, 0), (1, 2), (0, 2, 1), (3, 0, 1, 2), (3, 2, 1, 0)], ids=str)
@pytest.mark.parametrize("items", ITEMS.values(), ids=[*ITEMS])
def test_items_that_were_moved_keep_their_records_under_a_limit(
    async_world: World, items: tuple[Any, ...], moved: tuple[int, ...]
) -> None:
    """Section 4, rule 1: whichever is let in first, each has the number that it had, and nothing is charged twice."""
    seats, charged, order, lost = count(1), list[Any](), [*items[:3]], True

    @async_world.task
    async def number(kind: str) -> int:
        return next(seats)

    @async_world.task
    async def charge(item: Any, number: int) -> int:
        charged.append((item, number))
        return number

    @async_world.entrypoint
    async def wf() -> list[int]:
        limit = asyncio.Semaphore(1)

        async def one(seen: list[int], item: Any) -> int:
            async with limit:
                return int(await charge(str(item), await number("customers")))

        found = await asyncio.gather(*(one([*range(1000)], item) for item in order))
        if lost:
            raise ConnectionError("lost")
        return found

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    order[:], lost = [items[place] for place in moved], False
    assert async_world.invoke(wf, None, thread_id="t") == [place + 1 for place in moved]
    assert charged == [*zip(map(str, items[: 4 if 3 in moved else 3]), count(1), strict=False)]


class Shop:
    """Charges items, each under a number of which nothing in the call says whose it is."""

    def __init__(self, world: World) -> None:
        self.charged, numbers = list[str](), count(1)

        @world.task
        async def number(kind: str) -> int:
            return next(numbers)

        @world.task
        async def charge(item: str, number: int, id: UUID) -> str:
            self.charged.append(item)
            return f"{item}{number}"

        self.number, self.charge = number, charge

    async def sell(self, item: str) -> str:
        return str(await self.charge(item, await self.number("customers"), uuid4()))


def test_what_callbacks_of_gathered_calls_call_keeps_its_records(async_world: World) -> None:
    """G2: the callback of a future runs in the asyncio task that `gather` made to await it."""
    shop, lost = Shop(async_world), True

    @async_world.entrypoint
    async def wf() -> list[int]:
        numbers: list[Awaitable[int]] = []
        calls = [shop.charge(item, 0, UUID(int=0)) for item in "abc"]
        for call in calls:
            call.add_done_callback(lambda _: numbers.append(shop.number("customers")))
        await asyncio.gather(*calls)
        found = await asyncio.gather(*numbers)
        if lost:
            raise ConnectionError("lost")
        return sorted(found)

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    lost = False
    assert async_world.invoke(wf, None, thread_id="t") == [1, 2, 3]
    assert sorted(shop.charged) == ["a", "b", "c"]


def test_branches_with_arguments_that_differ_each_time_are_told_by_their_places(async_world: World) -> None:
    """G2: of what nobody can tell to be made anew the place counts, as of a random choice."""
    shop, attempts = Shop(async_world), count()

    @async_world.entrypoint
    async def wf() -> list[str]:
        attempt = next(attempts)

        async def one(chosen: str, names: list[str]) -> str:
            for _ in range(40 if names == ["a", "x"] else 0):
                await asyncio.sleep(0)
            return await shop.sell(names[0])

        found = await asyncio.gather(*(one(f"{name}{attempt}", [name, *"xyz"[:attempt]]) for name in "abc"))
        if not attempt:
            raise ConnectionError("lost")
        return found

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    before = [*shop.charged]
    async_world.invoke(wf, None, thread_id="t")
    assert shop.charged == before


def test_a_branch_is_told_by_its_place_beside_others_whose_arguments_are_what_they_were(
    async_world: World,
) -> None:
    """G2: nothing was edited, and what was chosen at random came out the same for some of them."""
    shop, choices = Shop(async_world), iter(("eu", "us", "eu", "eu", "eu", "us"))

    @async_world.entrypoint
    async def wf() -> list[str]:
        limit = asyncio.Semaphore(1)

        async def one(item: str, region: str) -> str:
            async with limit:
                return await shop.sell(item)

        found = await asyncio.gather(*(one(item, next(choices)) for item in "abc"))
        if len(shop.charged) == 3 and next(attempts) == 1:
            raise ConnectionError("lost")
        return found

    attempts = count(1)
    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    assert async_world.invoke(wf, None, thread_id="t") == ["a1", "b2", "c3"]
    assert shop.charged == ["a", "b", "c"]


@pytest.mark.parametrize(("items", "again"), [("xabc", "a"), ("axbc", "b"), ("abxc", "c"), ("abcx", "")])
def test_a_new_item_among_those_that_are_begun_one_by_one_costs_the_next_one_its_records_at_most(
    async_world: World, items: str, again: str
) -> None:
    """Section 4, rule 1: it has that place before anybody knows of the other; those after it are what they were."""
    shop, order = Shop(async_world), "abc"

    @async_world.entrypoint
    async def wf() -> list[str]:
        tasks = []
        for item in order:
            tasks.append(asyncio.create_task(shop.sell(item)))
            for _ in range(3):  # turns of the loop
                await asyncio.sleep(0)
        found = await asyncio.gather(*tasks)
        if order == "abc":
            raise ConnectionError("lost")
        return found

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    order = items
    async_world.invoke(wf, None, thread_id="t")
    assert sorted(shop.charged) == sorted([*"abcx", *again])


def test_a_branch_that_waits_with_a_limit_of_time_waits_for_what_it_has_begun(async_world: World) -> None:
    """Section 4, rule 1: a call that is held until all branches wait isn't held any longer for that one."""
    shop, order = Shop(async_world), "ab"

    @async_world.entrypoint
    async def wf() -> list[str]:
        limit = asyncio.Semaphore(1)

        async def one(item: str) -> str:
            async with limit:
                if item == "b" and order == "ab":
                    raise ConnectionError("lost")
                return await shop.sell(item)

        return await asyncio.gather(*(asyncio.wait_for(one(item), 60) for item in order))

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    order = "xab"
    assert async_world.invoke(wf, None, thread_id="t") == ["x2", "a1", "b3"]
    assert shop.charged == [*"axb"]


def test_a_new_item_of_edited_code_takes_no_call_of_one_that_a_limit_holds_up(async_world: World) -> None:
    """G2: the branch that has left the record is there, and comes for it, though it has come to nothing yet."""
    shop, items = Shop(async_world), ["a", "b"]

    async def all_of(items: list[str]) -> list[str]:
        limit = asyncio.Semaphore(1)

        async def one(item: str) -> str:
            async with limit:
                return await shop.sell(item)

        return await asyncio.gather(*(one(item) for item in items))

    async def before() -> None:
        raise ConnectionError(await all_of(items))

    async def after() -> list[str]:
        edited = await all_of(items)
        return edited

    with pytest.raises(ConnectionError):
        async_world.invoke(async_world.entrypoint(before, name="wf"), {}, thread_id="t")
    items = ["new", "a", "b"]
    found = async_world.invoke(async_world.entrypoint(after, name="wf"), None, thread_id="t")
    assert found == ["new3", "a1", "b2"]
    assert shop.charged == ["a", "b", "new"]


def test_a_new_item_of_edited_code_takes_no_call_of_branches_that_are_still_to_be_made(
    async_world: World,
) -> None:
    """G2: others of its function are there again, so that it is none that was renamed. Theirs were charged again."""
    shop, items = Shop(async_world), ["a"]

    async def first(item: str) -> str:
        return await shop.sell(item)

    async def second(item: str) -> str:
        return await shop.sell(item)

    async def before() -> None:
        await asyncio.gather(*map(first, items))
        await asyncio.gather(*map(second, ["b", "c"]))
        raise ConnectionError

    async def after() -> list[str]:
        sold = await asyncio.gather(*map(first, items))
        return [*sold, *await asyncio.gather(*map(second, ["b", "c"]))]

    with pytest.raises(ConnectionError):
        async_world.invoke(async_world.entrypoint(before, name="wf"), {}, thread_id="t")
    items = ["a", "new"]
    found = async_world.invoke(async_world.entrypoint(after, name="wf"), None, thread_id="t")
    assert found == ["a1", "new4", "b2", "c3"]
    assert shop.charged == ["a", "b", "c", "new"]


@pytest.mark.parametrize("order", ["a new b", "b a", "new b a"])
def test_a_worker_of_edited_code_gets_the_record_of_another_one(async_world: World, order: str) -> None:
    """G2: that has taken another item, and doesn't come for the one that it had."""
    ran, items = list[str](), ["a", "b"]

    @async_world.task
    async def sell(item: str) -> None:
        ran.append(item)

    async def worker(name: str, queue: asyncio.Queue[str]) -> None:
        while not queue.empty():
            item = queue.get_nowait()
            for _ in range(2):  # turns of the loop
                await asyncio.sleep(0)
            await sell(item)

    async def all_of(items: list[str]) -> None:
        queue = asyncio.Queue[str]()
        for item in items:
            queue.put_nowait(item)
        await asyncio.gather(worker("x", queue), worker("y", queue))

    async def before() -> None:
        await all_of(items)
        raise ConnectionError("lost")

    async def after() -> None:
        await all_of(items)

    with pytest.raises(ConnectionError):
        async_world.invoke(async_world.entrypoint(before, name="wf"), {}, thread_id="t")
    items = order.split()
    async_world.invoke(async_world.entrypoint(after, name="wf"), None, thread_id="t")
    assert sorted(ran) == sorted({"a", "b", *items})


@pytest.mark.parametrize("names", [["z", "w", "x"], ["z", "x"]], ids=" ".join)
def test_a_new_worker_of_edited_code_goes_on_with_what_one_did_that_has_gone(
    async_world: World, names: list[str]
) -> None:
    """G2: what an item is told by is in its calls, so that they are nobody else's. They ran again."""
    ran, items = list[str](), ["a", "b", "c", "d", "e", "f"]

    @async_world.task
    async def sell(item: str) -> None:
        ran.append(item)

    async def all_of(names: list[str]) -> None:
        left = iter(items)

        async def worker(name: str) -> None:
            for item in left:
                await sell(item)

        await asyncio.gather(*map(worker, names))

    async def before() -> None:
        await all_of(["x", "y", "v"])
        raise ConnectionError("lost")

    async def after() -> None:
        await all_of(names)

    with pytest.raises(ConnectionError):
        async_world.invoke(async_world.entrypoint(before, name="wf"), {}, thread_id="t")
    async_world.invoke(async_world.entrypoint(after, name="wf"), None, thread_id="t")
    assert sorted(ran) == items


def test_a_branch_that_comes_late_gets_the_record_that_it_left(async_world: World) -> None:
    """Section 4, rule 1: nothing was edited, and another branch makes an equal call before it this time."""
    shop, lost = Shop(async_world), True

    @async_world.entrypoint
    async def wf() -> list[str]:
        paid = asyncio.Event()

        async def one(item: str) -> str:
            if lost and item == "b":
                await paid.wait()
                raise ConnectionError("lost")
            for _ in range(0 if lost or item == "b" else 40):
                await asyncio.sleep(0)
            found = await shop.sell(item)
            paid.set()
            return found

        return await asyncio.gather(one("a"), one("b"))

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    lost = False
    assert async_world.invoke(wf, None, thread_id="t") == ["a1", "b2"]
    assert shop.charged == ["a", "b"]


@pytest.mark.parametrize("edited", [False, True], ids=["", "edited"])
@pytest.mark.parametrize("had", [False, True], ids=["nothing", "records"])
def test_a_branch_that_was_waited_for_in_vain_keeps_its_records(
    async_world: World, monkeypatch: pytest.MonkeyPatch, had: bool, edited: bool
) -> None:
    """G2: it waits for a reply longer than there is patience, and is recognised: the other one takes no number of it,
    whether that `had` left records or nothing. A second account was opened for it."""
    monkeypatch.setattr(patience, "PATIENCE", 0.01)
    numbers, ran, lost = count(1), list[str](), True

    @async_world.task
    async def check(name: str) -> None:
        ran.append(f"check {name}")

    @async_world.task
    async def number() -> int:
        return next(numbers)

    @async_world.task
    async def account(name: str, number: int) -> str:
        ran.append(f"{name}{number}")
        return ran[-1]

    async def customers() -> list[str]:
        turn, reply = asyncio.Event(), asyncio.get_running_loop().create_future()

        async def customer(name: str) -> str:
            if name == "b" and had:
                await check(name)
            if name == "b" and lost:
                await turn.wait()
                raise ConnectionError("lost")
            if name == "a" and not lost:
                await reply
            found = await number()
            if name == "b":
                reply.set_result(None)
            made = str(await account(name, found))
            turn.set()
            return made

        return await asyncio.gather(customer("a"), customer("b"))

    async def before() -> list[str]:
        return await customers()

    async def after() -> list[str]:
        return [*(await customers())]

    with pytest.raises(ConnectionError):
        async_world.invoke(async_world.entrypoint(before, name="wf"), {}, thread_id="t")
    lost = False
    wf = async_world.entrypoint(after if edited else before, name="wf")
    assert async_world.invoke(wf, None, thread_id="t") == ["a1", "b2"]
    assert sorted(ran) == ["a1", "b2", *(["check b"] if had else [])]


@pytest.mark.parametrize("edited", [False, True], ids=["", "edited"])
@pytest.mark.parametrize("names", ["xy", "xyz"])
def test_a_worker_gets_the_record_of_one_that_was_waited_for_in_vain(
    async_world: World, monkeypatch: pytest.MonkeyPatch, names: str, edited: bool
) -> None:
    """Section 4, rule 1: the item says whose the calls are, and another worker has it now."""
    monkeypatch.setattr(patience, "PATIENCE", 0.01)
    ran, lost = list[str](), True

    @async_world.task
    async def sell(item: str) -> None:
        ran.append(item)

    async def all_of() -> None:
        left, reply = iter("abcd"), asyncio.get_running_loop().create_future()

        async def worker(name: str) -> None:
            if name == "y" and not lost:
                await reply
            for item in left:
                await sell(item)
            if name == "x" and not lost:
                reply.set_result(None)

        await asyncio.gather(*map(worker, "xy" if lost else names))

    async def before() -> None:
        await all_of()
        raise ConnectionError("lost")

    async def after() -> None:
        await all_of()

    with pytest.raises(ConnectionError):
        async_world.invoke(async_world.entrypoint(before, name="wf"), {}, thread_id="t")
    lost = False
    wf = async_world.entrypoint(after if edited else before, name="wf")
    with suppress(ConnectionError):
        async_world.invoke(wf, None, thread_id="t")
    assert sorted(ran) == ["a", "b", "c", "d"]
