"""Modules imported on a thread while the event loop goes on: a server's first call doesn't hold up all others."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from importlib import import_module

from flowfn.python.event_loop import running_loop

ready: set[tuple[str, ...]] = set()
"""The modules that needn't be waited for, as they were asked for."""


async def imported_beside(names: tuple[str, ...]) -> None:
    """Import modules, and wait for it. What goes wrong is told to whoever imports them next."""
    loop = running_loop()
    if loop is None or all(map(_is_imported, names)):
        ready.add(names)
        return
    done = loop.create_future()

    def settle() -> None:
        if not done.done():
            done.set_result(None)

    def load() -> None:
        for name in names:
            with suppress(BaseException):
                import_module(name)
        with suppress(RuntimeError):  # nobody waits where the loop has been closed
            loop.call_soon_threadsafe(settle)

    threading.Thread(target=load, name="flowfn-imports", daemon=True).start()
    await done
    ready.add(names)


def _is_imported(name: str) -> bool:
    """Whether it is there, whole: another thread may be importing it."""
    module = sys.modules.get(name)
    return module is not None and not getattr(module.__spec__, "_initializing", False)
