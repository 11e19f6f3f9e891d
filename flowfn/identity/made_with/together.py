"""The functions of one name that were made together: without a run in between, by one thread.

Rule: of two that were made apart, one may be an edited version of the other; of two that were made together, neither
is. Nor is of two that one code names, whenever they were made.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from flowfn.identity.code.functions import function_of, is_local
from flowfn.identity.made_with.captured import kept_attributes
from flowfn.python.cached_property import renewed_property

__all__ = [
    "Maker",
    "Namesake",
    "Namesakes",
    "is_known",
    "is_known_elsewhere",
    "join",
    "named_like",
    "part",
    "told_by",
]


class Maker(NamedTuple):
    """What tells one function from its namesakes: its code, and what it was made with."""

    code: str
    captured: bytes


def told_by(function: Any, made_with: Mapping[str, Any]) -> bytes:
    """The digest of what tells a function from others of its name with the same code; empty where nothing does."""
    from flowfn.identity.digest import exact

    told = {**made_with, **kept_attributes(function)}
    return exact(told).exact if told else b""


class Namesake:
    """A function as those of its name know it, for as long as it lives: its code, and what it was made with."""

    def __init__(self, function: Any, made_with: Mapping[str, Any]) -> None:
        self._function = ref(function_of(function) or _nothing)
        self._made_with = made_with

    @property
    def function(self) -> Any:
        """The function, while it lives."""
        return self._function()

    @property
    def lives(self) -> bool:
        return self.function is not None

    def is_other(self, function: Any) -> bool:
        """Whether it is another function, which lives. One of a module that has other code is an older version."""
        own, target = self._function(), function_of(function)
        if own is None or target is None or own is target or own is _nothing:
            return False
        return is_local(own) or own.__code__ == target.__code__

    @renewed_property
    def maker(self) -> Maker:
        """What tells it from the others."""
        from flowfn.identity.code.fingerprint import fingerprint

        function = self._function()
        code = "" if function is None else fingerprint(function).digest[:16]
        return Maker(code, told_by(function, self._made_with))


class Namesakes(list[Namesake]):
    """The functions of one name that a thread made without a run in between; they don't travel."""

    room = 64
    """How many there may be before those that are gone are looked for."""

    def forget(self) -> None:
        """Forget those that are gone, so that a function which makes tasks for ever takes no more than they do."""
        self[:] = [each for each in self if each.lives]
        self.room = max(Namesakes.room, 2 * len(self))

    def __reduce__(self) -> Any:
        return tuple, ()


def _nothing() -> None:
    """Stands for what is no function of Python's."""


class _Together(threading.local):
    def __init__(self) -> None:
        self.made: dict[str, Namesakes] = {}


_together = _Together()


def join(name: str, function: Any, made_with: Mapping[str, Any]) -> Namesakes:
    """Count a function among those of its name that this thread has made since it last began a run."""
    made = _together.made.setdefault(name, Namesakes())
    if len(made) >= made.room:
        made.forget()
    namesake = Namesake(function, made_with)
    made.append(namesake)
    if (own := function_of(function)) is not None:
        _known.setdefault(own, {})[name] = ref(namesake)
    return made


_known: WeakKeyDictionary[Any, dict[str, ref[Namesake]]] = WeakKeyDictionary()
"""Each function that has joined those of a name, by the name. It holds none: what one captured may hold it."""


def named_like(name: str, functions: Iterable[Any]) -> Iterator[Namesake]:
    """Those of these functions that have joined the ones of a name."""
    for function in functions:
        known = _known.get(function, {}).get(name) if type(function) is FunctionType else None
        namesake = None if known is None else known()
        if namesake is not None:
            yield namesake


def is_known(name: str) -> bool:
    """Whether a function that lives has joined those of a name."""
    return any(name in names for names in _names())


def is_known_elsewhere(name: str) -> bool:
    """Whether a function that lives goes by the last part of a name in another module, or in another class."""
    own = name.rpartition(".")[2]
    found = (other for names in _names() for other in names if other.rpartition(".")[2] == own)
    return any(other != name and "<locals>" not in other for other in found)


def _names() -> Iterator[Sequence[str]]:
    """What each function that lives goes by."""
    functions = (reference() for reference in _known.keyrefs())
    return (tuple(_known.get(function, ())) for function in functions if function is not None)


def part() -> None:
    """A run begins: what is made from now on is made apart."""
    _together.made = {}
