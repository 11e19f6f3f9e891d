"""msgspec's structs, whose fields are told by their metaclass and not by the class itself.

Rule: msgspec is never imported to find out; a class of a metaclass that answers anything is no struct for that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from flowfn.python.annotations import annotations_of

__all__ = ["Field", "fields_of_struct", "is_struct", "names_in_messages"]


class Field(NamedTuple):
    """A field: its type, and its default, or else what makes that; msgspec's `NODEFAULT` is none."""

    name: str
    type: Any
    default: Any
    default_factory: Any


def is_struct(cls: type) -> bool:
    """Whether a class is a struct."""
    base = getattr(sys.modules.get("msgspec"), "Struct", None)
    return base is not None and issubclass(cls, base)


def fields_of_struct(cls: Any) -> Iterator[Field]:
    """The fields of a struct, inherited ones too; of any other class none."""
    if not is_struct(cls):
        return
    names, defaults, none = cls.__struct_fields__, cls.__struct_defaults__, sys.modules["msgspec"].NODEFAULT
    absent = (none,) * (len(names) - len(defaults))  # those of the last ones are told
    types: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        types |= annotations_of(base)
    for name, default in zip(names, (*absent, *defaults), strict=True):
        factory = default.factory if _is_factory(default) else None
        yield Field(name, types.get(name), None if factory else default, factory)


def names_in_messages(cls: Any) -> Iterator[tuple[str, Any]]:
    """What a struct and its fields are called in what msgspec reads and writes; of any other class nothing."""
    if is_struct(cls):
        yield "_tag", cls.__struct_config__.tag
        yield "_names", cls.__struct_encode_fields__


def _is_factory(default: Any) -> bool:
    """Whether it is what msgspec has in the place of a default that is made anew each time."""
    kind = type(default)
    return kind.__name__ == "Factory" and kind.__module__.partition(".")[0] == "msgspec"
