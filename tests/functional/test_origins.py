"""Two calls whose ids or times were told to the code that makes them are two, and neither gets the other's record.

Rules 2 to 4 of section 4: only what is made anew on each attempt may differ in what is by its nature another each time.
"""

import contextvars
import random
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest

import flowfn
from flowfn import NonDeterminismError, NotDone, interrupt
from flowfn.testing import VirtualClock

from ..worlds import World, asked, questions

MADE: dict[str, Callable[[], Any]] = {
    "id": lambda: str(uuid.uuid4()),
    "time": time.time,
    "both": lambda: {"order": [f"order-{uuid.uuid4()}"], "at": time.time()},
    "number": lambda: uuid.uuid4().int / 7e37,
}

SECONDS = count(-1)
"""A second each, without the wait for it."""


def stamp() -> int:
    return int(time.time()) + next(SECONDS) % 3


FORMS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "isoformat": (lambda: datetime.now(UTC), datetime.isoformat),
    "fromisoformat": (lambda: datetime.now(UTC).isoformat(), datetime.fromisoformat),
    "timestamp": (datetime.now, datetime.timestamp),
    "fromtimestamp": (time.time, datetime.fromtimestamp),
    "nanoseconds": (time.time_ns, lambda at: at / 1e9),
    "hex": (uuid.uuid4, lambda made: made.hex),
    "bytes": (lambda: str(uuid.uuid4()), lambda made: uuid.UUID(made).bytes),
    "of the time": (uuid.uuid1, lambda made: made.hex),
    "a key": (lambda: {str(uuid.uuid4()): 1}, lambda made: next(iter(made))),
    "a text": (lambda: f"the order {uuid.uuid4()}, made by hand", lambda made: made.split()[2]),
}


class Files:
    """Each is read by a task, which makes something that is another each time, and stored by one that gets it."""

    def __init__(
        self,
        world: World,
        make: Callable[[], Any],
        write: Callable[[Any], Any] = lambda made: made,
        **options: Any,
    ) -> None:
        self.world, self.files, self.fails, self.stored = world, ["b", "c"], True, list[Any]()

        @world.task(**options)
        async def read(name: str) -> Any:
            return make()

        @world.task
        async def store(reading: Any) -> Any:
            self.stored.append(reading)
            return reading

        async def wf() -> dict[str, Any]:
            found = {
                name: await world.value(store(write(await world.value(read(name))))) for name in self.files
            }
            if self.fails:
                raise ConnectionError("lost")
            return found

        self.wf = world.entrypoint(wf)

    def run(self, given: Any) -> Any:
        return self.world.invoke(self.wf, given, thread_id="t")


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_new_item_in_front_runs_alone(world: World, make: Callable[[], Any]) -> None:
    """Rule 4: a script that lists a folder and finds a new file processes that file alone."""
    files = Files(world, make)
    with pytest.raises(ConnectionError):
        files.run({})
    (b, c), files.stored[:] = files.stored, []
    files.files, files.fails = ["a", "b", "c"], False
    found = files.run(None)
    assert [found["b"], found["c"]] == [b, c]
    assert files.stored == [found["a"]]
    assert found["a"] not in (b, c)


@pytest.mark.parametrize(("make", "write"), FORMS.values(), ids=FORMS)
def test_an_item_is_known_however_its_id_or_time_is_written(
    sync_world: World, make: Callable[[], Any], write: Callable[[Any], Any]
) -> None:
    """Rule 4: what the code writes otherwise than the task told it was told it all the same."""
    files = Files(sync_world, make, write)
    with pytest.raises(ConnectionError):
        files.run({})
    recorded = [*files.stored]
    files.stored.clear()
    files.files, files.fails = ["a", "b", "c"], False
    found = files.run(None)
    assert [found["b"], found["c"]] == recorded
    assert files.stored == [found["a"]]


@pytest.mark.parametrize(
    "digits", [(0.000914, 0.001815, 0.003), (0.001, 0.002815, 0.003715)], ids=["new", "recorded"]
)
def test_a_time_that_ends_in_zeros_is_as_exact_as_others(world: World, digits: Sequence[float]) -> None:
    """Rule 4: a number is written without them; of a time that was rounded the others would be, too."""
    begun = int(time.time())
    made = iter([round(begun + each, 6) for each in digits])
    files = Files(world, lambda: next(made))
    with pytest.raises(ConnectionError):
        files.run({})
    recorded = [*files.stored]
    files.files, files.fails = ["a", "b", "c"], False
    found = files.run(None)
    assert [found["b"], found["c"]] == recorded
    assert files.stored == [*recorded, found["a"]]


