"""The code in the containers that code names: a table of handlers, the overloads of a `singledispatch`.

Rule: what is added or takes another's place there, itself or in containers that are new there, is an edit for a kept
result, what is taken out is none. What holds data alone may grow on each call, and is passed over as fast as can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import FunctionType, MappingProxyType
from typing import Any
from weakref import ref

from flowfn.identity.code.meaning import definitions_in, is_replaced

__all__ = ["CONTAINERS", "MOST_HELD", "Held", "values_in"]

MOST_HELD = 1000
"""In a container that is looked through for functions: what holds more holds data."""

_MAPPINGS = (dict, MappingProxyType)
CONTAINERS = (*_MAPPINGS, list, tuple, set, frozenset)

_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes})
_DATA = _ATOMS.union(CONTAINERS)


def values_in(container: Any) -> tuple[Any, ...]:
    """What a container holds; of a mapping its values."""
    return tuple(container.values() if isinstance(container, _MAPPINGS) else container)


class Held:
    """The project's functions and classes, also those of instances, that containers held when they were looked at."""

    def __init__(self, containers: Iterable[Any]) -> None:
        self._containers = {id(each): each for each in containers}
        found = [*self._code()]
        self._definitions = {id(each): ref(each) for each in found}
        codes = (each.__code__ for each in found if type(each) is FunctionType)
        self._codes = {id(code): code for code in codes}

    @property
    def is_all(self) -> bool:
        """Whether they hold no other code now."""
        return all(map(self._is_known, self._code()))

    def _code(self) -> Iterator[Any]:
        for container in self._containers.values():
            yield from self._code_in(container)

    def _code_in(self, container: Any) -> Iterator[Any]:
        """The code in a container, and in containers that are new there."""
        waiting, left = [container], MOST_HELD
        for each in waiting:
            values = _values_in(each)
            left -= len(values)
            if left < 0:  # as when code was read, it is data
                return
            kinds = {*map(type, values)} - _ATOMS
            if kinds - _DATA:
                yield from (
                    found for one in values if type(one) not in _DATA for found in definitions_in(one)
                )
            if any(issubclass(kind, CONTAINERS) for kind in kinds):
                held = (one for one in values if isinstance(one, CONTAINERS))
                waiting += [one for one in held if id(one) not in self._containers]

    def _is_known(self, definition: Any) -> bool:
        known = self._definitions.get(id(definition))
        if known is not None and known() is definition:
            return True
        # A function that is made anew on each call, and put there, is no other code.
        code = self._codes.get(id(getattr(definition, "__code__", None)))
        return code is not None and not is_replaced(definition, code)


def _values_in(container: Any) -> tuple[Any, ...]:
    try:
        return values_in(container)
    except Exception:  # a thread changes it meanwhile, or it is anybody's
        return ()
