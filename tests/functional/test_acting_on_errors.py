"""Which code acts on the error of a call: what calls a task while it handles that, or is begun there and does.

Rule: such a call stays failed where the code then raises an error of its own; others run again.
"""

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from threading import Event
from typing import Any

import pytest

from ..worlds import World


class Replaced(Exception):
    """The code's own, raised beside that of a call."""


class Calls:
    """A call that fails until it is repaired, and one by which code acts."""

    def __init__(self, world: World) -> None:
        self.failures = failures = [True]

        @world.task
        async def fetch() -> str:
            world.ran.append("fetch")
            if failures:
                raise ConnectionError("lost")
            return "fetched"

        @world.task
        async def note() -> None:
            world.ran.append("note")

        self.fetch, self.note = fetch, note

    def on_a_thread(self) -> None:
        """What a thread does."""
        self.note().result()

    async def in_a_branch(self) -> None:
        """What a branch does."""
        await self.note()

    async def in_a_group(self) -> None:
        """What a branch does that makes others."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.in_a_branch())


def outcomes(world: World, body: Callable[[Calls], Any]) -> tuple[Any, list[str]]:
    """What a workflow comes to that failed, where it goes on once the call would succeed; and what ran in all."""
    calls = Calls(world)

    async def wf() -> Any:
        found = body(calls)
        return await found if isinstance(found, Awaitable) else found

    workflow = world.entrypoint(wf)
    with pytest.raises(Replaced):
        world.invoke(workflow, thread_id="t")
    calls.failures.clear()
    try:
        found = world.invoke(workflow, None, thread_id="t")
    except Replaced:
        found = Replaced
    return found, sorted(world.ran)


ACTED = Replaced, ["fetch", "note"]
RUN_AGAIN = "fetched", ["fetch", "fetch", "note"]


# -- what a handler has others do, in asyncio ----------------------------------------------------------


async def by_a_group_of_a_branch(calls: Calls) -> None:
    await asyncio.gather(calls.in_a_group())


async def by_a_group_with_a_deadline(calls: Calls) -> None:
    await asyncio.wait_for(calls.in_a_group(), 60)


async def by_a_branch_that_handles_an_error_of_its_own(calls: Calls) -> None:
    async def branch() -> None:
        try:
            raise ZeroDivisionError
        except ZeroDivisionError:
            await calls.note()

    await asyncio.gather(branch())


async def by_a_thread(calls: Calls) -> None:
    await asyncio.to_thread(calls.on_a_thread)


async def by_a_thread_of_a_branch(calls: Calls) -> None:
    await asyncio.gather(asyncio.to_thread(calls.on_a_thread))


async def by_a_branch_of_a_callback(calls: Calls) -> None:
    made: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(lambda: made.set_result(asyncio.ensure_future(calls.in_a_branch())))
    await (await made)


async def by_a_context_manager_around(calls: Calls) -> None:
    @asynccontextmanager
    async def compensated() -> Any:
        try:
            yield
        except ConnectionError:
            await asyncio.to_thread(calls.on_a_thread)
            raise

    async with compensated():
        await calls.fetch()


REACTIONS = (
    by_a_group_of_a_branch,
    by_a_group_with_a_deadline,
    by_a_branch_that_handles_an_error_of_its_own,
    by_a_thread,
    by_a_thread_of_a_branch,
    by_a_branch_of_a_callback,
    by_a_context_manager_around,
)


async def alone(calls: Calls) -> str:
    return str(await calls.fetch())


async def with_a_deadline(calls: Calls) -> str:
    return str(await asyncio.wait_for(calls.fetch(), 60))


async def in_a_branch(calls: Calls) -> str:
    return str((await asyncio.gather(alone(calls)))[0])


@pytest.mark.parametrize("met", [alone, with_a_deadline, in_a_branch], ids=lambda met: met.__name__)
@pytest.mark.parametrize("react", REACTIONS, ids=lambda react: react.__name__)
def test_a_handler_acts_by_what_it_has_branches_and_threads_do(
    async_world: World, react: Any, met: Any
) -> None:
    """G1: what they did about the error stands, however the code was given that."""

    async def body(calls: Calls) -> str:
        try:
            return str(await met(calls))
        except ConnectionError:
            with suppress(ConnectionError):
                await react(calls)
            raise Replaced from None

    found, ran = outcomes(async_world, body)
    assert (found, [each for each in ran if each == "note"]) == (Replaced, ["note"])


def test_a_branch_that_a_handler_began_acts_after_it_too(async_world: World) -> None:
    """G1: it is for the error, whenever it comes to its call."""

    async def body(calls: Calls) -> str:
        try:
            try:
                return str(await calls.fetch())
            except ConnectionError as error:
                branch, last = asyncio.create_task(calls.in_a_branch()), error
            await branch
            raise last
        except ConnectionError:
            raise Replaced from None

    assert outcomes(async_world, body) == ACTED


def loop_with_a_factory_of_its_own() -> None:
    """So that nobody counts the tasks that it makes."""
    asyncio.get_running_loop().set_task_factory(
        lambda loop, coro, **more: asyncio.Task(coro, loop=loop, **more)
    )


@pytest.mark.parametrize("of_its_own", [False, True], ids=["ours", "a factory of its own"])
@pytest.mark.parametrize("react", REACTIONS[:-1], ids=lambda react: react.__name__)
def test_what_is_begun_after_a_handler_does_not_act_on_its_error(
    async_world: World, react: Any, of_its_own: bool
) -> None:
    """G1: a loop that keeps an error, has something else done, and raises it in the end has given nothing up."""

    async def polled(calls: Calls) -> str:
        try:
            return str(await calls.fetch())
        except ConnectionError as error:
            last = error
        await react(calls)
        raise last

    async def body(calls: Calls) -> str:
        if of_its_own:
            loop_with_a_factory_of_its_own()
        try:
            return await polled(calls)
        except ConnectionError:
            raise Replaced from None
        finally:
            asyncio.get_running_loop().set_task_factory(None)

    assert outcomes(async_world, body) == RUN_AGAIN


def test_a_handler_acts_by_branches_that_nobody_counts(async_world: World) -> None:
    """G1: also where the loop has a task factory of its own."""

    async def handling(calls: Calls) -> str:
        try:
            return str(await calls.fetch())
        except ConnectionError:
            await asyncio.gather(calls.in_a_branch())
            raise Replaced from None

    async def body(calls: Calls) -> str:
        loop_with_a_factory_of_its_own()
        try:
            return str((await asyncio.gather(handling(calls)))[0])
        finally:
            asyncio.get_running_loop().set_task_factory(None)

    assert outcomes(async_world, body) == ACTED


def test_a_thread_whose_branch_has_ended_acts_on_nothing(async_world: World) -> None:
    """G1: not on the error either that other code handles as it goes on."""

    async def body(calls: Calls) -> str:
        handled = Event()

        def beside() -> None:
            handled.wait(60)
            calls.on_a_thread()

        async def begins() -> Any:
            return asyncio.get_running_loop().run_in_executor(None, copy_context().run, beside)

        (beat,) = await asyncio.gather(begins())
        gc.collect()
        try:
            found = str(await calls.fetch())
        except ConnectionError:
            handled.set()
            await beat
            raise Replaced from None
        handled.set()
        await beat
        return found

    assert outcomes(async_world, body) == RUN_AGAIN


# -- and in blocking code --------------------------------------------------------------------------------


def having(function: Callable[[], Any]) -> Any:
    """Have a thread with a copy of the context call something."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, function).result()


