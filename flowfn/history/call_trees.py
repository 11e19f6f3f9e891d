"""Calls within calls, as deeply as tasks call each other.

Rule: whoever goes through them doesn't call itself for each level, which Python's limit would end at some hundreds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, Self, TypeVar

T = TypeVar("T")
R = TypeVar("R")

__all__ = ["Calling", "folded", "with_inner"]


class Calling(Protocol):
    """Something that has called others."""

    @property
    def calls(self) -> Sequence[Self]: ...


C = TypeVar("C", bound=Calling)


def with_inner(calls: Sequence[C]) -> Iterator[C]:
    """Calls and, after each, those that it made itself."""
    left = [*reversed(calls)]
    while left:
        call = left.pop()
        yield call
        left += reversed(call.calls)


def folded(
    roots: Iterable[T], under: Callable[[T], Iterable[T]], make: Callable[[T, tuple[R, ...]], R]
) -> tuple[R, ...]:
    """What `make` makes of each root, and of what it has made of those that are `under` it."""
    found: list[R] = []
    above: list[tuple[T, list[R], Iterator[T]]] = []
    made, left = found, iter(roots)
    while True:
        for each in left:
            above.append((each, made, left))
            made, left = [], iter(under(each))
            break
        else:
            if not above:
                return tuple(found)
            below = tuple(made)
            each, made, left = above.pop()
            made.append(make(each, below))
