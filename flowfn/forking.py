"""What a forked child does before anything else.

Rule: a child has none of its parent's threads. A lock that one of them held is never released there, and what one
of them was to do is not done: so whoever keeps locks or threads makes new ones. Where processes can't fork,
nothing happens.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def after_fork(act: Callable[[], object]) -> None:
    """Have `act` called in each forked child, in the order in which it was asked for."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=act)


def each_after_fork(act: Callable[[T], object]) -> Callable[[T], None]:
    """To be called with an object: while it lives, `act` is called with it in each forked child."""
    living: weakref.WeakSet[T] = weakref.WeakSet()

    def act_on_each() -> None:
        for one in list(living):
            act(one)

    after_fork(act_on_each)
    return living.add
