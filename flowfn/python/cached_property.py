"""An attribute that is worked out when it is first asked for.

Rule: no lock. Python 3.11 holds one meanwhile, the same for all objects of the class: a child that was forked then
waits for ever. Of several threads that ask at once each may work it out, and all get what the first of them came to;
since Python 3.12 each gets its own.
"""

from __future__ import annotations

import functools
from typing import Any, Self, TypeVar, overload

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