def test_an_error_tells_of_an_item_as_a_result_does(world: World) -> None:
    """Rule 4: the calling code was given it, and had acted on it."""
    names, fails, stored = ["b", "c"], [True], list[float]()

    @world.task
    async def read(name: str) -> None:
        raise LookupError(name, time.time())

    @world.task
    async def store(at: float) -> float:
        stored.append(at)
        return at

    @world.entrypoint
    async def wf() -> dict[str, float]:
        found = dict[str, float]()
        for name in names:
            try:
                await world.value(read(name))
            except LookupError as error:
                found[name] = await world.value(store(error.args[1]))
        if fails:
            raise ConnectionError("lost")
        return found

    with pytest.raises(ConnectionError):
        world.invoke(wf, {}, thread_id="t")
    recorded = [*stored]
    names.insert(0, "a")
    fails.clear()
    found = world.invoke(wf, None, thread_id="t")
    assert [found["b"], found["c"]] == recorded
    assert stored == [*recorded, found["a"]]


@pytest.mark.parametrize("write", [lambda at: at, lambda at: at * 1000 + 7], ids=["seconds", "milliseconds"])
def test_a_new_item_that_only_a_rough_time_tells_is_in_doubt(
    world: World, write: Callable[[int], int]
) -> None:
    """Rule 3: a time to the second may be in a result by chance, so that nobody knows whether it is the clock's."""
    files = Files(world, lambda: write(stamp()))
    with pytest.raises(ConnectionError):
        files.run({})
    files.files, files.fails, files.stored[:] = ["a", "b", "c"], False, []
    with pytest.raises(NonDeterminismError, match="only in a time, which may be the clock's"):
        files.run(None)
    assert files.stored == []


def test_a_rough_time_that_the_code_took_itself_is_the_clocks(world: World) -> None:
    """Rule 2: that a result tells of the recorded one is chance, as none of this attempt tells of the new one."""
    ran: list[str] = []
    fails = [True]

    @world.task
    async def begin() -> dict[str, int]:
        return {"at": at}

    @world.task
    async def charge(at: int) -> str:
        ran.append("charge")
        return "charged"

    @world.entrypoint
    async def wf() -> Any:
        await world.value(begin())
        charged = await world.value(charge(at))
        if fails:
            raise ConnectionError("lost")
        return charged

    at = int(time.time())
    with pytest.raises(ConnectionError):
        world.invoke(wf, {}, thread_id="t")
    fails.clear()
    at += 1
    assert world.invoke(wf, None, thread_id="t") == "charged"
    assert ran == ["charge"]


@pytest.mark.parametrize("ignored", [True, False], ids=["left out", "from around"])
def test_an_id_that_a_result_hands_on_from_elsewhere_is_in_doubt(world: World, ignored: bool) -> None:
    """Rule 3: an argument that doesn't count, or a variable of the module, is the code's own again on each attempt."""
    charged: list[str] = []
    fails = [True]

    @world.task(ignore="key")
    async def begin(customer: str, key: str) -> dict[str, str]:
        return {"customer": customer, "key": key if ignored else own}

    @world.task
    async def charge(key: str) -> str:
        charged.append(key)
        return key

    @world.entrypoint
    async def wf() -> Any:
        await world.value(begin("ada", own if ignored else ""))
        receipt = await world.value(charge(own))
        if fails:
            raise ConnectionError("lost")
        return receipt

    own = str(uuid.uuid4())
    with pytest.raises(ConnectionError):
        world.invoke(wf, {}, thread_id="t")
    fails.clear()
    own = str(uuid.uuid4())
    with pytest.raises(NonDeterminismError):
        world.invoke(wf, None, thread_id="t")
    assert len(charged) == 1


class Session:
    """Counts by its type, as a client does, whatever it holds."""

    def __init__(self, id: str) -> None:
        self.id = str(uuid.UUID(id))


