"""Which fields of a class have a default, and what it is.

Rule: only a constant counts as a default, or an empty container: what another factory makes may be anew each time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

from flowfn.identity.code.classes import declares_fields
from flowfn.identity.made_with.given import given_by_default
from flowfn.python.structs import fields_of_struct

__all__ = ["defaults_of"]

_EMPTY = (list, dict, set, frozenset, tuple, str, bytes, int, float, bool)
"""Factories that make an equal value each time."""


def defaults_of(cls: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a class that have a default, and it: a dataclass, a model of pydantic's, attrs, a struct or a named
    tuple; of another one what its instances are given."""
    if not declares_fields(cls):
        yield from given_by_default(cls)
    nothing: tuple[Any, ...] = (
        MISSING,
        getattr(sys.modules.get("pydantic_core"), "PydanticUndefined", MISSING),
        getattr(sys.modules.get("msgspec"), "NODEFAULT", MISSING),
    )
    if hasattr(cls, "__attrs_attrs__"):
        from attrs import NOTHING

        nothing = (*nothing, NOTHING)
    for name, default, factory in _fields(cls):
        if factory in _EMPTY:
            yield name, factory()
        elif factory in (None, MISSING) and not any(default is each for each in nothing):
            yield name, default


def _fields(cls: Any) -> Iterator[tuple[str, Any, Any]]:
    """Of each field the name, the default and the factory."""
    for name, field in (getattr(cls, "__pydantic_fields__", None) or {}).items():
        yield name, field.default, field.default_factory
    for name, private in (getattr(cls, "__private_attributes__", None) or {}).items():
        yield name, private.default, private.default_factory
    if "__pydantic_fields__" not in vars(cls) and hasattr(cls, "__dataclass_fields__"):
        yield from ((field.name, field.default, field.default_factory) for field in fields(cls))
    for field in getattr(cls, "__attrs_attrs__", ()):
        factory = getattr(field.default, "factory", None)
        yield field.name, field.default, factory
    yield from ((name, default, None) for name, default in getattr(cls, "_field_defaults", {}).items())
    for field in fields_of_struct(cls):
        yield field.name, field.default, field.default_factory
