"""Who waits on an event loop for calls that are settled on another thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from typing import Any

import pytest

from flowfn.futures import Future
from flowfn.hosts import wakes
from flowfn.hosts.wakes import Told, Wake


def settled(count: int) -> list[Future[int]]:
    """Futures that are done, and whose callbacks nobody has called yet."""
    futures = [Future[int]() for _ in range(count)]
    for future in futures:
        future.call_back = lambda _: None
    return futures


def call_back(futures: Iterable[Future[Any]]) -> None:
    """Tell who waits for futures that were settled one after the other."""
    told = Told()
    for future in futures:
        told.of(future)
    told.wake()


async def waiting(futures: list[Future[int]]) -> list[asyncio.Future[None]]:
    """What is done once the loop is told of each."""
    loop = asyncio.get_running_loop()
    waiters = [loop.create_future() for _ in futures]
    for future, waiter in zip(futures, waiters, strict=True):
        future.add_done_callback(Wake(loop, threading.get_ident(), waiter))
        future.set_result(0)
    return waiters


async def test_those_that_are_settled_together_wake_the_loop_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time takes a system call, and the interpreter's lock from whoever settles the next one."""
    loop, woken = asyncio.get_running_loop(), list[Any]()
    heard = loop.call_soon_threadsafe
    monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *args: woken.append(heard(*args)))
    futures = settled(100)
    waiters = await waiting(futures)
    thread = threading.Thread(target=call_back, args=(futures,))
    thread.start()
    await asyncio.wait(waiters, timeout=10)
    thread.join()
    assert all(waiter.done() for waiter in waiters)
    assert len(woken) == 1


async def test_who_waits_no_more_is_passed_over() -> None:
    """A wait that was cancelled meanwhile is over."""
    futures = settled(2)
    gone, left = await waiting(futures)
    gone.cancel()
    call_back(futures)
    await asyncio.wait_for(left, 10)
    assert gone.cancelled()


async def test_a_callback_of_somebodys_own_is_called_apart() -> None:
    """It may wait for what is settled after its future; those on the loop are told there too."""
    futures = settled(2)
    waiters = await waiting(futures)
    others = settled(1)
    last, threads = threading.Event(), list[int]()

    def wait_for_the_last(_: Any) -> None:
        assert last.wait(10)
        threads.append(threading.get_ident())

    done = asyncio.get_running_loop().create_future()
    others[0].add_done_callback(wait_for_the_last)
    others[0].add_done_callback(Wake(asyncio.get_running_loop(), threading.get_ident(), done))
    others[0].set_result(0)
    call_back([*others, *futures])
    await asyncio.wait(waiters, timeout=10)
    assert not done.done()
    last.set()
    await asyncio.wait_for(done, 10)
    assert threads != [threading.get_ident()]


def test_a_loop_that_has_ended_is_not_told() -> None:
    """Nobody waits there."""
    loop = asyncio.new_event_loop()
    waiter = loop.create_future()
    loop.close()
    (future,) = settled(1)
    future.add_done_callback(Wake(loop, 0, waiter))
    future.set_result(0)
    call_back([future])
    assert not waiter.done()


def test_where_no_thread_can_be_started_callbacks_are_called_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are called all the same."""

    def refuse(_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(wakes, "run_soon", refuse)
    heard: list[int] = []
    (future,) = settled(1)
    future.add_done_callback(lambda done: heard.append(done.result()))
    future.set_result(3)
    call_back([future])
    assert heard == [3]
