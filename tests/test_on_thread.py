"""A blocking call beside an event loop: what it sees, what comes back, how many run at once."""

import asyncio
import gc
import signal
import threading
import time
from contextlib import suppress
from contextvars import ContextVar

import pytest

from flowfn import entrypoint
from flowfn.hosts.moment import MOMENT
from flowfn.hosts.on_thread import on_thread
from flowfn.hosts.shared import shared
from flowfn.hosts.threads import MAX_WORKERS

where: ContextVar[str] = ContextVar("where", default="nowhere")


@pytest.fixture(params=[0.0, 60.0], ids=["the loop goes on", "the loop waits"])
def moment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How long the loop stands still for what may end at once."""
    monkeypatch.setattr("flowfn.hosts.shared.MOMENT", request.param)


waits_or_not = pytest.mark.usefixtures("moment")


@waits_or_not
async def test_it_runs_on_another_thread_in_a_copy_of_the_context() -> None:
    """It sees what its caller has set, and what it sets itself nobody else does."""

    def look() -> tuple[str, int]:
        seen = where.get()
        where.set("there")
        return seen, threading.get_ident()

    where.set("here")
    seen, thread = await on_thread(look)
    assert (seen, where.get()) == ("here", "here")
    assert thread != threading.get_ident()


@waits_or_not
async def test_arguments_of_any_name_arrive() -> None:
    """Those too that the helper's own parameters are called."""
    given = {"function": 1, "args": 2, "kwargs": 3, "loop": 4}
    assert await on_thread(lambda **arguments: arguments, **given) == given


@waits_or_not
@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3)], ids=repr)
async def test_what_it_raises_is_raised(error: BaseException) -> None:
    """The very same, whatever it is."""

    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        await on_thread(fail)
    assert raised.value is error


@waits_or_not
async def test_what_no_coroutine_can_raise_says_so() -> None:
    """A StopIteration of the function's is told by its name, and is the cause."""

    def first() -> int:
        return next(iter(()))

    with pytest.raises(RuntimeError, match=r"'first' raised StopIteration\(\)") as raised:
        await on_thread(first)
    assert isinstance(raised.value.__cause__, StopIteration)


@waits_or_not
async def test_what_it_raises_is_let_go() -> None:
    """Nothing of it is left for the garbage collector."""

    class Lost(Exception):
        pass

    def fail() -> None:
        raise Lost

    gc.collect()
    gc.disable()
    try:
        with suppress(Lost):
            await on_thread(fail)
        await asyncio.sleep(0)
        left = [found for found in gc.get_objects() if type(found) is Lost]
    finally:
        gc.enable()
    assert left == []


async def test_who_is_cancelled_waits_no_longer() -> None:
    """The thread runs to its end, and nobody is told."""
    go, ended = threading.Event(), threading.Event()

    def work() -> None:
        go.wait()
        ended.set()

    task = asyncio.create_task(on_thread(work))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not ended.is_set()
    go.set()
    assert ended.wait(60)


async def test_no_more_run_at_once_than_a_run_has_workers() -> None:
    """The others wait for a place, and all get one."""
    lock, go = threading.Lock(), threading.Event()
    running = most = 0

    def work(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            if running == MAX_WORKERS:
                go.set()
        go.wait(60)
        with lock:
            running -= 1
        return number

    numbers = range(2 * MAX_WORKERS)
    assert await asyncio.gather(*(on_thread(work, number) for number in numbers)) == list(numbers)
    assert most == MAX_WORKERS


def test_a_loop_that_has_ended_is_not_told() -> None:
    """What its program left running ends on its thread, without an error in any log."""
    go, ended = threading.Event(), threading.Event()

    def work() -> None:
        go.wait()

    async def leave() -> None:
        task = asyncio.ensure_future(on_thread(work))
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(leave())
    threading.Thread(target=lambda: (go.set(), ended.set())).start()
    assert ended.wait(60)


async def test_the_loop_stands_still_for_a_run_that_is_alone_there() -> None:
    """Where others are under way they go on; one that has ended, however it did, isn't."""
    together = asyncio.Barrier(2)

    @entrypoint
    async def look(others: bool) -> float:
        if others:
            await together.wait()
        moment = shared(asyncio.get_running_loop()).moment
        if others:
            await together.wait()
        return moment

    @entrypoint
    async def fail(_: int) -> None:
        raise ValueError

    with suppress(ValueError):
        await fail.ainvoke(0)
    assert await look.ainvoke(False) > 0
    assert await asyncio.gather(look.ainvoke(True), look.ainvoke(True)) == [0, 0]
    assert await look.ainvoke(False) > 0


async def test_the_moment_ends_whatever_signals_come() -> None:
    """A handler that takes longer than the loop would stand still doesn't make it wait for a call that waits for it."""
    loop = asyncio.get_running_loop()

    def look() -> bool:
        turn = threading.Event()
        loop.call_soon_threadsafe(turn.set)
        return turn.wait(60)

    def handle(*_: object) -> None:
        end = time.perf_counter() + 2 * MOMENT
        while time.perf_counter() < end:
            pass

    def signals() -> None:
        while not enough.wait(7 * MOMENT):
            signal.pthread_kill(loops, signal.SIGUSR1)

    loops, enough, sender = threading.get_ident(), threading.Event(), threading.Thread(target=signals)
    before = signal.signal(signal.SIGUSR1, handle)
    sender.start()
    try:
        assert all([await on_thread(look) for _ in range(1_000)])
    finally:
        enough.set()
        sender.join()
        signal.signal(signal.SIGUSR1, before)


async def test_what_a_call_waits_for_has_a_place() -> None:
    """However many calls wait for others on the same loop, those run."""
    loop = asyncio.get_running_loop()

    def call(number: int) -> int:
        return asyncio.run_coroutine_threadsafe(on_thread(lambda: number + 1), loop).result(10)

    numbers = range(MAX_WORKERS + 1)
    assert await asyncio.gather(*(on_thread(call, n) for n in numbers)) == [n + 1 for n in numbers]