@pytest.mark.parametrize("held", [True, False], ids=["by an object", "left out"])
def test_an_id_that_a_new_call_hands_on_is_in_doubt(world: World, held: bool) -> None:
    """Rule 3: the code made it itself, though what doesn't count of an argument brought it into a result again."""
    names, fails, charged = ["b"], [True], list[str]()

    @world.task(**({} if held else {"ignore": "run"}))
    async def begin(name: str, run: Any) -> dict[str, str]:
        return {"name": name, "run": run.id if held else run}

    @world.task
    async def charge(run: str) -> str:
        charged.append(run)
        return run

    @world.entrypoint
    async def wf() -> Any:
        run = str(uuid.uuid4())
        for name in names:
            await world.value(begin(name, Session(run) if held else run))
        receipt = await world.value(charge(run))
        if fails:
            raise ConnectionError("lost")
        return receipt

    with pytest.raises(ConnectionError):
        world.invoke(wf, {}, thread_id="t")
    names.insert(0, "a")
    fails.clear()
    with pytest.raises(NonDeterminismError):
        world.invoke(wf, None, thread_id="t")
    assert len(charged) == 1


@pytest.mark.parametrize("make", [flowfn.uuid4, flowfn.random], ids=["uuid4", "random"])
def test_what_was_made_once_names_no_item(world: World, make: Callable[[], Any]) -> None:
    """Rule 3: it goes by its place in the code, and with another customer where a new one comes in front."""
    random.seed(7)  # of others one in a hundred has so few digits that it looks like none that was made
    names, fails, charged = ["b", "c"], [True], list[str]()

    @world.task
    async def charge(name: str, reference: str) -> str:
        charged.append(name)
        return name

    @world.entrypoint
    async def wf() -> list[str]:
        receipts = [await world.value(charge(name, f"{make()!r}")) for name in names]
        if fails:
            raise ConnectionError("lost")
        return receipts

    with pytest.raises(ConnectionError):
        world.invoke(wf, {}, thread_id="t")
    names.insert(0, "a")
    fails.clear()
    with pytest.raises(NonDeterminismError):
        world.invoke(wf, None, thread_id="t")
    assert (charged.count("b"), charged.count("c")) == (1, 1)


def test_a_time_that_was_read_once_is_the_clocks(sync_world: World) -> None:
    """Rule 2: an hour later it is the time at which the code read the clock all the same, be it for another item."""
    names, fails, saved = ["b", "c"], [True], list[str]()

    @sync_world.task
    async def save(name: str, at: datetime) -> str:
        saved.append(name)
        return name

    @sync_world.entrypoint
    async def wf() -> list[str]:
        found = []
        for name in names:
            found.append(await sync_world.value(save(name, flowfn.now())))
            flowfn.sleep(10)
        if fails:
            raise ConnectionError("lost")
        return found

    with VirtualClock() as clock:
        with pytest.raises(ConnectionError):
            sync_world.invoke(wf, {}, thread_id="t")
        clock.advance(3600)
        names.insert(0, "a")
        fails.clear()
        assert sync_world.invoke(wf, None, thread_id="t") == ["a", "b", "c"]
    assert saved == ["b", "c", "a"]


def test_what_is_in_doubt_is_no_origin(sync_world: World) -> None:
    """G3, rule 3: a call that dies while it runs anew has an outcome of before, and none that comes again."""
    dies = [False]

    def make() -> str:
        if dies[0]:
            raise KeyboardInterrupt
        return str(uuid.uuid4())

    def version(number: str) -> Files:
        return Files(sync_world, make, version=number, on_code_change="rerun", in_doubt=lambda _: NotDone())

    with pytest.raises(ConnectionError):
        version("1").run({})
    dies[0], edited = True, version("2")
    with pytest.raises(KeyboardInterrupt):
        edited.run(None)
    dies[0] = edited.fails = False
    with pytest.raises(NonDeterminismError):
        edited.run(None)
    assert edited.stored == []


def test_what_is_read_anew_leaves_its_call_in_doubt(world: World) -> None:
    """Rule 3: what was recorded isn't reused, so that the call comes with another id."""
    made = iter("0123")

    def make() -> str:
        return f"{uuid.uuid4()}"

    files = Files(world, make, version=next(made), on_code_change="rerun")
    with pytest.raises(ConnectionError):
        files.run({})
    edited = Files(world, make, version=next(made), on_code_change="rerun")
    edited.fails = False
    with pytest.raises(NonDeterminismError):
        edited.run(None)
    assert edited.stored == []


