"""Failures: typed, with messages that say what to write, and a thread that can always be gone on with."""

import asyncio
import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

import flowfn
from flowfn import AsyncInBlockingRun, RetryPolicy, SerializationError, entrypoint, gather, task

from ..worlds import World


def test_an_error_leaves_the_run_resumable(world: World) -> None:
    """A task that raises ends the run; finished siblings are kept, and `invoke(None)` runs the failed one again."""
    failures = [True]

    @world.task
    async def step(x: int) -> int:
        world.ran.append(x)
        if x == 1 and failures:
            failures.pop()
            raise ConnectionError("lost")
        return x

    @world.entrypoint
    async def wf() -> list[int]:
        return await world.value(gather(step(x) for x in range(3)))

    with pytest.raises(ConnectionError, match="lost"):
        world.invoke(wf, thread_id="t")
    assert world.state(wf, "t").next == ("wf",)
    assert world.invoke(wf, None, thread_id="t") == [0, 1, 2]
    assert sorted(world.ran) == [0, 1, 1, 2]


def test_an_error_that_was_caught_is_part_of_the_run(world: World) -> None:
    """An error that the code went on after is recorded, and raised again where the run goes on."""
    failures = [True]

    @world.task
    async def fail() -> None:
        world.ran.append("fail")
        raise KeyError("gone")

    @world.task
    async def note(x: str) -> str:
        world.ran.append(x)
        return x

    @world.entrypoint
    async def wf() -> str:
        try:
            await world.value(fail())
        except KeyError as error:
            result = await world.value(note(str(error)))
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return result

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    assert world.invoke(wf, None, thread_id="t") == "'gone'"
    assert world.ran == ["fail", "'gone'"]


@dataclass
class Declined(Exception):
    """An error that declares its fields."""

    code: int


def test_an_error_that_is_a_dataclass_is_the_same_argument_when_it_is_replayed(world: World) -> None:
    """G2: what a record says besides of an error doesn't count: a task that was given it runs once."""
    failures = [True]

    @world.task
    async def pay() -> None:
        raise Declined(51)

    @world.task
    async def refund(error: Declined) -> int:
        world.ran.append(error.code)
        return error.code

    @world.entrypoint
    async def wf() -> int:
        try:
            await world.value(pay())
        except Declined as error:
            code = await world.value(refund(error))
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return int(code)

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    assert (world.invoke(wf, None, thread_id="t"), world.ran) == (51, [51])


def _fails() -> None:
    raise KeyError("gone")


@pytest.mark.parametrize("way", ["invoke", "call", "stream"])
def test_a_traceback_begins_in_the_users_code(world: World, way: str) -> None:
    """Below the caller's own frames, the first frame is the user's function, not the engine's."""

    @world.entrypoint
    async def wf() -> None:
        _fails()

    run = {"invoke": world.invoke, "call": world.call, "stream": world.stream}[way]
    with pytest.raises(KeyError) as raised:
        run(wf)
    files = [Path(frame.filename).parts for frame in traceback.extract_tb(raised.value.__traceback__)]
    engine = [
        index for index, parts in enumerate(files) if {"engine", "hosts"} & set(parts) and "flowfn" in parts
    ]
    assert engine == []


def test_an_error_of_an_instruction_without_a_line_passes_through() -> None:
    """Ctrl-C may come at an instruction that belongs to no line of the code."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    interrupted.__code__ = interrupted.__code__.replace(co_linetable=b"")

    @entrypoint
    def wf(x: int) -> None:
        interrupted()

    with pytest.raises(KeyboardInterrupt):
        wf.invoke(1)


def test_of_the_tasks_that_an_error_passed_those_at_both_ends_are_noted(world: World) -> None:
    """What tasks that call each other deeply record of one error grows with their number, not with its square."""

    def step(left: int) -> Any:
        @world.task(name=f"step-{left}")
        async def step_(left: int) -> None:
            if not left:
                error = ValueError("at the bottom")
                error.add_note("a note of one's own")
                raise error
            await world.value(step(left - 1)(left - 1))

        return step_

    @world.entrypoint
    async def wf(left: int) -> None:
        await world.value(step(left)(left))

    def noted(left: int) -> list[str]:
        with pytest.raises(ValueError, match="at the bottom") as failed:
            world.invoke(wf, left, thread_id=f"{left} below")
        return [
            note.partition(" and id")[0].removeprefix("During task with name ")
            for note in failed.value.__notes__
        ]

    names = [f"'step-{number}'" for number in range(40)] + ["'wf'"]
    assert noted(30) == ["a note of one's own", *names[:31], "'wf'"]
    assert noted(39) == [
        "a note of one's own",
        *names[:16],
        "[the tasks between these are left out]",
        *names[-16:],
    ]


def test_a_tasks_traceback_leads_to_its_line(world: World) -> None:
    """The last frame of a task's error is the line that raised it."""

    @world.task
    async def step() -> None:
        _fails()

    @world.entrypoint
    async def wf() -> None:
        await world.value(step())

    with pytest.raises(KeyError) as raised:
        world.invoke(wf)
    assert traceback.extract_tb(raised.value.__traceback__)[-1].name == "_fails"


