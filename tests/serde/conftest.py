"""Equality as the serializer promises it: the same value of the same type, all the way down."""

import struct
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

Same = Callable[[Any, Any], bool]


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return struct.pack(">d", one) == struct.pack(">d", other)
    if isinstance(one, complex):
        return _same(one.real, other.real) and _same(one.imag, other.imag)
    if isinstance(one, dict | OrderedDict | Counter):
        factories = (one.default_factory, other.default_factory) if type(one) is defaultdict else (0, 0)
        return factories[0] is factories[1] and _same(list(one.items()), list(other.items()))
    if isinstance(one, list | tuple | deque):
        bounds = (one.maxlen, other.maxlen) if type(one) is deque else (0, 0)
        return bounds[0] == bounds[1] and len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, set | frozenset):
        return len(one) == len(other) and all(any(_same(a, b) for b in other) for a in one)
    if is_dataclass(one):
        return all(_same(getattr(one, part.name), getattr(other, part.name)) for part in fields(one))
    return bool(one == other) or str(one) == str(other) == "sNaN" or (one != one and other != other)


@pytest.fixture(scope="session")
def same() -> Same:
    """Whether two values are equal and of equal types, bit for bit, in every part."""
    return _same
