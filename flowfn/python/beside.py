"""Modules imported on a thread while the event loop goes on: a server's first call doesn't hold up all others."""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from flowfn.python.event_loop import running_loop
from flowfn.python.loaded import loaded

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

Names = tuple[str, ...]

ready: set[Names] = set()
"""The modules that needn't be waited for, as they were asked for."""

_waiting: weakref.WeakKeyDictionary[AbstractEventLoop, dict[Names, list[Future[None]]]] = (
    weakref.WeakKeyDictionary()
)
"""Who waits on a loop, which alone touches its own: they go on in the order in which they came."""


async def imported_beside(names: Names) -> None:
    """Import modules, and wait for it. What goes wrong is told to whoever imports them next."""
    loop = running_loop()
    if loop is None or None not in map(loaded, names):
        ready.add(names)
        return
    done = loop.create_future()
    waiting = _waiting.setdefault(loop, {})
    if names in waiting:
        waiting[names].append(done)
    else:
        waiting[names] = [done]
        threading.Thread(target=_load, args=(names, loop), name="flowfn-imports", daemon=True).start()
    await done


def _load(names: Names, loop: AbstractEventLoop) -> None:
    for name in names:
        with suppress(BaseException):
            import_module(name)
    with suppress(RuntimeError):  # nobody waits where the loop has been closed
        loop.call_soon_threadsafe(_settle, names, loop)


def _settle(names: Names, loop: AbstractEventLoop) -> None:
    ready.add(names)
    for done in _waiting[loop].pop(names):
        if not done.done():  # else it was cancelled
            done.set_result(None)