def test_the_traceback_that_is_recorded_is_of_the_users_code(world: World) -> None:
    """What an error that comes back says of where it was raised has no frames of flowfn; they would be most of it."""
    seen: list[str] = []

    @world.task
    async def step() -> None:
        _fails()

    @world.task
    async def wrap() -> None:
        await world.value(step())

    @world.entrypoint
    async def wf() -> None:
        try:
            await world.value(wrap())
        except KeyError as error:
            seen.append(getattr(error, "recorded_traceback", ""))
            await world.value(noted())
        raise ConnectionError("lost")

    @world.task
    async def noted() -> None:
        pass

    for given in ((), (None,)):
        with pytest.raises(ConnectionError):
            world.invoke(wf, *given, thread_id="t")
    first, again = seen
    assert first == ""
    assert re.findall(r"in (\w+)\n", again)[-1] == "_fails"
    assert str(Path(flowfn.__file__).parent) not in again


@pytest.mark.parametrize("way", ["invoke", "stream", "thread"])
def test_an_async_entrypoint_under_a_blocking_caller(sync_world: World, way: str) -> None:
    """`invoke` of an async function is refused with a sentence that names `ainvoke`; nothing is recorded."""

    @entrypoint(checkpointer=sync_world.saver)
    async def wf(x: int) -> int:
        return x

    calls: dict[str, Any] = {
        "invoke": lambda: wf.invoke(1, thread_id="t"),
        "stream": lambda: list(wf.stream(1, thread_id="t")),
        "thread": lambda: wf.thread("t").invoke(1),
    }
    with pytest.raises(
        AsyncInBlockingRun, match=r'No synchronous function provided to "wf". It is async.*ainvoke\(\)'
    ):
        calls[way]()
    assert sync_world.saver.thread("t") is None


def test_an_async_task_in_a_blocking_run(sync_world: World) -> None:
    """An async task of a blocking run is refused, naming the task and `ainvoke`."""

    @task
    async def double(x: int) -> int:
        return 2 * x

    @entrypoint(checkpointer=sync_world.saver)
    def wf(x: int) -> int:
        return double(x).result()

    with pytest.raises(
        AsyncInBlockingRun, match=r'No synchronous function provided to "double". It is async.*ainvoke\(\)'
    ):
        wf.invoke(1, thread_id="t")


def test_waiting_on_the_event_loop_is_refused(async_world: World) -> None:
    """`.result()` in a coroutine would block the loop: RuntimeError says to await."""
    world = async_world

    @world.task
    async def double(x: int) -> int:
        return 2 * x

    @world.entrypoint
    async def wf(x: int) -> int:
        return double(x).result()

    with pytest.raises(RuntimeError, match="await the future instead"):
        world.invoke(wf, 1)


def test_any_exception_can_be_a_tasks(world: World) -> None:
    """Errors of any class, also of one that takes arguments of its own, come out as they are."""

    class Refused(Exception):
        def __init__(self, code: int, *, why: str) -> None:
            super().__init__(f"{code}: {why}")
            self.code = code

    @world.task
    async def fail() -> None:
        raise Refused(7, why="no stock")

    @world.entrypoint
    async def wf() -> int:
        try:
            await world.value(fail())
        except Refused as error:
            return error.code
        return 0

    assert world.invoke(wf, thread_id="t") == 7


