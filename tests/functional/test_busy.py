"""One writer per thread: a second caller waits, is turned away or takes over (G4)."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from flowfn import NoPendingInterrupt, ThreadBusy, interrupt
from flowfn.config import Durability
from flowfn.ports import Busy, Commit, Lease, Loaded, Saver, Writes
from flowfn.row_channels import QUESTION
from flowfn.saver_around import SaverAround

from ..worlds import World, questions


class Held:
    """A workflow whose first run stays inside until it is let go, and a run of it under way on thread "t"."""

    def __init__(self, world: World) -> None:
        self.inside, self.go = threading.Event(), threading.Event()
        self.outcome: list[Any] = []
        held = [True]

        @world.entrypoint
        def wf(x: int, *, previous: int = 0) -> int:
            if held:
                held.pop()
                self.inside.set()
                self.go.wait(10)
            return previous + x

        self.wf = wf
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self.inside.wait(10)

    def _run(self) -> None:
        try:
            self.outcome.append(self.wf.invoke(1, thread_id="t"))
        except BaseException as error:
            self.outcome.append(error)

    def let_go(self) -> Any:
        self.go.set()
        self._thread.join()
        return self.outcome[0]


def test_a_second_caller_is_turned_away(sync_world: World) -> None:
    """G4: `on_busy="reject"` raises ThreadBusy, which says what else one can do; the first run goes on."""
    held = Held(sync_world)
    with pytest.raises(ThreadBusy, match=r"'t' is held by a live run.*on_busy='wait'.*on_busy='cancel'"):
        sync_world.invoke(held.wf, 10, thread_id="t", on_busy="reject")
    assert held.let_go() == 1
    assert sync_world.invoke(held.wf, 10, thread_id="t", on_busy="reject") == 11


def test_a_second_caller_waits(sync_world: World) -> None:
    """G4: by default a second caller waits, and sees what the first one saved: no update is lost."""
    held = Held(sync_world)
    threading.Timer(0.02, held.go.set).start()
    assert sync_world.invoke(held.wf, 10, thread_id="t") == 11
    assert held.let_go() == 1


def test_a_second_caller_takes_over(sync_world: World) -> None:
    """G4: `on_busy="cancel"` takes the thread; the first run can't write any more."""
    held = Held(sync_world)
    assert sync_world.invoke(held.wf, 10, thread_id="t", on_busy="cancel") == 10
    assert isinstance(held.let_go(), BaseException)
    assert sync_world.state(held.wf, "t").values == 10
    assert sync_world.invoke(held.wf, 1, thread_id="t") == 11


def test_update_state_of_a_busy_thread(sync_world: World) -> None:
    """G4: a thread that a live run holds can't be written to from outside."""
    held = Held(sync_world)
    with pytest.raises(ThreadBusy):
        sync_world.do(held.wf, "update_state", None, 5, thread_id="t")
    assert held.let_go() == 1


def test_ten_callers_of_one_thread_lose_no_update(world: World) -> None:
    """G4: ten concurrent calls of a `previous` counter end at ten."""

    @world.entrypoint
    async def wf(x: int, *, previous: int = 0) -> int:
        return previous + x

    results = world.together(
        [lambda: wf.ainvoke(1, thread_id="t")] * 10,
        [lambda: wf.invoke(1, thread_id="t")] * 10,
    )
    assert sorted(results) == list(range(1, 11))
    assert world.state(wf, "t").values == 10


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_call_that_comes_to_no_run_gives_its_thread_back(world: World, error: type[BaseException]) -> None:
    """G4: what fails between the lease and the run, such as a context that doesn't fit, leaves nobody waiting."""

    @dataclass
    class Refused:
        name: str

        def __post_init__(self) -> None:
            raise error(self.name)

    async def nothing(x: int) -> int:
        return x

    workflow = world.entrypoint(context_schema=Refused)(nothing)
    with pytest.raises(error):
        world.invoke(workflow, 1, thread_id="t", context={"name": "Ada"})
    assert isinstance(world.saver.claim("t"), Lease)


