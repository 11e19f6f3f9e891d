"""Which arguments are the same but for what a class has got since: fields, names of an enum's members, or another name.

Rule: a field that is added with a default has that default in all that was made before. So two arguments are the same
if they are once all fields that are at their class's default are left out. Only a constant counts as a default, or an
empty container: what another factory makes may be anew each time. Of an object without fields, what it was given counts
(see `made_with.given`), and the defaults of those parameters. A member of an enum that has a name besides its own
has it as an alias, so that each of its names is the same member, as long as its value is what it was under the other
one: a name that now means another member than it did is no other name of that. A class that had another name, as the
program says (`flowfn.serde.allow(Order, as_="app:Order")`), is the same under both. It is told from the forms alone
(see `differences`) and from the classes that are loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import MISSING, fields
from enum import EnumMeta, Flag
from functools import reduce
from operator import or_
from typing import Any
from weakref import WeakKeyDictionary

from flowfn.identity.code.classes import declares_fields
from flowfn.identity.differences import Member, Opaque, Record, decoded
from flowfn.identity.digest import MEMBER, exact, value_of_member
from flowfn.identity.made_with.given import given_by_default
from flowfn.identity.names import named, qualified_name
from flowfn.python.moved import had_name

__all__ = ["without_defaults"]

_RECORD = b"\xa6record"
"""How the form of an object that declares its fields is tagged."""

_OBJECT = b"\xa6object"
"""How the form of one is tagged that counts by its type, and by what it was given."""

_EMPTY = (list, dict, set, frozenset, tuple, str, bytes, int, float, bool)
"""Factories that make an equal value each time."""


def without_defaults(form: bytes | None) -> Hashable | None:
    """Arguments by all that isn't at its default, and classes and members of enums by one name each; None if there is
    nothing in them that classes say this of, or they weren't kept."""
    if form is None or all(form.find(tag) < 0 for tag in (_RECORD, _OBJECT, MEMBER)):
        return None
    arguments = decoded(form)
    return _left({name: value for name, value in arguments.items() if not _is_by_default(name, arguments)})


def _is_by_default(name: str, arguments: Mapping[str, Any]) -> bool:
    """Whether it is what another argument, an object, was given, and what that would have without."""
    argument, _, attribute = name.partition(".")
    value = arguments.get(argument) if attribute else None
    if not isinstance(value, Opaque) or value.form.find(_OBJECT) != 1:
        return False
    return _defaults(_present(decoded(value.form)[1])).get(attribute) == _left(arguments[name])


def _left(value: Any) -> Hashable:
    if isinstance(value, Record):
        own = _present(value.name)
        defaults = _defaults(own)
        left = ((name, _left(item)) for name, item in sorted(value.fields.items()))
        return own, tuple((name, item) for name, item in left if defaults.get(name) != item)
    if isinstance(value, dict):
        return type(value).__name__, tuple((key, _left(item)) for key, item in sorted(value.items()))
    if isinstance(value, list | tuple):
        return type(value).__name__, tuple(map(_left, value))
    if isinstance(value, Member):
        return _present(value.enum), _name_now(value)
    return type(value).__name__, _opaque(value.form) if isinstance(value, Opaque) else repr(value)


def _opaque(form: bytes) -> Hashable:
    """The form of a value; of an object but for what it was given by default."""
    if form.find(_OBJECT) != 1:
        return form
    _, name, *given = decoded(form)
    return _present(name), *(_left(Record(name, each)) for each in given)


def _name_now(member: Member) -> str:
    """The name that its class gives an enum's member now, if the one that it had leads to a member of its value."""
    cls = _class(_present(member.enum))
    known: Mapping[str, Any] = cls.__members__ if isinstance(cls, EnumMeta) else {}
    parts = member.name.split("|") if issubclass(cls or object, Flag) else [member.name]
    if not all(part in known for part in parts):
        return member.name
    name = "|".join(known[part].name for part in parts)
    value = reduce(or_, (known[part]._value_ for part in parts))
    return name if name == member.name or value_of_member(value) == [member.value] else member.name


def _present(name: str) -> str:
    """What a class is called now that went by that name."""
    moved = had_name(name)
    return name if moved is None else qualified_name(moved)


def _defaults(name: str) -> Mapping[str, Hashable]:
    """The defaults of a class's fields, as they are compared; none of a class that its name doesn't lead to."""
    cls = _class(name)
    if cls is None:
        return {}
    found = _known.get(cls)
    if found is None:
        forms = ((field, exact({"": default}).form) for field, default in _declared(cls))
        found = _known[cls] = {field: _left(decoded(form)[""]) for field, form in forms if form is not None}
    return found


_known: WeakKeyDictionary[type, Mapping[str, Hashable]] = WeakKeyDictionary()


def _class(name: str) -> type | None:
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        found = named(".".join(parts[:end]), ".".join(parts[end:]))
        if isinstance(found, type):
            return found
    return None


def _declared(cls: Any) -> Iterator[tuple[str, Any]]:
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
    of_struct = (
        getattr(cls, "__struct_fields__", ()),
        getattr(cls, "__struct_defaults__", ()),
    )  # the last ones' alone
    for name, default in zip(*map(reversed, of_struct), strict=False):
        yield name, default, getattr(default, "factory", None)