def test_an_error_that_was_acted_on_is_final_at_once(world: World) -> None:
    """G1: what is recorded while the call runs that a caught error led to, were the process to die in it, says so."""
    failures = [True]

    @world.task
    async def reserve(item: str) -> str:
        if failures:
            failures.pop()
            raise LookupError(item)
        return f"{item} reserved"

    @world.task
    async def refund(item: str) -> str:
        if order.thread("died").status is None:
            order.thread("t").fork(thread_id="died")
        return f"{item} refunded"

    @world.entrypoint
    async def order(item: str) -> str:
        try:
            return await world.value(reserve(item))
        except LookupError:
            return await world.value(refund(item))

    assert world.invoke(order, "desk", thread_id="t") == "desk refunded"
    assert world.do(order.thread("died"), "resume") == "desk refunded"


class Held(Exception):
    """Carries what can't be stored, and says something of it."""

    def __init__(self, response: Any) -> None:
        super().__init__("refused", response)
        self.response = response

    def __str__(self) -> str:
        return f"status {self.response.status}"


class Reason(str):
    """A text of a class that isn't registered."""


@pytest.mark.parametrize(
    "held",
    [SimpleNamespace(status=1), MappingProxyType({"a": 1}), Reason("late"), [memoryview(b"a")], 10**5000],
    ids=lambda held: type(held).__name__,
)
def test_a_call_that_was_given_a_recorded_error_is_the_same_call(world: World, held: Any) -> None:
    """G1: what the error carries comes back as a text where it can't be stored, and the call doesn't run again."""
    failures = [True]

    @world.task
    async def fail() -> None:
        raise Held(held) if isinstance(held, SimpleNamespace) else ValueError(held)

    @world.task
    async def handle(error: Exception) -> None:
        world.ran.append(type(error))

    @world.entrypoint
    async def wf() -> str:
        try:
            await world.value(fail())
        except (Held, ValueError) as error:
            await world.value(handle(error))
        if failures:
            raise RuntimeError(failures.pop())
        return "handled"

    with pytest.raises(RuntimeError):
        world.invoke(wf, thread_id="t")
    assert world.invoke(wf, None, thread_id="t") == "handled"
    assert len(world.ran) == 1


class Exhausted(StopIteration):
    """What a user derives from it is one too."""


@pytest.mark.parametrize("kind", [StopIteration, Exhausted])
def test_a_stop_iteration_is_told_by_the_name_of_who_raised_it(world: World, kind: Any) -> None:
    """No coroutine can raise it: its caller gets Python's `RuntimeError`, now and on resume, with it as the cause."""
    failing = [True]

    @task
    def first(items: list[int]) -> int:
        raise kind(items)

    @world.entrypoint
    async def wf(items: list[int]) -> tuple[str, Any]:
        error = await world.error(first(items))
        if failing:
            failing.clear()
            raise ConnectionError
        return str(error), error.__cause__.args

    with pytest.raises(ConnectionError):
        world.invoke(wf, [], thread_id="stopped")
    text, args = world.invoke(wf, None, thread_id="stopped")
    assert text.startswith(
        f"'first' raised {kind.__name__}([]), which Python would take for the end of a coroutine"
    )
    assert args == ([],)


@pytest.mark.parametrize("failed", [1, 3])
def test_errors_that_end_the_run_late_are_not_final(world: World, failed: int) -> None:
    """An error that the code kept while it went on, and raised then, ended the run: its task runs again."""
    failures = [True]

    @world.task
    async def fetch(x: int) -> int:
        world.ran.append(x)
        if failures:
            raise ConnectionError(f"lost {x}")
        return x

    @world.task
    async def clean_up() -> None:
        world.ran.append("clean up")

    @world.task
    async def fetch_all() -> list[int]:
        found, errors = [], []
        for x in range(failed):
            try:
                found.append(await world.value(fetch(x)))
            except ConnectionError as error:
                errors.append(error)
        await world.value(clean_up())
        if errors:
            raise errors[0] if failed == 1 else ExceptionGroup("some failed", errors)
        return found

    @world.entrypoint
    async def wf() -> list[int]:
        return await world.value(fetch_all())

    with pytest.raises((ConnectionError, ExceptionGroup)):
        world.invoke(wf, thread_id="t")
    failures.clear()
    world.ran.clear()
    assert world.invoke(wf, None, thread_id="t") == list(range(failed))
    assert world.ran == list(range(failed))


