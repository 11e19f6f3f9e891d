"""What a forked child does before anything else, and what its parent does for it.

Rule: a child has none of its parent's threads. A lock that one of them held is never released there, and what one
of them was to do is not done: so whoever keeps locks or threads makes new ones. What can't be inherited at all is
put away before the fork; no fork waits for that for longer than `PATIENCE`. Where processes can't fork, nothing
happens.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from operator import methodcaller
from typing import Any, Generic, TypeVar

T = TypeVar("T")

PATIENCE = 2.0
"""Seconds that a fork waits at most, for everything that is put away before it."""


def after_fork(act: Callable[[], object]) -> None:
    """Have `act` called in each forked child, in the order in which it was asked for."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=act)


def each_after_fork(act: Callable[[T], object]) -> Callable[[T], None]:
    """To be called with an object: while it lives, `act` is called with it in each forked child."""
    living = _Living[T]()

    def act_on_each() -> None:
        for one in living.all():
            act(one)

    after_fork(act_on_each)
    return living.add


def each_around_fork(
    before: Callable[[T, float], object], in_parent: Callable[[T], object], in_child: Callable[[T], object]
) -> Callable[[T], None]:
    """To be called with an object: while it lives, these are called with it around each fork, in the thread that forks.

    `before` also gets the time, by the monotonic clock, at which it has to give up. Several threads may fork at once.
    """
    living = _Living[T]()

    def act_before() -> None:
        deadline = _forking.deadline = _forking.deadline or time.monotonic() + PATIENCE
        for one in living.all():
            before(one, deadline)

    def act_in_parent() -> None:
        _forking.deadline = None
        for one in living.all():
            in_parent(one)

    def act_in_child() -> None:
        _forking.deadline = None
        for one in living.all():
            in_child(one)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=act_before, after_in_parent=act_in_parent, after_in_child=act_in_child)
        os.register_at_fork(
            after_in_parent=act_in_parent
        )  # again: Ctrl-C may have kept the first from its work
    return living.add


class _Forking(threading.local):
    """What a thread that forks has begun: by when all is to be put away, whoever asked for it."""

    deadline: float | None = None


_forking = _Forking()


class Stillness:
    """The locks that a thread which forks holds meanwhile, so that nobody is in the middle of what they guard.

    Several threads may fork at once.
    """

    def __init__(self) -> None:
        self._held: dict[int, list[Any]] = {}

    def take(self, lock: Any, deadline: float) -> bool:
        """Take a lock, by the deadline at the latest; whether it was got."""
        held = self._held.setdefault(threading.get_ident(), [])
        acquire = methodcaller("acquire", timeout=max(0.0, deadline - time.monotonic()))
        held.extend(filter(acquire, (lock,)))  # at one go, or Ctrl-C would leave it locked for ever
        return lock in held

    def has(self, lock: Any) -> bool:
        """Whether the thread that forks took a lock, as it sees it, and its child."""
        return lock in self._held.get(threading.get_ident(), [])

    def end(self) -> None:
        """Let go of the locks that this thread took. Twice does no harm."""
        held = self._held.get(threading.get_ident(), [])
        with suppress(IndexError):
            for _ in map(methodcaller("release"), iter(held.pop, None)):
                pass
        self._held.pop(threading.get_ident(), None)


def leave_alone(inherited: object) -> None:
    """Keep what mustn't be closed here, and what collecting would close: not even the end of the interpreter does."""
    _left_alone.append(inherited)
    with suppress(ImportError):  # a Python that was built without it
        from ctypes import py_object, pythonapi

        pythonapi.Py_IncRef(py_object(inherited))


_left_alone: list[object] = []


class _Living(Generic[T]):
    """Objects, for as long as they live. Threads may add some at any time."""

    def __init__(self) -> None:
        self._numbers = count()
        self._by_number: weakref.WeakValueDictionary[int, T] = weakref.WeakValueDictionary()

    def add(self, one: T) -> None:
        self._by_number[next(self._numbers)] = one

    def all(self) -> list[T]:
        """Those there are, in the order in which they came."""
        return [one for reference in self._by_number.valuerefs() if (one := reference()) is not None]
