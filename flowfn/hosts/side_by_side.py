"""Many calls at once, each by itself: a batch of runs, or all that are to be recovered.

Rule: results come in the order of the calls; a blocking caller helps, and no more than so many run at the same time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from flowfn.python.event_loop import needed_loop


def side_by_side(
    calls: Sequence[Callable[[], Any]], most: int | None, return_exceptions: bool, *, eager: bool
) -> list[Any]:
    """What calls return, made on up to `most` threads: at once where `eager`, else as far as these help (`pace.py`)."""
    from flowfn.hosts.threads import MAX_WORKERS, ThreadHost

    threads = ThreadHost(workers=(most or MAX_WORKERS) - 1, eager=eager)  # the caller helps
    futures = [threads.future(partial(_inline, call)) for call in calls]
    for future in futures:
        threads.start(future)
    if return_exceptions:
        return [error if isinstance(error := f.exception(), Exception) else f.result() for f in futures]
    try:
        return [future.result() for future in futures]
    except BaseException:
        for future in futures:
            future.cancel()
        raise


async def _inline(call: Callable[[], Any]) -> Any:
    return call()


async def awaited_side_by_side(
    calls: Sequence[Callable[[], Awaitable[Any]]], most: int | None, return_exceptions: bool
) -> list[Any]:
    """What calls give that are awaited, up to `most` at the same time.

    Raises:
        RuntimeError: no event loop of asyncio runs here.
    """
    import asyncio
    from contextlib import nullcontext

    needed_loop()
    places: Any = nullcontext() if most is None else asyncio.Semaphore(most)

    async def run(call: Callable[[], Awaitable[Any]]) -> Any:
        async with places:
            return await call()

    return list(await asyncio.gather(*map(run, calls), return_exceptions=return_exceptions))
