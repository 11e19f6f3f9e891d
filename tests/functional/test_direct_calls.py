"""A direct call goes on with the unfinished run of the very same call, else it starts anew (section 3)."""

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import Interrupted, entrypoint, interrupt, task
from flowfn.ports import Loaded, Saver
from flowfn.saver_around import SaverAround

from ..worlds import World


def flaky(world: World) -> Any:
    """A workflow of two tasks that fails between them on its first run."""
    failures = [True]

    @world.task
    async def step(x: int) -> int:
        world.ran.append(x)
        return x

    @world.entrypoint
    async def wf(x: int, y: int = 0) -> int:
        first = await world.value(step(x))
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return first + await world.value(step(x + 1)) + y

    return wf


def test_after_an_error_the_same_call_goes_on(world: World) -> None:
    """Killed half way? Call it again: it goes on where it stopped."""
    wf = flaky(world)
    with pytest.raises(ConnectionError):
        world.call(wf, 1)
    assert world.call(wf, 1) == 3
    assert world.ran == [1, 2]
    assert len(list(world.saver.threads())) == 1


def test_arguments_count_not_how_they_are_passed(world: World) -> None:
    """By position or by keyword, it is the same call."""
    wf = flaky(world)
    with pytest.raises(ConnectionError):
        world.call(wf, 1)
    assert world.call(wf, x=1) == 3
    assert world.ran == [1, 2]


def test_another_call_starts_anew(world: World) -> None:
    """Other arguments are another call, with a thread of its own; the unfinished one waits."""
    wf = flaky(world)
    with pytest.raises(ConnectionError):
        world.call(wf, 1)
    assert world.call(wf, 2) == 5
    assert len(list(world.saver.threads())) == 2
    assert world.call(wf, 1) == 3
    assert world.ran == [1, 2, 3, 2]


def test_after_success_a_call_starts_anew(world: World) -> None:
    """A finished run is not repeated or returned: the same call is a new run on a new thread."""
    wf = flaky(world)
    with pytest.raises(ConnectionError):
        world.call(wf, 1)
    assert [world.call(wf, 1), world.call(wf, 1)] == [3, 3]
    assert world.ran == [1, 2, 1, 2]
    assert len(list(world.saver.threads())) == 2


