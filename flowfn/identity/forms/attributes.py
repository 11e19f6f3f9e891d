"""What an instance carries: its attributes, in `__dict__` and in slots.

Rule: looking changes nothing, and what an instance only remembers doesn't count: a value that has been asked for
something is the value that it was before.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from flowfn.identity.code.compiled import assigned_attributes, assigns_by_name
from flowfn.identity.code.unwrapping import code_of
from flowfn.python.slots import held_in, slots_of

__all__ = ["attributes_of", "own", "own_state"]


def attributes_of(value: Any) -> dict[str, Any]:
    """The attributes of an instance, those in slots included.

    Not by `object.__getstate__`, which leaves a note in the class: looking at a value changes nothing.
    """
    cls: Any = type(value)
    found: dict[str, Any] = own(cls, getattr(value, "__dict__", None)) or {}
    slots = slots_of(cls)
    return {**found, **own(cls, held_in(slots, value))} if slots else found


def own(cls: type, attributes: Any) -> Any:
    """Attributes without those that a `cached_property` or a property made: they are there once somebody has asked for
    them. Nor the note that `typing` makes on what was made by a parametrised class, and the hash that attrs and msgspec
    keep.
    """
    computed = _computed_of.get(cls)
    if computed is None:
        members = (item for base in cls.__mro__ for item in vars(base).items())
        cached = (name for name, each in members if _is_cached(each))
        noted = ("__orig_class__", "_attrs_cached_hash", "__msgspec_cached_hash__")
        computed = _computed_of[cls] = frozenset((*cached, *_kept_by_properties(cls), *noted))
    if not attributes or computed.isdisjoint(attributes):
        return attributes
    return {name: item for name, item in attributes.items() if name not in computed}


def own_state(cls: type, state: Any) -> Any:
    """The same of what `__reduce_ex__` gives: the attributes, with or without those in slots."""
    if isinstance(state, tuple) and len(state) == 2 and isinstance(state[0], dict):
        return own(cls, state[0]) or None, state[1]
    return (own(cls, state) or None) if isinstance(state, dict) and state else state


_computed_of: WeakKeyDictionary[type, frozenset[str]] = WeakKeyDictionary()


def _kept_by_properties(cls: type) -> set[str]:
    """The private attributes that are None until the getter of a property works them out, as those of pendulum's
    durations are, and that no other code of the class may assign."""
    members = [item for base in cls.__mro__ for item in vars(base).items()]
    properties = [each for _, each in members if issubclass(type(each), property)]
    getters = [code for each in properties for code in code_of(each.fget)]
    unknown = {name for name, each in members if each is None and name.startswith("_")}
    kept = unknown & frozenset[str]().union(*map(assigned_attributes, getters))
    if kept:
        others = [face for each in properties for face in (each.fset, each.fdel)]
        others += [each for _, each in members if not issubclass(type(each), property)]
        codes = [code for each in others for code in code_of(each)]
        kept = (
            set() if any(map(assigns_by_name, codes)) else kept.difference(*map(assigned_attributes, codes))
        )
    return kept


def _is_cached(member: Any) -> bool:
    """Python's, or a library's of that name."""
    return any(each.__name__ == "cached_property" for each in type(member).__mro__)
