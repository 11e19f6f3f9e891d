"""What a factory was given tells the workflows that it makes from each other; so does what an object was made with.

Rule: of what a workflow captured, or the object of a method has, only that counts which can't change in place. Flags
don't, which say how to run and not what; nor does a moment that was read off the clock since the process began; nor
what code beside it assigns (`nonlocal`; for an object, methods other than `__init__`), which is a state. A function
without parameters is no factory: what it makes is told by its code alone, which may be edited.

A text counts as it is: an id that looks random, or the date of today, may be the very thing that tells two apart.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from types import CodeType, FunctionType, MethodType
from typing import Any

from flowfn.identity.code.around import code_around
from flowfn.identity.code.classes import declares_fields
from flowfn.identity.code.compiled import assigned_around, assigned_attributes, parameters_of
from flowfn.identity.code.functions import function_of, goes_by_its_name, is_local
from flowfn.identity.code.unwrapping import code_of
from flowfn.identity.constant import is_constant
from flowfn.identity.forms.attributes import attributes_of
from flowfn.identity.made_with.captured import class_made_with, given_to
from flowfn.identity.names import qualified_name
from flowfn.identity.volatile import Window, in_date, in_float
from flowfn.python.began import BEGAN, age
from flowfn.python.project import is_own
from flowfn.values import MISSING

__all__ = ["given_to_factory", "given_to_object", "is_told"]

_MAKING = ("__init__", "__new__", "__post_init__", "__attrs_post_init__", "__setstate__")
"""The methods that make an object."""


def given_to_factory(function: Any) -> dict[str, Any]:
    """What tells a function from others that were made by the same code, by name; empty if no factory made it.

    What the functions inside it were given is among it, as where a decorator is around the workflow's own.
    """
    return _given(function, ())


def _given(function: Any, around: tuple[FunctionType, ...]) -> dict[str, Any]:
    target = function_of(function)
    if target is None or not target.__closure__ or target in around or not _is_made_by_another(target):
        return {}
    makers = list(_makers(target) if is_local(target) else code_around(*_written_in(target)))
    if makers and not any(map(parameters_of, makers)):
        return {}
    code = makers[0] if makers else target.__code__
    states, assigned = assigned_around(code), assigned_attributes(code)
    found: dict[str, Any] = {}
    for name, cell in zip(target.__code__.co_freevars, target.__closure__, strict=True):
        with suppress(Exception):  # it isn't assigned yet, or its author's code fails when it is looked at
            value = cell.cell_contents
            if _tells(value) and name not in states:
                found[name] = value
            elif inner := _given_to_captured(value, assigned, (*around, target)):
                found[name] = inner
    return found


def _is_made_by_another(function: FunctionType) -> bool:
    """Whether others may share its name, as it was made in a function; so was what the project's decorators make, and
    call as what they are around, unless that name leads to it."""
    _, written_as = _written_in(function)
    return is_local(function) or (
        "<locals>" in written_as and is_own(function) and not goes_by_its_name(function)
    )


def _written_in(function: FunctionType) -> tuple[Any, str]:
    """The module and the qualified name that a function's code has, whatever it is called since."""
    return sys.modules.get(str(function.__globals__.get("__name__"))), function.__code__.co_qualname


def _given_to_captured(
    value: Any, assigned: frozenset[str], around: tuple[FunctionType, ...] = ()
) -> dict[str, Any]:
    """What tells a function, a task, a method, a class or an object that the workflow captured from others; of one that
    declares its fields, those that neither its class nor the code beside it assigns."""
    if isinstance(value, type):
        return _of_class(value, class_made_with(value).all)
    if type(value) is FunctionType:
        return _given(value, around)
    if type(value) is MethodType:
        return _given(value, around) | _given_to_captured(value.__self__, assigned, around)
    wrapped = getattr(value, "__wrapped__", None)
    if wrapped is not None:
        return _given_to_captured(wrapped, assigned, around)
    cls: Any = type(value)
    states = assigned | _states_of(cls) if declares_fields(cls) else frozenset()
    found = attributes_of(value) if declares_fields(cls) else given_to(value)
    given = _telling({f".{name}": part for name, part in sorted(found.items()) if name not in states})
    return given | _of_class(cls, class_made_with(cls).members)


def _of_class(cls: type, made_with: Mapping[str, Any]) -> dict[str, Any]:
    """Of what a class was made with, what tells it from others that a factory made."""
    makers = list(_makers(cls)) if made_with else []
    if makers and not any(map(parameters_of, makers)):
        return {}
    return _telling(made_with)


def _telling(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Those that tell, and those inside them."""
    inner = {name: _telling(part) if isinstance(part, dict) else part for name, part in parts.items()}
    return {name: part for name, part in inner.items() if (part if isinstance(part, dict) else _tells(part))}


def given_to_object(value: Any) -> dict[str, Any]:
    """What tells the object of a method from others: its class, and by name what it was made with.

    Of one that can't change, its value; of a class method's, the class.
    """
    if isinstance(value, type):
        return {"class": qualified_name(value), **_of_class(value, class_made_with(value).all)}
    if is_constant(value):
        return {"value": value}
    cls: Any = type(value)
    states, attributes = _states_of(cls), attributes_of(value)
    told = {name: _told(attributes[name], states) for name in sorted(attributes.keys() - states)}
    parts = {f".{name}": part for name, part in told.items() if part is not MISSING}
    return {"class": qualified_name(cls), **parts, **_of_class(cls, class_made_with(cls).members)}


def is_told(value: Any) -> bool:
    """Whether that tells all that the object has."""
    if isinstance(value, type) or is_constant(value):
        return True
    cls: Any = type(value)
    attributes = attributes_of(value)
    return _states_of(cls).isdisjoint(attributes) and all(map(_tells, attributes.values()))


def _told(part: Any, assigned: frozenset[str]) -> Any:
    """What tells an attribute of the object: its value, or what it was made with; else `MISSING`."""
    if _tells(part):
        return part
    with suppress(Exception):  # its author's code fails when it is looked at
        return _given_to_captured(part, assigned) or MISSING
    return MISSING


@lru_cache(maxsize=256)
def _states_of(cls: Any) -> frozenset[str]:
    """The names of attributes that its methods assign once it is made."""
    found: set[str] = set()
    for name, member in ((name, member) for base in cls.__mro__ for name, member in vars(base).items()):
        if name not in _MAKING:
            found.update(*map(assigned_attributes, code_of(member)))
    return frozenset(found)


def _tells(value: Any) -> bool:
    """Whether a value may tell one from another: it can't change, and is neither a flag nor the present moment."""
    return is_constant(value) and not isinstance(value, bool | None) and not _is_moment(value)


def _is_moment(value: Any) -> bool:
    window = Window(BEGAN, time.time, age)
    if isinstance(value, float):
        return in_float(value, window) == "clock"
    return isinstance(value, datetime) and in_date(value, window) == "clock"


def _makers(function: FunctionType | type) -> Iterator[CodeType]:
    """The code of the functions around a function or class, the outermost first; none where they can't be found."""
    return code_around(sys.modules.get(function.__module__), function.__qualname__)