def test_going_on_is_said_in_one_log_line(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever calls is told once that an unfinished run is continued, and which."""
    wf = flaky(world)
    with pytest.raises(ConnectionError):
        world.call(wf, 1)
    (row,) = world.saver.threads()
    with caplog.at_level(logging.INFO, "flowfn"):
        world.call(wf, 1)
    said = [record.getMessage() for record in caplog.records if row.id in record.getMessage()]
    assert len(said) == 1
    assert "wf" in said[0]


def test_beginning_anew_on_a_thread_with_an_unfinished_run_is_said(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever names a thread, and calls with something else, is told that its unfinished run isn't continued."""
    wf = flaky(world)
    with pytest.raises(ConnectionError):
        world.call(wf.thread("t"), 1)
    with caplog.at_level(logging.INFO, "flowfn"):
        world.call(wf.thread("t"), 2)
    (said,) = [record.getMessage() for record in caplog.records if "thread t" in record.getMessage()]
    assert said.startswith(
        f"a new run of {__name__}.flaky.<locals>.wf begins on thread t, whose unfinished one"
    )


def test_beginning_anew_on_a_cancelled_thread_is_said(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A run that somebody cancelled isn't gone on with by a call, and whoever calls is told what would do so."""
    wf = flaky(world)
    with pytest.raises(ConnectionError):
        world.call(wf.thread("t"), 1)
    wf.thread("t").cancel()
    with caplog.at_level(logging.INFO, "flowfn"):
        assert world.call(wf.thread("t"), 1) == 3
    assert world.ran == [1, 1, 2]
    (said,) = [record.getMessage() for record in caplog.records if "thread t" in record.getMessage()]
    assert "was cancelled" in said
    assert "resume() would have gone on with that" in said


def test_a_question_raises_interrupted(world: World) -> None:
    """A direct call has no result to hand back a question in: it raises Interrupted, which says how to answer."""

    @world.entrypoint
    async def wf(x: int) -> Any:
        return [x, interrupt("sure?")]

    with pytest.raises(Interrupted, match=r"'sure\?'.*resume\(") as raised:
        world.call(wf, 1)
    (row,) = world.saver.threads()
    assert raised.value.thread_id == row.id
    assert [question.value for question in raised.value.interrupts] == ["sure?"]
    assert world.do(wf.thread(row.id), "resume", "yes") == [1, "yes"]


def test_the_same_call_meets_the_question_again(world: World) -> None:
    """While the question is open, the same call finds it again, on the same thread and under the same id."""

    @world.entrypoint
    async def wf(x: int) -> Any:
        return [x, interrupt("sure?")]

    errors = []
    for _ in range(2):
        with pytest.raises(Interrupted) as raised:
            world.call(wf, 1)
        errors.append(raised.value)
    assert errors[0].interrupts == errors[1].interrupts
    assert errors[0].thread_id == errors[1].thread_id


def test_without_a_checkpointer_a_question_cannot_be_answered(world: World) -> None:
    """Interrupted says so, and what to give the workflow."""

    @world.entrypoint(checkpointer=None)
    async def wf() -> Any:
        return interrupt("sure?")

    with pytest.raises(Interrupted, match="give it a checkpointer") as raised:
        world.call(wf)
    assert raised.value.thread_id == ""


def test_two_workflows_do_not_share_runs(world: World) -> None:
    """A run belongs to its workflow: an equal call of another is not continued by it."""
    failures = [True]

    @world.entrypoint(name="one")
    async def one(x: int) -> str:
        raise ConnectionError("lost")

    @world.entrypoint(name="two")
    async def two(x: int) -> str:
        return f"two {x} {failures.pop()}"

    with pytest.raises(ConnectionError):
        world.call(one, 1)
    assert world.call(two, 1) == "two 1 True"


def remembering(world: World) -> Any:
    """A workflow that returns its messages so far, and fails at "hi" once."""
    failures = ["hi"]

    @world.entrypoint
    async def chat(message: str, *, previous: list[str] | None = None) -> list[str]:
        if message in failures:
            failures.remove(message)
            raise ConnectionError("lost")
        return [*(previous or []), message]

    return chat


@pytest.mark.parametrize("way", ["call", "invoke"])
def test_the_first_run_of_a_named_thread_is_gone_on_with(world: World, way: str) -> None:
    """Section 3: it is an unfinished run of the same call, and nothing is remembered on its thread."""
    chat = remembering(world)
    ada = chat.thread("ada")
    with pytest.raises(ConnectionError):
        world.call(ada, "hi") if way == "call" else world.invoke(chat, "hi", thread_id="ada")
    assert world.call(chat, "hi") == ["hi"]
    assert ada.state.values == ["hi"]


@pytest.mark.parametrize("way", ["call", "invoke"])
def test_a_run_on_a_thread_with_a_past_is_not_gone_on_with(world: World, way: str) -> None:
    """G2: a direct call isn't one on somebody's thread: it gets nothing of what is remembered there."""
    chat = remembering(world)
    ada = chat.thread("ada")
    assert world.call(ada, "a secret") == ["a secret"]
    with pytest.raises(ConnectionError):
        world.call(ada, "hi") if way == "call" else world.invoke(chat, "hi", thread_id="ada")
    assert world.call(chat, "hi") == ["hi"]
    assert world.call(ada, "hi") == ["a secret", "hi"]
    assert ada.state.values == ["a secret", "hi"]


def test_a_fork_is_not_gone_on_with(world: World) -> None:
    """A fork was made by somebody who has its name: the same direct call goes on with the run that it began."""
    wf = flaky(world)
    with pytest.raises(ConnectionError):
        world.call(wf, 1)
    (row,) = world.saver.threads()
    fork = wf.thread(row.id).fork(thread_id="fork")
    assert [world.call(wf, 1), world.call(wf, 1)] == [3, 3]
    assert world.ran == [1, 2, 1, 2]
    assert world.call(fork, 1) == 3
    assert world.ran == [1, 2, 1, 2, 2]


def test_a_call_on_a_copy_goes_on_with_its_run(world: World) -> None:
    """G1: what was finished when a thread was copied is finished in the copy."""
    wf = flaky(world)
    with pytest.raises(ConnectionError):
        world.call(wf.thread("t"), 1)
    world.saver.copy_thread("t", "copy")  # type: ignore[attr-defined]
    assert world.call(wf.thread("copy"), 1) == 3
    assert world.ran == [1, 2]


def test_a_call_on_a_thread_goes_on_with_what_a_direct_call_began(world: World) -> None:
    """Who has the id of a direct call's thread may go on with its run by the same call on it."""
    wf = flaky(world)
    with pytest.raises(ConnectionError):
        world.call(wf, 1)
    (row,) = world.saver.threads()
    assert world.call(wf.thread(row.id), 1) == 3
    assert world.ran == [1, 2]


def test_workflows_of_a_factory_do_not_share_runs(world: World) -> None:
    """G2: of a factory's workflows each goes on with its own runs, and gets no answer that was given to another one."""

    @world.task
    async def lose() -> None:
        world.ran.append("lost")
        if len(world.ran) == 1:
            raise ConnectionError("lost")

    def pipeline(tenant: str) -> Any:
        @world.entrypoint
        async def wf(day: int) -> Any:
            answer = interrupt("load it?")
            await world.value(lose())
            return tenant, answer

        return wf

    first = pipeline("first")
    with pytest.raises(Interrupted) as asked_of_first:
        world.call(first, 1)
    with pytest.raises(ConnectionError):
        world.do(first.thread(asked_of_first.value.thread_id), "resume", "yes")
    with pytest.raises(Interrupted) as asked_of_second:
        world.call(pipeline("second"), 1)
    assert asked_of_second.value.thread_id != asked_of_first.value.thread_id
    assert world.call(first, 1) == ("first", "yes")


def test_a_cancelled_run_is_not_gone_on_with(world: World) -> None:
    """A run that was cancelled is left alone by direct calls; its thread's handle can still resume it."""
    wf = flaky(world)
    with pytest.raises(ConnectionError):
        world.call(wf, 1)
    (row,) = world.saver.threads()
    wf.thread(row.id).cancel()
    assert world.call(wf, 1) == 3
    assert world.ran == [1, 1, 2]
    assert world.do(wf.thread(row.id), "resume") == 3


def test_a_path_is_a_checkpointer(tmp_path: Any) -> None:
    """`checkpointer="runs.db"` is SQLite, opened when it is first needed; a later definition goes on from it."""
    ran: list[int] = []
    failures = [True]

    @task
    def step(x: int) -> int:
        ran.append(x)
        return x

    def define() -> Any:
        @entrypoint(checkpointer=str(tmp_path / "runs.db"))
        def wf(x: int) -> int:
            value = step(x).result()
            if failures:
                failures.pop()
                raise ConnectionError("lost")
            return value

        return wf

    first = define()
    assert not (tmp_path / "runs.db").exists()
    with pytest.raises(ConnectionError):
        first(1)
    assert define()(1) == 1
    assert ran == [1]


@pytest.mark.parametrize("wrong", [3, "redis://localhost", object()], ids=["number", "scheme", "object"])
def test_what_is_no_checkpointer_is_refused(wrong: Any) -> None:
    """A checkpointer is a saver, a path or a URL; anything else is a TypeError that says so."""
    with pytest.raises(TypeError, match=r"Pass a saver, a path such as \"runs.db\", or a URL"):
        entrypoint(checkpointer=wrong)(lambda x: x)(1)


def test_a_call_on_a_thread_decides_once_it_has_the_thread(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another call left there while this one waited for the lease is gone on with, not begun anew (G1)."""
    wf = flaky(world)

    def fail() -> None:
        another = World(world.kind, world.saver)
        with pytest.raises(ConnectionError):
            another.call(wf.thread("t"), 1)
        another.close()

    def be_late(method: str) -> None:
        claim = getattr(world.saver, method)

        def late(*args: Any, **options: Any) -> Any:
            monkeypatch.undo()
            with ThreadPoolExecutor(1) as elsewhere:
                elsewhere.submit(fail).result()
            return claim(*args, **options)

        monkeypatch.setattr(world.saver, method, late)

    for method in ("claim", "claim_free"):
        if hasattr(world.saver, method):
            be_late(method)
    assert world.call(wf.thread("t"), 1) == 3
    assert world.ran == [1, 2]


def counting(world: World) -> Any:
    """A task that returns its argument, and notes it."""

    @world.task
    async def step(x: int) -> int:
        world.ran.append(x)
        return x

    return step


def test_what_a_factory_was_given_may_be_a_flag(world: World) -> None:
    """A flag says how to run, and not what: `build(fail=False)(1)` goes on with what `build(fail=True)(1)` began."""
    step = counting(world)

    def build(fail: bool) -> Any:
        @world.entrypoint
        async def wf(x: int) -> int:
            value = await world.value(step(x))
            if fail:
                raise ConnectionError("lost")
            return int(value)

        return wf

    with pytest.raises(ConnectionError):
        world.call(build(True), 1)
    assert world.call(build(False), 1) == 1
    assert world.ran == [1]


def test_what_a_factory_keeps_may_be_a_state(world: World) -> None:
    """A list that a workflow fills, and a number that code beside it counts up, tell nothing of whose run it is."""
    step = counting(world)

    def build(seen: list[int], tries: int) -> Any:
        @world.entrypoint
        async def wf(x: int) -> int:
            nonlocal tries
            tries += 1
            value = await world.value(step(x))
            seen.append(value)
            if len(seen) == 1:
                raise ConnectionError("lost")
            return tries

        return wf

    seen: list[int] = []
    with pytest.raises(ConnectionError):
        world.call(build(seen, 0), 1)
    assert world.call(build(seen, 1), 1) == 2
    assert world.ran == [1]


def test_methods_of_two_objects_do_not_share_runs(world: World) -> None:
    """G2: an object goes on with the runs of one that was made with the same, whatever its state and its flags."""
    step = counting(world)

    class Pipeline:
        def __init__(self, tenant: str, *, fails: bool = False) -> None:
            self.tenant, self.fails, self.tries, self.lock = tenant, fails, 0, Lock()

        def attempt(self) -> None:
            self.tries += 1

        @world.entrypoint
        async def run(self, day: int) -> str:
            value = await world.value(step(day))
            if self.fails:
                raise ConnectionError("lost")
            return f"{self.tenant}: {value}"

    failing = Pipeline("first", fails=True)
    failing.attempt()
    with pytest.raises(ConnectionError):
        world.call(failing.run, 1)
    assert world.call(Pipeline("second").run, 1) == "second: 1"
    assert world.ran == [1, 1]
    assert world.call(Pipeline("first").run, 1) == "first: 1"
    assert world.ran == [1, 1]


@dataclass
class LabelledSaver(MemorySaver):
    """A saver of somebody's own that equals others, and so has no hash."""

    label: str = ""

    def __post_init__(self) -> None:
        super().__init__()


@dataclass
class Order:
    """What a call is given that isn't plain."""

    id: int


def test_a_saver_needs_no_hash() -> None:
    """Whatever a direct call is given, and whatever was left unfinished."""

    @entrypoint(checkpointer=LabelledSaver("orders"))
    def charge(order: Order) -> int:
        return order.id

    assert [charge(Order(1)), charge(Order(2))] == [1, 2]


class Looked(SaverAround):
    """Notes the threads on which a past is read."""

    def __init__(self, inner: Saver) -> None:
        super().__init__(inner)
        self.on: list[int] = []

    def history(self, thread: str | None, namespace: str | None = "", **options: Any) -> Iterator[Loaded]:
        self.on.append(threading.get_ident())
        return super().history(thread, namespace, **options)


def test_what_is_unfinished_is_looked_through_once_for_all_that_a_factory_makes(world: World) -> None:
    """Its cost doesn't grow with each call, and no event loop stands still for it."""
    saver = Looked(world.saver)

    def made() -> Any:
        @world.entrypoint(name="ask", checkpointer=saver)
        async def ask(order: Order) -> Any:
            return interrupt("which?")

        return ask

    @world.entrypoint(name="ask", checkpointer=saver)
    async def edited(order: Order) -> Any:
        return interrupt("what?")

    async def here() -> int:
        return threading.get_ident()

    for number in range(3):  # nothing was unfinished before the first
        with pytest.raises(Interrupted):
            world.call(made(), Order(number))
    assert saver.on == []
    for number in range(3, 5):
        with pytest.raises(Interrupted):
            world.call(edited, Order(number))
    assert len(saver.on) == 3
    if world.is_async:
        assert world.call(here) not in saver.on


def test_a_call_that_nobody_awaits_is_told_by_its_name() -> None:
    """Python's own warning says the name of the function."""

    @entrypoint
    async def digest(x: int) -> int:
        return x

    called: Any = digest(1)
    assert called.__qualname__ == digest._self_definition.name
    called.close()
