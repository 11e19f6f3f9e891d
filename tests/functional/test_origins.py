"""A recorded call whose id or time is recorded elsewhere is made with that again, so no other call is taken for it.

Rules 2 to 4 of section 4: only what is made anew on each attempt may differ in what is by its nature another each time.
"""

import contextvars
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from flowfn import NonDeterminismError, interrupt

from ..worlds import World, asked, questions

MADE: dict[str, Callable[[], Any]] = {
    "id": lambda: str(uuid.uuid4()),
    "time": time.time,
    "both": lambda: {"order": [f"order-{uuid.uuid4()}"], "at": time.time()},
}


class Files:
    """Each is read by a task, which makes something that is another each time, and stored by one that gets it."""

    def __init__(self, world: World, make: Callable[[], Any], **options: Any) -> None:
        self.world, self.files, self.fails, self.stored = world, ["b", "c"], True, list[Any]()

        @world.task(**options)
        async def read(name: str) -> Any:
            return make()

        @world.task
        async def store(reading: Any) -> Any:
            self.stored.append(reading)
            return reading

        async def wf() -> dict[str, Any]:
            found = {name: await world.value(store(await world.value(read(name)))) for name in self.files}
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


def test_a_time_that_a_call_hands_on_is_the_clocks(world: World) -> None:
    """Rule 2: that a call returned what it was given says nothing of where that came from."""
    ran: list[str] = []
    fails = [True]

    @world.task
    async def begin(at: float) -> float:
        ran.append("begin")
        return at

    @world.task
    async def charge(at: float) -> str:
        ran.append("charge")
        return "charged"

    @world.entrypoint
    async def wf() -> Any:
        now = time.time()
        await world.value(begin(now))
        charged = await world.value(charge(now))
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


def test_an_answer_about_an_item_goes_to_no_new_one(world: World) -> None:
    """G8: of questions that differ in a recorded time each has its own answer."""
    files, answers = ["b"], list[tuple[str, str]]()

    @world.task
    async def read(name: str) -> float:
        return time.time()

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
