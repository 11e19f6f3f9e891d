"""Several threads put tasks into a host's queue, and take them out, with no lock around both."""

from __future__ import annotations

from collections import deque
from concurrent import futures
from typing import Any

import pytest

from flowfn.hosts import threads
from flowfn.hosts.threads import ThreadHost


class Raced(deque[Any]):
    """Empty, but for whoever looks before it takes: another thread was faster."""

    def __len__(self) -> int:
        return 1

    def __bool__(self) -> bool:
        return True


async def nothing() -> None:
    return None


def test_a_task_is_queued_while_others_empty_the_queue() -> None:
    """What was there at one step may be gone at the next."""
    host = ThreadHost()
    host._pending = Raced()
    future = host.future(nothing)
    host.start(future)
    assert deque.__len__(host._pending) == 1
    assert host._next() is future


def test_a_worker_finds_an_empty_queue_empty() -> None:
    """It ends, though a moment ago something waited."""
    host = ThreadHost()
    host._pending, host._active = Raced(), 1
    assert host._next() is None
    assert host._active == 0


def test_a_call_for_which_no_worker_could_be_woken_is_looked_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody may be left who would: what waited before it, and had the host looked after, was taken meanwhile."""
    refused: list[Any] = []
    run_soon = threads.run_soon

    def refuse_first(job: Any) -> None:
        if not refused:
            refused.append(job)
            raise RuntimeError("can't start new thread")
        run_soon(job)

    monkeypatch.setattr(threads, "run_soon", refuse_first)
    host = ThreadHost(eager=True)
    host._pending.append(host.future(nothing))
    future = host.future(nothing)
    host.start(future)
    assert refused
    assert futures.wait([future], timeout=30).done == {future}