class Watched(SaverAround):
    """Tells when a question is recorded, and when somebody has looked at a thread that is busy."""

    def __init__(self, inner: Saver) -> None:
        super().__init__(inner)
        self.asked, self.met, self.looked = threading.Event(), threading.Event(), threading.Event()

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        made = super().commit(commits, wait=wait)
        items = [item for commit in commits for item in commit.items if isinstance(item, Writes)]
        if any(row.channel == QUESTION for item in items for row in item.rows):
            self.asked.set()
        return made

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        found = super().claim(thread, force=force)
        if isinstance(found, Busy):
            self.met.set()
        return found

    def history(self, *args: Any, **kwargs: Any) -> Iterator[Loaded]:
        try:
            yield from super().history(*args, **kwargs)
        finally:
            if self.met.is_set():
                self.looked.set()


@pytest.mark.parametrize("named", [False, True])
def test_an_answer_that_waited_is_not_for_a_question_asked_since(sync_world: World, named: bool) -> None:
    """G2: of two people who answer at once, the second hasn't seen what the first one's run asks next.

    An answer that names its question is told that it was answered; one that doesn't, that another one is asked now.
    """
    world, saver, refused = sync_world, Watched(sync_world.saver), []
    others: list[threading.Thread] = []

    def answer_too() -> None:
        with pytest.raises(NoPendingInterrupt) as raised:
            workflow.thread("t").resume({asked.id: "second"} if named else "second")
        refused.append(str(raised.value))

    @world.entrypoint
    def wf() -> list[str]:
        first = interrupt("first?")
        if not others:
            others.append(threading.Thread(target=answer_too))
            others[0].start()
            assert saver.looked.wait(10) if not named else saver.met.wait(10)
        return [first, interrupt("second?")]

    workflow = wf.with_checkpointer(saver)
    (asked,) = questions(workflow.invoke({}, thread_id="t"))
    workflow.thread("t").resume("first")
    others[0].join()
    (said,) = refused
    assert ("no question waits under" if named else "has asked 'second?' since") in said
    assert workflow.thread("t").resume("third") == ["first", "third"]


def test_an_answer_that_waited_is_for_the_question_that_it_was_for(sync_world: World) -> None:
    """Whoever has the thread for a moment, without answering, doesn't turn an answer away."""
    world, saver = sync_world, Watched(sync_world.saver)

    @world.entrypoint
    def wf() -> str:
        return interrupt("name?")

    workflow = wf.with_checkpointer(saver)
    workflow.invoke({}, thread_id="t")
    held = saver.claim("t")
    assert isinstance(held, Lease)
    answering = threading.Thread(target=lambda: workflow.thread("t").resume("ann"))
    answering.start()
    assert saver.looked.wait(10)
    saver.release(held)
    answering.join()
    assert world.state(wf, "t").values == "ann"


@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("nested", [False, True])
def test_an_answer_to_a_question_that_the_run_has_not_stopped_for(
    sync_world: World, nested: bool, durability: Durability
) -> None:
    """Who reads a stream sees a question while other tasks are under way, and may answer it then."""
    world, saver = sync_world, Watched(sync_world.saver)
    answering = threading.Thread(target=lambda: workflow.thread("t").resume("ann"))

    @world.entrypoint
    def inner() -> str:
        return interrupt("name?")

    @world.task
    def asks() -> str:
        return inner() if nested else interrupt("name?")

    @world.task
    def meanwhile() -> str:
        assert saver.asked.wait(10)
        answering.start()
        assert saver.looked.wait(10)
        return "meanwhile"

    @world.entrypoint
    def wf() -> list[str]:
        other, asked = meanwhile(), asks()
        return [asked.result(), other.result()]

    workflow = wf.with_checkpointer(saver)
    workflow.invoke({}, thread_id="t", durability=durability)
    answering.join()
    assert world.state(wf, "t").values == ["ann", "meanwhile"]
