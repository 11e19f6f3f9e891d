"""The code in the containers that code names: a table of handlers, the overloads of a `singledispatch`.

Rule: what is added or takes another's place there is an edit for a kept result, what is taken out is none. What holds
data alone may grow on each call, and is passed over as fast as can be.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType, MappingProxyType
from typing import Any
from weakref import ref

from flowfn.identity.code.meaning import definitions_in, is_replaced

__all__ = ["CONTAINERS", "Held", "values_in"]

_MAPPINGS = (dict, MappingProxyType)
CONTAINERS = (*_MAPPINGS, list, tuple, set, frozenset)

_DATA = frozenset((*CONTAINERS, type(None), bool, int, float, complex, str, bytes))


def values_in(container: Any) -> tuple[Any, ...]:
    """What a container holds; of a mapping its values."""
    return tuple(container.values() if isinstance(container, _MAPPINGS) else container)


class Held:
    """The project's functions and classes, also those of instances, that containers held when they were looked at."""

    def __init__(self, containers: Iterable[Any]) -> None:
        self._containers = [*containers]
        found = [each for container in self._containers for each in _code_in(container)]
        self._definitions = {id(each): ref(each) for each in found}
        codes = (each.__code__ for each in found if type(each) is FunctionType)
        self._codes = {id(code): code for code in codes}

    @property
    def is_all(self) -> bool:
        """Whether they hold no other code now."""
        return all(self._is_known(each) for container in self._containers for each in _code_in(container))

    def _is_known(self, definition: Any) -> bool:
        known = self._definitions.get(id(definition))
        if known is not None and known() is definition:
            return True
        # A function that is made anew on each call, and put there, is no other code.
        code = self._codes.get(id(getattr(definition, "__code__", None)))
        return code is not None and not is_replaced(definition, code)


def _code_in(container: Any) -> list[Any]:
    try:
        values = values_in(container)
    except Exception:  # a thread changes it meanwhile, or it is anybody's
        return []
    if _DATA.issuperset(map(type, values)):
        return []
    return [found for each in values if type(each) not in _DATA for found in definitions_in(each)]
