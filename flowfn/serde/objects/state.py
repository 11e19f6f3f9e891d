"""The attributes of an object, read and set past all code of its class; and what to say where the class has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from types import MemberDescriptorType
from typing import Any

from flowfn.errors import CorruptDataError, TypeChangedError
from flowfn.python.slots import dict_of, held_in, slots_of
from flowfn.serde.names import reference

_TYPING_NOTE = "__orig_class__"


def state_of(value: Any) -> dict[str, Any]:
    """All attributes in `__dict__` and slots; not to be changed."""
    cls: Any = type(value)
    return reader_of(cls)(value)


@lru_cache(1024)
def reader_of(cls: Any) -> Callable[[Any], dict[str, Any]]:
    """What gives the attributes of a class's instances, and runs no code of it."""
    slots = slots_of(cls)
    if slots and (hasattr(cls, "__getattr__") or cls.__getattribute__ is not object.__getattribute__):
        return lambda value: {**dict_of(value), **held_in(slots, value)}
    # A class that cloudpickle brought has `__slots__`, and no slots.
    return _read_with_slots if any("__slots__" in vars(base) for base in cls.__mro__) else _read


def _read(value: Any) -> dict[str, Any]:
    state: Any = object.__getstate__(value)
    return state or {}


def _read_with_slots(value: Any) -> dict[str, Any]:
    state: Any = object.__getstate__(value)
    if not isinstance(state, tuple):
        return state or {}
    instance, slots = state
    return {**instance, **slots} if instance else slots


@lru_cache(1024)
def _slots(cls: type) -> dict[str, MemberDescriptorType]:
    names: dict[str, MemberDescriptorType] = {}
    for base in reversed(cls.__mro__):
        names.update({name: slot for name, slot in vars(base).items() if type(slot) is MemberDescriptorType})
    return names


def set_state(value: Any, state: Any) -> None:
    """Give an empty instance its attributes, past every `__setattr__`, property and frozen flag."""
    if type(state) is not dict:
        raise CorruptDataError("A stored object has no state")
    cls: Any = type(value)
    slots = _slots(cls)
    attributes = getattr(value, "__dict__", None)
    for name, item in state.items():
        if name in slots:
            slots[name].__set__(value, item)
        elif attributes is not None:
            attributes[name] = item
        else:
            raise TypeChangedError(has_lost(cls, [name]))


def derived(cls: type) -> frozenset[str]:
    """Attributes that are worked out again on demand, and so are not part of the value."""
    found = {
        name for base in cls.__mro__ for name, item in vars(base).items() if isinstance(item, cached_property)
    }
    return frozenset(found | {_TYPING_NOTE})


def has_lost(cls: type, names: Iterable[str]) -> str:
    """What to say of a class without what was stored of it."""
    return (
        f"{reference(cls)} was stored with {', '.join(map(repr, names))}, which the class no longer has. "
        "Put it back, if only for reading what was stored"
    )


def now_requires(cls: type, name: str) -> str:
    """What to say of a class with a new field that has no default."""
    return (
        f"{reference(cls)} now requires {name!r}, which the stored value does not have. "
        f"Give the field {name!r} a default"
    )


def check_names(cls: type, stored: Any, known: Iterable[str]) -> None:
    """Refuse fields that a class no longer has.

    Raises:
        TypeChangedError: there are some.
        CorruptDataError: these are no fields.
    """
    if type(stored) is not dict:
        raise CorruptDataError("A stored object has no fields")
    if lost := [name for name in stored if name not in known]:
        raise TypeChangedError(has_lost(cls, map(str, lost)))