def fetched(calls: Calls) -> str:
    return str(calls.fetch().result())


def fetched_on_a_thread(calls: Calls) -> str:
    return str(having(lambda: fetched(calls)))


def in_a_loop(branch: Callable[[], Any]) -> None:
    async def main() -> None:
        async def one() -> None:
            branch()

        await asyncio.gather(one())

    asyncio.run(main())


BEGUN = {"a thread": having, "a loop": in_a_loop}


@pytest.mark.parametrize("fetch", [fetched, fetched_on_a_thread], ids=lambda fetch: fetch.__name__)
@pytest.mark.parametrize("begin", BEGUN.values(), ids=BEGUN)
def test_a_handler_acts_by_the_threads_and_loops_that_it_begins(
    sync_world: World, begin: Any, fetch: Any
) -> None:
    """G1: also where another thread than the handler's was given the error first."""

    def body(calls: Calls) -> str:
        try:
            return str(fetch(calls))
        except ConnectionError:
            begin(calls.on_a_thread)
            raise Replaced from None

    assert outcomes(sync_world, body) == ACTED


@pytest.mark.parametrize("begin", BEGUN.values(), ids=BEGUN)
def test_what_blocking_code_begins_after_a_handler_does_not_act_on_its_error(
    sync_world: World, begin: Any
) -> None:
    """G1: as in asyncio."""

    def polled(calls: Calls) -> str:
        try:
            return fetched(calls)
        except ConnectionError as error:
            last = error
        begin(calls.on_a_thread)
        raise last

    def body(calls: Calls) -> str:
        try:
            return polled(calls)
        except ConnectionError:
            raise Replaced from None

    assert outcomes(sync_world, body) == RUN_AGAIN


def test_branches_of_a_loop_in_blocking_code_act_on_what_its_code_handles(sync_world: World) -> None:
    """G1: nobody counts them."""

    def body(calls: Calls) -> str:
        async def branch() -> None:
            calls.on_a_thread()

        async def main() -> str:
            try:
                return fetched(calls)
            except ConnectionError:
                await asyncio.gather(branch())
                raise Replaced from None

        return asyncio.run(main())

    assert outcomes(sync_world, body) == ACTED


def test_a_thread_has_another_one_act_on_its_error(sync_world: World) -> None:
    """G1: what counts is who begins it, and not whose code it is all part of."""

    def body(calls: Calls) -> str:
        def handling() -> str:
            try:
                return fetched(calls)
            except ConnectionError:
                having(calls.on_a_thread)
                raise Replaced from None

        return str(having(handling))

    assert outcomes(sync_world, body) == ACTED