@pytest.mark.parametrize(
    "form", [datetime.timestamp, datetime.isoformat, copy], ids=["number", "text", "same"]
)
def test_a_time_that_a_call_hands_on_is_the_clocks(world: World, form: Callable[[datetime], Any]) -> None:
    """Rule 2: that a call returned what it was given, in whatever form, says nothing of where that came from."""
    ran: list[str] = []
    fails = [True]

    @world.task
    async def begin(at: datetime) -> Any:
        ran.append("begin")
        return {"begun": form(at)}

    @world.task
    async def charge(at: Any) -> str:
        ran.append("charge")
        return "charged"

    @world.entrypoint
    async def wf() -> Any:
        now = datetime.now(UTC)
        await world.value(begin(now))
        charged = await world.value(charge(form(now)))
        if fails:
            raise ConnectionError("lost")
        return charged

    with pytest.raises(ConnectionError):
        world.invoke(wf, {}, thread_id="t")
    fails.clear()
    assert world.invoke(wf, None, thread_id="t") == "charged"
    assert ran == ["begin", "charge"]


def test_threads_take_the_ids_of_the_input_for_what_they_are(sync_world: World) -> None:
    """Rule 3: the recorded call will be made with the id that it had, by whichever thread."""
    ids, ran, fails = [str(uuid.uuid4()) for _ in range(2)], list[str](), [True]

    @sync_world.task
    async def charge(customer: str) -> str:
        ran.append(customer)
        return customer

    @sync_world.entrypoint
    async def wf(customers: Sequence[str]) -> list[str]:
        if fails:
            charge(customers[1]).result()
            raise ConnectionError("lost")

        def one(customer: str) -> str:
            return str(charge(customer).result())

        with ThreadPoolExecutor(1) as pool:
            begun = [pool.submit(contextvars.copy_context().run, one, each) for each in customers]
        return [each.result() for each in begun]

    with pytest.raises(ConnectionError):
        sync_world.invoke(wf, ids, thread_id="t")
    fails.clear()
    assert sync_world.invoke(wf, None, thread_id="t") == ids
    assert ran == [ids[1], ids[0]]


def test_an_id_of_the_previous_call_is_given(world: World) -> None:
    """Rule 4: what is left of the day before is recorded as well, and a new order in front of it is another one."""
    orders, fails, stored = list[str](), [True], list[str]()

    @world.task
    async def number(order: str) -> str:
        return str(uuid.uuid4())

    @world.task
    async def store(made: str) -> str:
        stored.append(made)
        return made

    @world.entrypoint
    async def wf(day: int, previous: Sequence[str] | None = None) -> list[str]:
        made = [await world.value(number(order)) for order in orders]
        found = [await world.value(store(each)) for each in [*made, *(previous or [])]]
        if fails and day:
            raise ConnectionError("lost")
        return found

    orders[:] = ["a"]
    (left,) = world.invoke(wf, 0, thread_id="t")
    orders.clear()
    with pytest.raises(ConnectionError):
        world.invoke(wf, 1, thread_id="t")
    orders[:], fails[:] = ["b"], []
    found = world.invoke(wf, None, thread_id="t")
    assert (found[1], stored) == (left, [left, left, found[0]])


@pytest.mark.parametrize("clock", [time.time, stamp], ids=["to the microsecond", "to the second"])
def test_an_answer_about_an_item_goes_to_no_new_one(world: World, clock: Callable[[], float]) -> None:
    """G8: of questions that differ in a recorded time each has its own answer."""
    files, answers = ["b"], list[tuple[str, str]]()

    @world.task
    async def read(name: str) -> float:
        return clock()

    @world.entrypoint
    async def wf() -> None:
        for name in files:
            answers.append((name, interrupt({"delete what was read at": await world.value(read(name))})))

    (question,) = questions(world.invoke(wf, {}, thread_id="t"))
    files.insert(0, "a")
    left = world.resume(wf, {question.id: "yes"}, "t")
    assert (len(asked(left)), answers) == (1, [])
    world.resume(wf, {questions(left)[0].id: "no"}, "t")
    assert answers[-2:] == [("a", "no"), ("b", "yes")]
