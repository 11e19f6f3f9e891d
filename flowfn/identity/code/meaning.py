"""What a name led to when code was read, and what has changed if it leads elsewhere now.

Rule: code is edited where a definition takes the place of another of its name, as it does when a notebook's cell is run
again, or `importlib.reload` runs a module again. All else that a name may come to mean is a value: what led nowhere and
leads somewhere now, as a module does that is imported where it is needed, or what a module's `__getattr__` makes, is
more code, and no other code. It holds nothing of what it knows: what a function names may lead back to that function,
and would live as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from enum import IntEnum
from types import CodeType, FunctionType, ModuleType
from typing import Any
from weakref import ReferenceType, ref

from flowfn.identity.code.hints import TYPING, parts_of
from flowfn.identity.code.unwrapping import can_be_looked_at, content_of, definition_of, layers_of, may_define
from flowfn.python.project import is_own, is_own_module

__all__ = ["Change", "Meaning", "definitions_in", "is_replaced"]

Name = tuple[str, str]
"""A module, and the qualified name there."""


class Change(IntEnum):
    """What has become of code since it was read."""

    NONE = 0
    MORE = 1
    """It leads to more than it did."""
    EDIT = 2
    GONE = 3
    """Nobody has it any longer."""


class Meaning:
    """What a name meant: `was` leads to the code that it was, or else to the class of the value."""

    __slots__ = ("_codes", "_definitions", "_names", "may_lead", "was")

    def __init__(self, value: Any) -> None:
        found = definitions_in(value)
        self.may_lead = (
            bool(found) or value is None or (_is_code(value) and not isinstance(value, ModuleType))
        )
        """Whether it may come to lead to code, or to other code: a constant or a library's object stays what it is."""
        self.was = _reference(value)
        self._names = [*map(_name_of, found)]
        self._definitions = [*map(ref, found)]
        self._codes = [getattr(each, "__code__", None) for each in found]

    def change(self, now: Any) -> Change:
        """What has changed, where the name doesn't mean what it was any longer."""
        found = definitions_in(now)
        if not self._names:
            if not found:
                self.was = _reference(now)  # the next look needn't come here
            return Change.MORE if found else Change.NONE
        if [*map(_name_of, found)] != self._names:
            return Change.NONE
        before = zip(found, self._definitions, self._codes, strict=True)
        replaced = any(each is not was() and is_replaced(each, code) for each, was, code in before)
        return Change.EDIT if replaced else Change.NONE


def is_replaced(now: Any, code: CodeType | None) -> bool:
    """Whether what has the name of a definition is another one, and not one more function of the same code, which a
    function makes on each call, unless that was given code itself, as a decorator is."""
    if type(now) is not FunctionType or now.__code__ is not code or "__wrapped__" in vars(now):
        return True
    return any(definitions_in(content_of(cell)) for cell in now.__closure__ or ())


def definitions_in(value: Any) -> list[Any]:
    """The project's functions, classes and modules that a value is, is around, or is made of."""
    try:
        return [*_found_in(value)]
    except Exception:  # a project's objects may raise anything when looked at
        return []


def _found_in(value: Any) -> Iterator[Any]:
    if isinstance(value, ModuleType):
        if is_own_module(value.__name__):
            yield value
    elif may_define(value):
        yield from [each for each in layers_of(definition_of(value)) if is_own(each)][:1]
    elif type(value).__module__ in TYPING:
        for each in parts_of(value):
            yield from _found_in(each)
    elif is_own(type(value)):
        yield type(value)


def _name_of(definition: Any) -> Name:
    if isinstance(definition, ModuleType):
        return definition.__name__, ""
    return str(definition.__module__), str(definition.__qualname__)


def _reference(value: Any) -> ReferenceType[Any]:
    if _is_code(value):
        with suppress(TypeError):  # some of Python's own have no weak references
            return ref(value)
    return ref(type(value))


def _is_code(value: Any) -> bool:
    """Whether a value counts by itself, and not by its class."""
    if not can_be_looked_at(value):
        return False
    return may_define(value) or isinstance(value, ModuleType) or type(value).__module__ in TYPING