def test_a_thread_that_was_begun_before_the_error_does_not_act_on_it(sync_world: World) -> None:
    """G1: it calls what it does anyway, while the code handles an error and waits for nobody."""

    def body(calls: Calls) -> str:
        handles, called = Event(), Event()

        def beside() -> None:
            handles.wait(60)
            calls.on_a_thread()
            called.set()

        with ThreadPoolExecutor(1) as pool:
            beat = pool.submit(copy_context().run, beside)
            try:
                found = fetched(calls)
            except ConnectionError:
                handles.set()
                called.wait(60)
                raise Replaced from None
            finally:
                handles.set()
                beat.result()
        return found

    assert outcomes(sync_world, body) == RUN_AGAIN


# -- what is handled, and what isn't ---------------------------------------------------------------------


def test_a_handler_inside_another_one_acts_on_both_errors(world: World) -> None:
    """G1: a call in there is made while the outer error is handled too."""

    @world.task
    async def other() -> None:
        raise OSError("lost too")

    async def body(calls: Calls) -> str:
        first, second = calls.fetch(), other()
        try:
            return str(await world.value(first))
        except ConnectionError:
            try:
                await world.value(second)
            except OSError:
                await world.value(calls.note())
            raise Replaced from None

    assert outcomes(world, world.colour(body)) == ACTED


def test_a_call_that_a_handler_waits_for_acts_on_nothing(world: World) -> None:
    """G1: it was made before, and isn't what the handler does, also where the handler's thread runs it in place."""

    async def body(calls: Calls) -> str:
        @world.task
        async def work() -> None:
            await world.value(calls.note())

        async def polled() -> str:
            fetching, working = calls.fetch(), work()
            try:
                return str(await world.value(fetching))
            except ConnectionError as error:
                last = error
                await world.value(working)
            await world.value(calls.note())
            raise last

        try:
            return await polled()
        except ConnectionError:
            raise Replaced from None

    found, ran = outcomes(world, world.colour(body))
    assert (found, ran.count("fetch")) == ("fetched", 2)


def test_an_error_names_nothing_that_was_handled_by_whoever_waited_for_it(world: World) -> None:
    """Whether that ran the call in place, in its handler, depends on who came first."""

    @world.task
    async def first() -> None:
        raise ConnectionError("lost")

    @world.task
    async def second() -> None:
        raise OSError("lost too")

    @world.entrypoint
    async def wf() -> Any:
        fetching, other = first(), second()
        try:
            await world.value(fetching)
        except ConnectionError:
            await world.ended(other)
        return repr((await world.error(other)).__context__)

    assert world.invoke(wf, thread_id="t") == "None"


class Response:
    """What an error holds, large as it may be."""


def test_what_was_handled_is_let_go_with_the_run(world: World) -> None:
    """Neither the caller's thread nor its event loop keeps what an error held."""
    held: list[weakref.ref[Response]] = []

    @world.task
    async def fail() -> None:
        response = Response()
        held.append(weakref.ref(response))
        raise ValueError("refused", response)

    @world.entrypoint
    async def wf() -> str:
        with suppress(ValueError):
            await world.value(fail())
        return "went on"

    @world.entrypoint
    async def another() -> None: ...

    assert world.invoke(wf, thread_id="t") == "went on"
    world.invoke(another)  # so that the loop takes its next turn
    gc.collect()
    assert [each() for each in held] == [None]


# -- what is said of it ------------------------------------------------------------------------------------


def test_of_nested_calls_only_the_outer_one_is_said_to_stay(world: World) -> None:
    """What ran under it doesn't run again either, and isn't what the code handled."""

    @world.task
    async def inner() -> None:
        raise OSError("disk")

    @world.task
    async def outer() -> None:
        try:
            await world.value(inner())
        except OSError as error:
            raise ConnectionError("outer") from error

    @world.task
    async def note() -> None: ...

    @world.entrypoint
    async def wf() -> None:
        try:
            await world.value(outer())
        except ConnectionError:
            await world.value(note())
            raise Replaced from None

    with pytest.raises(Replaced) as failed:
        world.invoke(wf, thread_id="t")
    assert told_of(failed.value) == ["ConnectionError"]


def test_an_error_that_several_runs_raise_says_once_what_stays(world: World) -> None:
    """A library may have made one object for all."""
    shared = Replaced("shared")

    async def body(calls: Calls) -> str:
        try:
            return str(await world.value(calls.fetch()))
        except ConnectionError:
            await world.value(calls.note())
            raise shared from None

    assert outcomes(world, world.colour(body)) == ACTED
    assert told_of(shared) == ["ConnectionError"]


def told_of(error: BaseException) -> list[str]:
    """Of which errors it says that they stay part of the run."""
    return [note.split()[0] for note in error.__notes__ if "stays part of the run" in note]
