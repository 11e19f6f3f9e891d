"""What a forked child does before anything else, and what its parent does for it.

Rule: a child has none of its parent's threads. A lock that one of them held is never released there, and what one
of them was to do is not done: so whoever keeps locks or threads makes new ones. What can't be inherited at all is
put away before the fork, and a module that a thread is importing is imported first, as the child would wait for it
for ever. No fork waits for that for longer than `PATIENCE`; a module that is half imported in the child all the same
is imported anew there. Where processes can't fork, nothing happens.
"""

from __future__ import annotations

import importlib
import logging  # noqa: F401 - its locks are to be taken after those here: see `_wait_for_imports`
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from operator import methodcaller
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")
Lock = TypeVar("Lock")

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


def let_go_by_fork(lock: Lock) -> Lock:
    """A lock of `threading`'s, which nobody holds in a forked child: for what a thread never leaves half done."""
    _let_go(lock)
    return lock


def each_around_fork(
    before: Callable[[T, float], object], in_parent: Callable[[T], object], in_child: Callable[[T], object]
) -> Callable[[T], None]:
    """To be called with an object: while it lives, these are called with it around each fork, in the thread that forks.

    `before` also gets the time, by the monotonic clock, at which it has to give up. Several threads may fork at once.
    """
    living = _Living[T]()

    def act_before(done: set[int]) -> None:
        for number, one in living.numbered():
            if number not in done:
                done.add(number)
                before(one, _forking.begin())

    def act_in_parent() -> None:
        _forking.deadline = None
        for one in living.all():
            in_parent(one)

    def act_in_child() -> None:
        _forking.deadline = None
        for one in living.all():
            in_child(one)

    _preparations.append(act_before)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_parent=act_in_parent, after_in_child=act_in_child)
        os.register_at_fork(after_in_parent=act_in_parent)  # again: Ctrl-C may have kept the first from it

    def add(one: T) -> None:
        living.add(one)
        next(_came)

    return add


class _Forking(threading.local):
    """What a thread that forks has begun: by when all is to be put away, whoever asked for it."""

    deadline: float | None = None

    def begin(self) -> float:
        self.deadline = self.deadline or time.monotonic() + PATIENCE
        return self.deadline


_forking = _Forking()

_IMPORTED = {
    "flowfn", "checkpointers", "graph_compat", "cloudpickle", "langchain_core", "psycopg", *sys.stdlib_module_names
}  # fmt: skip
"""Packages that are imported as calls need them. No fork waits for those of the user: one may serve for ever."""


_preparations: list[Callable[[set[int]], None]] = []
"""What is done before a fork, to all objects of a kind but those with these numbers."""


def _prepare() -> None:
    """Do what is to be done before a fork, the latest first, until nothing more came up while it waited."""
    done: set[int] = set()
    for _ in _tries():
        before = next(_came)
        _wait_for_imports()
        for prepare in reversed(_preparations):
            prepare(done)
        if next(_came) == before + 1 and not _somebody_imports():
            return


def _tries() -> Iterator[None]:
    """One, and more until the fork has to give up waiting."""
    deadline = _forking.begin()
    yield
    while time.monotonic() < deadline:
        yield


def _wait_for_imports() -> None:
    """Wait while another thread imports what a call of the child may need.

    The import system makes no new locks in a child. Here nobody waits for one: a thread that has it may wait for a
    lock that this one took for the fork. `logging` takes its own too, which many a module needs when it is imported;
    what was registered last is called first, so that it has to be registered before this is.
    """
    deadline = _forking.begin()
    while _somebody_imports() and time.monotonic() < deadline:
        time.sleep(0.001)


def _somebody_imports() -> bool:
    return any(map(_is_being_imported, tuple(_module_locks.items())))


def _is_being_imported(entry: tuple[str, Callable[[], Any]]) -> bool:
    """Whether a lock, of a module of this name, is another thread's."""
    name, lock = entry
    owner = getattr(lock(), "owner", None)
    return owner not in (None, threading.get_ident()) and name.partition(".")[0] in _IMPORTED


_module_locks: dict[str, Callable[[], Any]] = getattr(importlib._bootstrap, "_module_locks", {})


def _forget_deadline() -> None:
    _forking.deadline = None


def _forget_imports() -> None:
    """In a child: have modules imported anew that threads of the parent were importing.

    Nothing holds up a thread that begins to import between the last look and the fork.
    """
    for name, lock in filter(_is_being_imported, tuple(_module_locks.items())):
        if _module_locks.get(name) is lock:
            del _module_locks[name]
        if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
            del sys.modules[name]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_prepare, after_in_parent=_forget_deadline)
    os.register_at_fork(after_in_child=_forget_deadline)
    os.register_at_fork(after_in_child=_forget_imports)


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
        self._by_number: weakref.WeakValueDictionary[int, T] = weakref.WeakValueDictionary()

    def add(self, one: T) -> None:
        self._by_number[next(_numbers)] = one

    def all(self) -> list[T]:
        """Those there are, in the order in which they came."""
        return [one for _, one in self.numbered()]

    def numbered(self) -> list[tuple[int, T]]:
        """Those there are, each with its number, which no other object has."""
        found = [(cast("Any", reference).key, reference()) for reference in self._by_number.valuerefs()]
        return [(number, one) for number, one in found if one is not None]


_numbers = count()
_came = count()
"""Moves on after each object that a fork has to do with; a thread that is about to add one holds up none."""


_let_go: Callable[[Any], None] = each_after_fork(methodcaller("_at_fork_reinit"))
