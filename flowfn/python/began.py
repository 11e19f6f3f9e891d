"""When this process began: what is older is as the process found it."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Final


def _began() -> float:
    """Seconds since the epoch; where nothing says when it was, now."""
    with suppress(OSError, AttributeError, ValueError, IndexError):
        # Unbuffered: the kernel has it at hand, and where this is imported on an event loop a buffered read is refused
        # by what looks for blocking calls there.
        with open("/proc/self/stat", "rb", buffering=0) as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return time.time() - age
    return time.time()


BEGAN: Final = _began()
"""Seconds since the epoch."""

_BEGAN: Final = time.monotonic() - (time.time() - BEGAN)


def age() -> float:
    """The seconds since then, whatever the clock was set to meanwhile."""
    return time.monotonic() - _BEGAN