def test_an_error_that_was_handled_by_a_call_that_failed_is_part_of_the_run(world: World) -> None:
    """G1: the fallback's error ended the run, raised beside the first one; the code had acted on that one."""
    failures = [True]

    @world.task
    async def fetch() -> str:
        world.ran.append("fetch")
        raise KeyError("gone")

    @world.task
    async def fall_back() -> str:
        world.ran.append("fall back")
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return "found"

    @world.entrypoint
    async def wf() -> str:
        try:
            return str(await world.value(fetch()))
        except KeyError:
            return str(await world.value(fall_back()))

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    assert world.invoke(wf, None, thread_id="t") == "found"
    assert world.ran == ["fetch", "fall back", "fall back"]


@pytest.mark.parametrize(
    "acts",
    ["at once", "in a branch", "after its branches", "in a branch, after its own", "elsewhere", "not at all"],
)
def test_an_error_beside_one_of_the_code_is_part_of_the_run_if_it_was_acted_on(
    async_world: World, acts: str
) -> None:
    """G1: what was done about it stands, and it isn't what ended the run; without a call in between, it may be."""
    world, bugs = async_world, [True]

    @world.task
    async def charge() -> str:
        if bugs:
            raise ConnectionError("declined")
        world.ran.append("charged")
        return "paid"

    @world.task
    async def cancel() -> None:
        world.ran.append("cancelled")

    async def handled() -> str:
        if acts == "elsewhere":
            await asyncio.gather(asyncio.to_thread(lambda: cancel().result()))
        elif acts != "not at all":
            await cancel()
        if bugs:
            raise KeyError("a bug")
        return "cancelled"

    async def in_a_branch() -> str:
        try:
            return (await asyncio.gather(charge()))[0] if acts.endswith("own") else await charge()
        except ConnectionError:
            return await handled()

    @world.entrypoint
    async def wf() -> str:
        if acts.startswith("in a branch"):
            return await asyncio.create_task(in_a_branch())
        try:
            if acts != "after its branches":
                return await charge()
            async with asyncio.TaskGroup() as group:
                paid = group.create_task(asyncio.wait_for(charge(), 60))
            return paid.result()
        except (ConnectionError, ExceptionGroup):
            return await handled()

    with pytest.raises(KeyError) as failed:
        world.invoke(wf, thread_id="t")
    bugs.clear()
    acted = acts != "not at all"
    told = any("raise your own error `from` it" in note for note in failed.value.__notes__)
    assert told == acted
    assert world.invoke(wf, None, thread_id="t") == ("cancelled" if acted else "paid")
    assert world.ran == (["cancelled"] if acted else ["charged"])


def test_an_error_that_another_one_replaced_runs_again_whatever_another_branch_calls(
    async_world: World,
) -> None:
    """G1: what a branch's error came from is acted on by calls that are made while it is handled, and by no others."""
    world, failures = async_world, [True]

    @world.task
    async def fetch() -> str:
        if failures:
            raise ConnectionError("lost")
        return "a"

    @world.task
    async def tick() -> None: ...

    async def translating(met: asyncio.Event, ticked: asyncio.Event) -> str:
        try:
            return await fetch()
        except ConnectionError:
            met.set()
            await ticked.wait()
            raise KeyError("one of its own") from None
        finally:
            met.set()

    @world.entrypoint
    async def wf() -> str:
        met, ticked = asyncio.Event(), asyncio.Event()
        branch = asyncio.create_task(translating(met, ticked))
        await met.wait()
        await tick()
        ticked.set()
        return await branch

    with pytest.raises(KeyError):
        world.invoke(wf, thread_id="t")
    failures.clear()
    assert world.invoke(wf, None, thread_id="t") == "a"


