"""What a class is made of: its methods, its other members, and the fields that it declares."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from types import FunctionType
from typing import Any

from flowfn.identity.code.compiled import assigned_attributes
from flowfn.identity.code.functions import is_special
from flowfn.identity.code.unwrapping import functions_of
from flowfn.python.project import is_own

__all__ = ["declares_fields", "defaults_of", "is_made_by_a_function", "members_of", "methods_of_body"]


def is_made_by_a_function(cls: type) -> bool:
    """Whether a class of the project's was made inside a function, so that others may share its name."""
    return "<locals>" in cls.__qualname__ and is_own(cls)


def methods_of_body(cls: type) -> Iterator[tuple[str, FunctionType]]:
    """The functions in a class's body, by name; not those that a library made of its fields."""
    declares = declares_fields(cls) or issubclass(cls, tuple)
    for name, member in list(vars(cls).items()):
        for function in functions_of(member):
            is_generated = declares and function.__code__.co_filename.startswith("<") and is_special(name)
            if is_own(function) and not is_generated:
                yield name, function


def members_of(cls: type) -> Iterator[tuple[str, Any]]:
    """The other members of a class, without fields and what its methods assign; an enumeration's by their values."""
    if issubclass(cls, Enum):
        yield from ((name, member._value_) for name, member in cls.__members__.items())
        return
    left_out = {*_NOTES, *(name for name, _ in _declared(cls))}
    left_out.update(
        name for _, function in methods_of_body(cls) for name in assigned_attributes(function.__code__)
    )
    for name, member in list(vars(cls).items()):
        if not (is_special(name) or name in left_out or any(functions_of(member))):
            yield name, member


_NOTES = ("_abc_impl", "_is_protocol", "_is_runtime_protocol", "_fields", "_field_defaults")
"""What Python's own libraries leave in classes."""


def defaults_of(cls: type) -> Iterator[tuple[str, Any]]:
    """What the fields are that a class declares, where nobody says it; None is as good as nothing."""
    for name, field in _declared(cls):
        for kind in ("default", "default_factory"):
            value = getattr(field, kind, None)
            if value is not None:
                yield f"{name}.{kind}", value


def _declared(cls: type) -> Iterator[tuple[str, Any]]:
    """The fields that a class declares, by name."""
    for mark in _DECLARING:
        declared = vars(cls).get(mark, ())
        yield from (
            declared.items() if isinstance(declared, dict) else ((each.name, each) for each in declared)
        )


_DECLARING = ("__dataclass_fields__", "__pydantic_fields__", "__attrs_attrs__")


def declares_fields(cls: type) -> bool:
    """Whether instances are data: their class declares what they hold."""
    return any(hasattr(cls, mark) for mark in _DECLARING)
