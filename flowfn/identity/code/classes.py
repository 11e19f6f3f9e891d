"""What a class is made of: its methods, its other members, and the fields that it declares."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import partialmethod
from types import FunctionType
from typing import Any

from flowfn.identity.code.compiled import assigned_attributes
from flowfn.identity.code.functions import is_special
from flowfn.identity.code.hints import parts_of
from flowfn.identity.code.unwrapping import code_of, functions_of
from flowfn.identity.names import named
from flowfn.python.annotations import annotations_of
from flowfn.python.parametrised import given_to, option, origin_of
from flowfn.python.project import is_own
from flowfn.python.script import namespace_of
from flowfn.python.structs import fields_of_struct, is_struct, names_in_messages

__all__ = [
    "declares_fields",
    "fields_of",
    "is_made_by_a_function",
    "is_made_of_fields",
    "members_of",
    "methods_of_body",
]


def is_made_by_a_function(cls: type) -> bool:
    """Whether a class of the project's was made inside a function, so that others may share its name: that has the
    function's in it, or doesn't lead to the class, as where `type()` or `create_model` made it. The name of a generic
    model that was given its types says which, wherever it was made."""
    if (generic := origin_of(cls)) is not None:
        return any(map(is_made_by_a_function, (generic, *_types_given_to(cls))))
    if "<locals>" in cls.__qualname__:
        return is_own(cls)
    is_unnamed = bool(cls.__flags__ & _FROM_PYTHON) and not _is_found(cls)
    return is_unnamed and (is_own(cls) or cls.__module__ == _MODULE_OF_MADE)


def _types_given_to(model: type) -> Iterator[type]:
    waiting = [*given_to(model)]
    while waiting:
        each = waiting.pop()
        if isinstance(each, type):
            yield each
        else:
            waiting += parts_of(each)


_FROM_PYTHON = 1 << 9
"""The flag of classes that C doesn't have ready: those of all Python code are among them."""

_MODULE_OF_MADE = "types"
"""Where Python before 3.12 says that `make_dataclass` was called."""


def _is_found(cls: type) -> bool:
    """Whether the name of a class leads to it; so it is taken to be where its module isn't known."""
    return not namespace_of(cls.__module__) or named(cls.__module__, cls.__qualname__) is cls


def methods_of_body(cls: type) -> Iterator[tuple[str, FunctionType]]:
    """The functions in a class's body, by name; not those that a library made of its fields."""
    for name, member in list(vars(cls).items()):
        for function in functions_of(member):
            if is_own(function) and not is_made_of_fields(cls, name, function):
                yield name, function


def is_made_of_fields(cls: type, name: str, function: FunctionType) -> bool:
    """Whether a library made a method of the fields that the class declares, each Python its own way."""
    if not (is_special(name) and (declares_fields(cls) or issubclass(cls, tuple))):
        return False
    return any(code.co_filename.startswith("<") for code in code_of(function))


def members_of(cls: type) -> Iterator[tuple[str, Any]]:
    """The other members of a class, without fields and what its methods assign; an enumeration's by their values."""
    if issubclass(cls, Enum):
        yield from ((name, member._value_) for name, member in cls.__members__.items())
        return
    left_out = {*_NOTES, *(name for name, _ in _declared(cls))}
    left_out.update(*(assigned_attributes(function.__code__) for _, function in methods_of_body(cls)))
    for name, member in list(vars(cls).items()):
        if isinstance(member, partialmethod):
            yield f"{name}()", (*member.args, *sorted(member.keywords.items()))
        elif not (is_special(name) or name in left_out or any(functions_of(member))):
            yield name, member


_NOTES = ("_abc_impl", "_is_protocol", "_is_runtime_protocol", "_fields", "_field_defaults")
"""What Python's own libraries leave in classes."""


def fields_of(cls: type) -> Iterator[tuple[str, Any]]:
    """What the fields may hold that a class declares, and what they are where nobody says it; None is as good as
    nothing. Of a class that a function made, whose text doesn't say them, their options too, in words."""
    is_made = is_made_by_a_function(cls)
    for name, field in _declared(cls):
        for kind in _KINDS:
            if (value := getattr(field, kind, None)) is not None:
                yield f"{name}.{kind}", value
        if is_made:
            yield from ((f"{name}.{kind} in words", option(value)) for kind, value in _options_of(field))
    if is_made and "__pydantic_fields__" in vars(cls):
        yield "model_config in words", option(vars(cls).get("model_config"))
    yield from _keys_of(cls)
    yield from names_in_messages(cls)


_KINDS = ("annotation", "type", "default", "default_factory", "description")

_OPTIONS = (
    "default_factory",
    "metadata",
    "converter",
    "validator",
    "alias",
    "validation_alias",
    "discriminator",
)


def _options_of(field: Any) -> Iterator[tuple[str, Any]]:
    """What a field was given besides its type and default, by name; how a default is made that is one of attrs'."""
    for kind in _OPTIONS:
        if value := getattr(field, kind, None):
            yield kind, value
    default = getattr(field, "default", None)
    if (
        type(default).__module__ == "attr._make"
        and (factory := getattr(default, "factory", None)) is not None
    ):
        yield "factory", factory


def _keys_of(cls: type) -> Iterator[tuple[str, Any]]:
    """Of a named tuple or a typed dict what its items are called, what they may be, and their defaults."""
    members = vars(cls)
    is_tuple = issubclass(cls, tuple) and "_fields" in members
    if is_tuple:
        yield "_fields", tuple(members["_fields"])
    for name, value in members.get("_field_defaults", {}).items() if is_tuple else ():
        yield f"{name}.default", value
    if is_tuple or (issubclass(cls, dict) and "__required_keys__" in members):
        yield from ((f"{name}.type", hint) for name, hint in annotations_of(cls).items())
        yield "_required", members.get("__required_keys__")


def _declared(cls: type) -> Iterator[tuple[str, Any]]:
    """The fields that a class declares, by name."""
    for mark in _DECLARING:
        declared = vars(cls).get(mark, ())
        yield from (
            declared.items() if isinstance(declared, dict) else ((each.name, each) for each in declared)
        )
    yield from ((each.name, each) for each in fields_of_struct(cls))


_DECLARING = ("__dataclass_fields__", "__pydantic_fields__", "__attrs_attrs__")


def declares_fields(cls: type) -> bool:
    """Whether instances are data: their class declares what they hold."""
    return any(hasattr(cls, mark) for mark in _DECLARING) or is_struct(cls)