def test_a_call_after_the_handler_does_not_act_on_its_error(world: World) -> None:
    """G1: a loop that keeps an error, does something else, and raises it in the end has given nothing up."""
    failures = [True]

    @world.task
    async def fetch() -> str:
        if failures:
            raise ConnectionError("lost")
        return "a"

    @world.task
    async def note() -> None: ...

    async def polled() -> str:
        last: Exception = ConnectionError()
        try:
            return str(await world.value(fetch()))
        except ConnectionError as error:
            last = error
        await world.value(note())
        raise last

    @world.entrypoint
    async def wf() -> str:
        try:
            return await polled()
        except ConnectionError:
            raise KeyError("one of its own") from None

    with pytest.raises(KeyError):
        world.invoke(wf, thread_id="t")
    failures.clear()
    assert world.invoke(wf, None, thread_id="t") == "a"


def test_an_error_that_another_one_replaced_runs_again_though_that_tells_the_time(world: World) -> None:
    """G1: what a message is made of acts on nothing."""
    failures = [True]

    @world.task
    async def fetch() -> str:
        if failures:
            raise ConnectionError("lost")
        return "a"

    @world.entrypoint
    async def wf() -> str:
        try:
            return str(await world.value(fetch()))
        except ConnectionError:
            raise KeyError(f"lost at {flowfn.now()}") from None

    with pytest.raises(KeyError):
        world.invoke(wf, thread_id="t")
    failures.clear()
    assert world.invoke(wf, None, thread_id="t") == "a"


def test_an_error_with_any_number_of_causes_can_be_handled(world: World) -> None:
    """A loop that polls, and raises each error from the one before it, may do so as often as it likes."""

    @world.task
    async def note(text: str) -> str:
        return text

    @world.entrypoint
    async def wf() -> str:
        error = ValueError("0")
        for number in range(5_000):
            error, error.__cause__ = ValueError(str(number)), error
        try:
            raise error
        except ValueError as raised:
            return str(await world.value(note(str(raised))))

    assert world.invoke(wf, thread_id="t") == "4999"


def test_a_retry_runs_again_what_failed_whatever_was_done_about_it(world: World) -> None:
    """Section 3: the task is told to try anew, and an attempt that finds the old error isn't one."""

    class Unavailable(Exception):
        pass

    @world.task
    async def fetch() -> str:
        world.ran.append("fetch")
        if len(world.ran) < 3:
            raise ConnectionError("lost")
        return "found"

    @world.task
    async def log() -> None:
        world.ran.append("log")

    @world.task(retry_policy=RetryPolicy(max_attempts=2, initial_interval=0, retry_on=Unavailable))
    async def outer() -> str:
        try:
            return str(await world.value(fetch()))
        except ConnectionError:
            await world.value(log())
            raise Unavailable from None

    @world.entrypoint
    async def wf() -> str:
        return str(await world.value(outer()))

    assert world.invoke(wf, thread_id="t") == "found"
    assert world.ran == ["fetch", "log", "fetch"]


@dataclass(frozen=True)
class Frozen(Exception):
    """Nobody may set an attribute of it: no note, no cause."""

    code: int = 7


class Listed(Exception):
    """As long as what it lists, and so falsy."""

    def __len__(self) -> int:
        return 0


