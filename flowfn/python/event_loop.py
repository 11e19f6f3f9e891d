"""Which event loop runs the code that asks. asyncio is loaded by whoever uses it: no loop runs before that."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


def running_loop() -> AbstractEventLoop | None:
    """The event loop that runs on this thread; None where none does."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        loop: AbstractEventLoop = asyncio.get_running_loop()
    except RuntimeError:
        return None
    return loop
