"""Ids of threads and checkpoints: UUIDs of version 7, which sort by the time of their making.

They only name. What came first is told by the order of commits, never by an id: clocks go backwards.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any


def new_id() -> str:
    """A fresh UUID of version 7, as text."""
    return str(_maker()())


@cache
def _maker() -> Callable[[], Any]:
    """What makes one; looked for when the first is asked for, since a run without a checkpointer needs none."""
    if sys.version_info >= (3, 14):
        from uuid import uuid7
    else:
        from uuid_utils import uuid7
    return uuid7  # type: ignore[no-any-return, unused-ignore]