class Sealed(Exception):
    """It has what it was made with, and is compared with nothing."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise TypeError("sealed")

    def __eq__(self, other: object) -> bool:
        raise TypeError("sealed")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("kind", [Frozen, Listed, Sealed])
def test_an_error_of_an_odd_class_is_raised_as_it_is(world: World, kind: type[Exception]) -> None:
    """G2: no other error takes its place, nor None as if there had been none, now or where the run goes on."""
    failures = [True]

    @world.task
    async def fail() -> None:
        world.ran.append("fail")
        raise kind

    @world.task
    async def note(x: str) -> str:
        return x

    @world.entrypoint
    async def wf() -> str:
        try:
            return str(await world.value(fail()))
        except kind as error:
            result: str = await world.value(note(type(error).__name__))
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return result

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    assert world.invoke(wf, None, thread_id="t") == kind.__name__
    assert world.ran == ["fail"]


@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit])
def test_stopping_the_program_leaves_the_run_resumable(
    sync_world: World, signal: type[BaseException]
) -> None:
    """Ctrl-C and exit pass through; what was recorded is kept, and the run goes on later."""
    world, signals = sync_world, [signal]

    @world.task
    def note(x: int) -> int:
        world.ran.append(x)
        return x

    @world.entrypoint
    def wf() -> int:
        value = note(1).result()
        if signals and not world.asyncio:
            raise signals.pop()
        return value

    if not world.asyncio:
        with pytest.raises(signal):
            world.invoke(wf, thread_id="t")
        assert world.invoke(wf, None, thread_id="t") == 1
        assert world.ran == [1]


def test_cancelling_the_callers_task_leaves_the_run_resumable(async_world: World) -> None:
    """Cancelling the asyncio task that awaits `ainvoke` stops the run; it goes on later, repeating nothing."""
    import asyncio

    world, hang = async_world, [True]

    @world.task
    async def note(x: int) -> int:
        world.ran.append(x)
        return x

    @world.entrypoint
    async def wf() -> int:
        value = await note(1)
        if hang:
            hang.pop()
            await asyncio.Event().wait()
        return value

    async def main() -> None:
        running = asyncio.create_task(wf.ainvoke(thread_id="t"))
        while hang:
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    world.call(main)
    assert world.invoke(wf, None, thread_id="t") == 1
    assert world.ran == [1]


def test_a_cancelled_run_has_ended_with_all_that_it_called(async_world: World) -> None:
    """Calls that nobody awaited are stopped with it, and clean up before its caller goes on; they run when it does."""
    import asyncio

    world, cleaned = async_world, []
    stuck = [True]

    @world.task
    async def step(x: int) -> int:
        world.ran.append(x)
        try:
            while stuck:
                await asyncio.sleep(0)
        finally:
            for _ in range(10):
                await asyncio.sleep(0)
            cleaned.append(x)
        return x

    @world.entrypoint
    async def wf(n: int) -> int:
        for x in range(n):
            step(x)
        return n

    async def main() -> None:
        running = asyncio.create_task(wf.ainvoke(3, thread_id="t"))
        while len(world.ran) < 3:
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert sorted(cleaned) == [0, 1, 2]
        assert asyncio.all_tasks() == {asyncio.current_task()}

    world.call(main)
    stuck.clear()
    assert world.invoke(wf, None, thread_id="t") == 3
    assert sorted(world.ran) == [0, 0, 1, 1, 2, 2]


def test_an_error_of_a_run_that_goes_on_says_what_it_went_on_with(world: World) -> None:
    """G9: whoever edits a task and runs the script again reads under the traceback that its old result was kept."""

    def workflow(body: Any) -> Any:
        step = task(body, name="step")

        @world.entrypoint(name="edited")
        async def edited(x: int) -> int:
            raise ValueError(await world.value(step(x)))

        return edited

    def notes(body: Any, given: Any) -> list[str]:
        with pytest.raises(ValueError, match="2") as failed:
            world.invoke(workflow(body), given, thread_id="t")
        assert failed.value.args == (2,)
        return [note for note in failed.value.__notes__ if note.startswith("It went on")]

    def before(x: int) -> int:
        return x + 1

    def after(x: int) -> int:
        return x * 100

    assert notes(before, 1) == []
    (note,) = notes(after, None)
    assert "differs from its record: 1 code; 1 call reused, 0 run; first: code: step(x=1)" in note


def test_a_result_that_was_not_waited_for_is_the_results(world: World) -> None:
    """Who forgot `.result()` is told of what the function returns, and never of what it saves for its next call."""

    @world.task
    async def step(x: int) -> int:
        return x

    @world.entrypoint
    async def wf(x: int) -> Any:
        return step(x)

    with pytest.raises(
        SerializationError, match=r"^the result of '.*wf' is a Future: return its value, with"
    ):
        world.invoke(wf, 1)


def test_errors_that_nobody_had_looked_at_do_not_come_back(world: World) -> None:
    """Of a fan-out whose early tasks failed while it called on, all that failed run again on the first resume."""
    outage = [True]

    @world.task
    async def fetch(x: int) -> int:
        world.ran.append(x)
        if outage and x != 1:
            raise ConnectionError(f"page {x}")
        return x

    @world.entrypoint
    async def wf(pages: int) -> Any:
        fetched = []
        for x in range(pages):
            fetched.append(fetch(x))
            await world.ended(fetched[-1])
        return await world.value(gather(fetched))

    with pytest.raises(ConnectionError, match="page 0"):
        world.invoke(wf, 4, thread_id="t")
    outage.clear()
    assert world.invoke(wf, None, thread_id="t") == [0, 1, 2, 3]
    assert world.ran == [0, 1, 2, 3, 0, 2, 3]


def test_an_error_that_was_looked_at_is_part_of_the_run_beside_others(world: World) -> None:
    """Code that handled an error and failed of another doesn't have the handled one's task run again."""
    outage = [True]

    @world.task
    async def fetch(x: int) -> int:
        world.ran.append(x)
        if outage or x == 0:
            raise ConnectionError(f"page {x}")
        return x

    @world.entrypoint
    async def wf(pages: int) -> Any:
        handled = await world.error(fetch(0))
        fetched = []
        for x in range(1, pages):
            fetched.append(fetch(x))
            await world.ended(fetched[-1])
        return [str(handled), *await world.value(gather(fetched))]

    with pytest.raises(ConnectionError, match="page 1"):
        world.invoke(wf, 3, thread_id="t")
    outage.clear()
    assert world.invoke(wf, None, thread_id="t") == ["page 0", 1, 2]
    assert world.ran == [0, 1, 2, 1, 2]


def test_a_recorded_error_has_the_notes_that_it_had(world: World) -> None:
    """What code makes of an error that it caught is the same on resume: a call that is given its text isn't new."""
    lost = [True]

    @world.task
    async def fails() -> None:
        raise ValueError("boom")

    @world.task
    async def alert(text: str) -> str:
        world.ran.append(text)
        return text

    @world.entrypoint
    async def wf() -> str:
        try:
            await world.value(fails())
        except ValueError as error:
            text = await world.value(alert("".join(traceback.format_exception_only(error))))
        if lost:
            lost.pop()
            raise ConnectionError
        return str(text)

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    text = world.invoke(wf, None, thread_id="t")
    assert world.ran == [text]
    assert text.startswith("ValueError: boom\nDuring task with name 'fails'")


