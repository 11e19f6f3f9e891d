"""What an instance holds in its `__dict__`, and in the slots of its class.

Rule: looking runs no code of the class, which may have a `__getattr__` that answers for empty slots: attrs makes one
that works out a `cached_property`. What such a slot holds is made again on demand, and is no part of the instance.
"""

from __future__ import annotations

from functools import lru_cache
from types import MemberDescriptorType
from typing import Any

__all__ = ["Slots", "dict_of", "held_in", "slots_of"]

Slots = tuple[tuple[str, MemberDescriptorType], ...]


@lru_cache(1024)
def slots_of(cls: type) -> Slots:
    """The slots that a class written in Python, and those above it, declare, by their names."""
    return tuple(item for base in cls.__mro__ if "__slots__" in vars(base) for item in _declared(base))


def dict_of(value: Any) -> dict[str, Any]:
    """The attributes of an instance that are in no slot: itself, not a copy."""
    try:
        return object.__getattribute__(value, "__dict__")  # type: ignore[no-any-return]
    except AttributeError:
        return {}


def held_in(slots: Slots, value: Any) -> dict[str, Any]:
    """What an instance holds in slots, without those that hold nothing."""
    found = {}
    for name, slot in slots:
        try:
            held = slot.__get__(value)
        except AttributeError:
            continue
        found[name] = held
    return found


def _declared(base: type) -> list[tuple[str, MemberDescriptorType]]:
    members, cached = vars(base), _cached_by_attrs(base)
    return [
        (name, each)
        for name, each in members.items()
        if type(each) is MemberDescriptorType and name not in cached
    ]


def _cached_by_attrs(base: type) -> dict[str, Any]:
    """The cached properties of a class of attrs', which its `__getattr__` has as a default."""
    if "__attrs_attrs__" not in vars(base):
        return {}
    defaults = getattr(vars(base).get("__getattr__"), "__defaults__", None)
    return defaults[0] if defaults and isinstance(defaults[0], dict) else {}
