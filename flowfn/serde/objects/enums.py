"""Members of enumerations, by name; a combination of flags by the names in it, and what no name covers."""

from __future__ import annotations

from enum import Flag
from typing import Any

from flowfn.errors import CorruptDataError, TypeChangedError
from flowfn.serde.format import Kind, mark
from flowfn.serde.leaves import Encoder
from flowfn.serde.names import Names, reference
from flowfn.serde.objects.kinds import class_of, is_enum
from flowfn.serde.objects.state import has_lost

_ENUM = mark(Kind.ENUM)


def enum_encoder(cls: type) -> Encoder:
    """How members of one enumeration are packed: by name."""
    name = reference(cls)

    def encode(value: Any) -> list[Any]:
        if value._name_ in cls._member_map_:  # type: ignore[attr-defined]
            return [_ENUM, name, 0, value._name_]
        members = list(cls._iter_member_(value._value_))  # type: ignore[attr-defined]
        rest = value._value_
        for member in members:
            rest &= ~member._value_
        return [_ENUM, name, rest, *(member._name_ for member in members)]

    return encode


def build_enum(items: list[Any], names: Names) -> Any:
    """The member that was stored by its name.

    Raises:
        TypeChangedError: the class no longer has it.
        UntrustedTypeError, CorruptDataError: no such member was ever stored.
    """
    _, name, rest, *members = items
    cls = class_of(names, name, is_enum)
    if lost := [member for member in members if member not in cls._member_map_]:
        raise TypeChangedError(has_lost(cls, lost))
    found = [cls._member_map_[member] for member in members]
    if len(found) == 1 and not rest:
        return found[0]
    if not issubclass(cls, Flag):
        raise CorruptDataError(f"A stored {name} is not one member")
    for member in found:
        rest |= member._value_
    return cls(rest)