@pytest.mark.parametrize("use", [lambda one: one + 1, lambda one: one.real])
def test_an_error_of_python_about_a_future_has_a_note(world: World, use: Callable[[Any], Any]) -> None:
    """Code that uses a call as its value is told what to write; once, however many tasks the error passes."""

    @world.task
    async def one() -> int:
        return 1

    @world.task
    async def used() -> Any:
        return use(one())

    @world.entrypoint
    async def wf() -> Any:
        return await world.value(used())

    with pytest.raises((TypeError, AttributeError)) as failed:
        world.invoke(wf, thread_id="t")
    assert [
        note for note in failed.value.__notes__ if ".result(), or await" in note
    ] == failed.value.__notes__[:1]


def test_an_error_about_a_future_in_a_group_has_a_note_on_the_group(world: World) -> None:
    """So it comes out of a `TaskGroup`."""

    @world.task
    async def one() -> int:
        return 1

    @world.entrypoint
    async def wf() -> None:
        try:
            one() + 1  # type: ignore[operator]
        except TypeError as error:
            raise ExceptionGroup(
                "unhandled errors", [KeyError("k"), ExceptionGroup("inner", [error])]
            ) from None

    with pytest.raises(ExceptionGroup) as failed:
        world.invoke(wf, thread_id="t")
    assert ".result(), or await" in failed.value.__notes__[0]


def test_an_error_of_python_about_another_thing_has_no_such_note(world: World) -> None:
    """It would lead astray."""

    @world.entrypoint
    async def wf() -> Any:
        return len(3)  # type: ignore[arg-type]

    with pytest.raises(TypeError) as failed:
        world.invoke(wf, thread_id="t")
    assert [note for note in failed.value.__notes__ if "future" in note] == []


def test_what_is_told_of_an_error_is_the_same_on_resume(world: World) -> None:
    """Its attributes as a mapping, as structured logs have them, are without what flowfn notes on it."""
    lost = [True]

    @world.task
    async def fails() -> None:
        raise ValueError("boom")

    @world.task
    async def alert(told: dict[str, Any]) -> None:
        world.ran.append(told["type"])

    @world.entrypoint
    async def wf() -> None:
        try:
            await world.value(fails())
        except ValueError as error:
            await world.value(alert({"type": type(error).__name__, **vars(error)}))
        if lost:
            lost.pop()
            raise ConnectionError

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    world.invoke(wf, None, thread_id="t")
    assert world.ran == ["ValueError"]
