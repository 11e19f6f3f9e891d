"""The moment for which an event loop stands still for what may end at once on a thread.

A turn of the loop takes as long. The moment has an end whatever happens: what runs on the thread may wait for the loop.
"""

from __future__ import annotations

import threading
from types import MethodDescriptorType

MOMENT = 0.0001
"""Seconds: waking a thread, and being woken by it, takes about half of that. An event loop stands still for fifty times
as long where a thread computes, and so holds the interpreter's lock."""

_Lock = type(threading.Lock())


def ending() -> threading.Lock:
    """A lock that is held until something has ended: who ends it releases it."""
    over = threading.Lock()
    over.acquire()
    return over


def stand_still(over: threading.Lock, moment: float) -> bool:
    """Whether something ends within so many seconds, for which the loop stands still.

    A queue can't say it: before Python 3.13 a `SimpleQueue.get` that a signal, or the system, holds up beyond its
    timeout waits without an end.

    What looks for blocking calls on a loop, as blockbuster does for LangChain, takes the place of a lock's method and
    raises there, since the wait that it is after has no end in sight: then nothing stands still.
    """
    return type(_Lock.acquire) is MethodDescriptorType and over.acquire(timeout=moment)
