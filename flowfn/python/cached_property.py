"""An attribute that is worked out when it is first asked for.

Rule: no lock. Python 3.11 holds one meanwhile, the same for all objects of the class: a child that was forked then
waits for ever. Of several threads that ask at once each may work it out, and all get what the first of them came to;
since Python 3.12 each gets its own. One that may change in the middle of a process is worked out again after `renew()`,
by which each run begins, and each call of a cached task outside one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self, TypeVar, overload
from weakref import ReferenceType, ref

T = TypeVar("T")


class cached_property(functools.cached_property[T]):
    """`functools.cached_property`, in all else."""

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | T:
        if instance is None:
            return self
        found: T = instance.__dict__.setdefault(str(self.attrname), self.func(instance))
        return found


class renewed_property(cached_property[T]):
    """One that is worked out again when it is asked for after `renew()`."""

    def __init__(self, func: Callable[[Any], T]) -> None:
        super().__init__(func)
        self.asked: set[ReferenceType[Any]] = set()
        """The objects that know it."""
        _renewed.append(self)

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | T:
        if instance is None:
            return self
        found: T = instance.__dict__.setdefault(str(self.attrname), self.func(instance))
        # Once it is there: of what was renewed while it was worked out nobody would know.
        self.asked.add(ref(instance, self.asked.discard))
        return found


_renewed: list[renewed_property[Any]] = []


class _Renewals:
    """`last` is the same object until the next `renew()`."""

    last = object()


RENEWALS = _Renewals()


def renew() -> None:
    """Have each `renewed_property` looked at again: what nobody has asked for since the last time costs nothing."""
    RENEWALS.last = object()
    for each in _renewed:
        while each.asked:
            try:
                instance = each.asked.pop()()
            except KeyError:  # another thread has done so
                break
            if instance is not None:
                instance.__dict__.pop(each.attrname, None)
