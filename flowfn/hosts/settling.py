"""Running taken jobs on this thread, each in the context that it was called in, until their futures are settled.

Rule: a job runs there also where whoever waits for it runs it in place: what it sees mustn't depend on who comes
first.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import CancelledError
from contextvars import copy_context
from sys import exc_info
from typing import Any

from flowfn.engine.drive import LEFT, drive
from flowfn.errors import Stopped
from flowfn.futures import Future, Job
from flowfn.python.handling import part_from
from flowfn.python.unlocked import UnlockedFuture

Drive = Callable[[Coroutine[Any, Any, Any]], Any]


def settle(future: Future[Any], job: Job, drive: Drive = drive) -> None:
    """Run a taken job, to its end unless `drive` leaves it before."""
    context = future.context or copy_context()
    context.run(_settle_here, future, job, drive)


def settle_all(futures: Iterable[Future[Any]]) -> None:
    """Run those that nobody has taken, one after another."""
    for future in futures:
        job = future.take()
        if job is not None:
            settle(future, job)


def _settle_here(future: Future[Any], job: Job, drive: Drive) -> None:
    around = exc_info()[1]
    try:
        value = drive(job())
    except Stopped:
        future.context = None
        future.abandon()
    except BaseException as error:
        future.context = None
        part_from(error, around)
        future.set_exception(error)
    else:
        if value is not LEFT:
            future.context = None  # what the job left there may lead back to the future
            future.set_result(value)
    finally:
        del around  # the error's traceback names this frame


def wait_until_done(future: Future[Any]) -> None:
    """Block until it is, whatever came of it."""
    try:
        UnlockedFuture.exception(future)  # that of ours would count as somebody looking
    except CancelledError:
        return
