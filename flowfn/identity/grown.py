"""Which arguments are the same but for what a class has got since, fields, names of an enum's members, or another name,
or but for a parameter that is given its default.

Rule: a field that is added with a default has that default in all that was made before (see `defaults`). So two
arguments are the same if they are once all fields that are at their class's default are left out, wherever in the
arguments the objects are, and an argument that is at its parameter's. Of an object without fields, what it was given
counts (see `made_with.given`), and the defaults of those parameters. A member of an enum that has a name besides its
own has it as an alias, so that each of its names is the same member, as long as its value is what it was under the
other one: a name that now means another member than it did is no other name of that. A class that had another name, as
the program says (`flowfn.serde.allow(Order, as_="app:Order")`), is the same under both. It is told from the forms alone
(see `forms.notation`) and from the classes that are loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from enum import EnumMeta, Flag
from functools import reduce
from operator import or_
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import ormsgpack

from flowfn.identity.constant import is_constant
from flowfn.identity.defaults import defaults_of
from flowfn.identity.digest import exact, value_of_member
from flowfn.identity.names import named, qualified_name
from flowfn.python.moved import had_name
from flowfn.python.parametrised import origin_of

__all__ = ["Defaults", "defaults_of_parameters", "without_defaults"]

_OF_CLASSES = re.compile(
    rb"\xa6(?:record|object|method)|\xa4(?:enum|name)|\xa5(?:error|class)|\xa7reduced|\xa8subclass"
)
"""How forms are tagged that name a class."""

Left = Hashable
"""What is left of a value: two are equal if the values are the same."""


class _Form(NamedTuple):
    """A form that msgpack has no word for."""

    tag: str
    parts: list[Any]


def _read(form: bytes) -> Any:
    return ormsgpack.unpackb(form, ext_hook=_extension)


def _extension(code: int, data: bytes) -> Any:
    parts = _read(data)
    return tuple(parts) if code == 2 else _Form(parts[0], parts[1:])


Defaults = tuple[tuple[str, Left], ...]
"""Of each parameter that has one what is left of its default."""


def defaults_of_parameters(defaults: Mapping[str, Any]) -> Defaults:
    """The defaults of a function's parameters, as they are compared: constants, and empty containers."""
    lasting = {name: each for name, each in defaults.items() if _is_lasting(each)}
    forms = ((name, exact({"": each}).form) for name, each in lasting.items())
    return tuple((name, _left(_read(form)[""])) for name, form in forms if form is not None)


def _is_lasting(default: Any) -> bool:
    return is_constant(default) or (type(default) in (list, dict, set) and not default)


def without_defaults(form: bytes | None, defaults: Defaults = ()) -> Left | None:
    """Arguments by all that isn't at its default, and classes and members of enums by one name each; None if there is
    nothing in them that classes or parameters say this of, or they weren't kept."""
    if form is None or not (defaults or _OF_CLASSES.search(form)):
        return None
    arguments, left_out = _read(form), dict(defaults)
    return _items((name, *_argument(name, arguments, left_out)) for name in arguments)


def _argument(name: str, arguments: Mapping[str, Any], left_out: Mapping[str, Left]) -> tuple[Left, Left]:
    """What is left of an argument, and of what another argument, an object, was given, which is one more; and what the
    function, or that object, would have without."""
    value, (argument, _, attribute) = arguments[name], name.partition(".")
    holder = arguments.get(argument) if attribute else None
    if not isinstance(holder, _Form) or holder.tag != "object":
        return _left(value), left_out.get(name, _NONE)
    return _given(value), _defaults(_present(holder.parts[0])).get(attribute, _NONE)


def _left(value: Any) -> Left:
    if isinstance(value, _Form):
        return (value.tag, *_left_of(value))
    if isinstance(value, dict):
        return "dict", _items((key, _left(item), _NONE) for key, item in value.items())
    if isinstance(value, list | tuple):
        return type(value).__name__, tuple(map(_left, value))
    return type(value).__name__, repr(value)


def _left_of(form: _Form) -> tuple[Left, ...]:
    kind: Callable[..., tuple[Left, ...]] = _KINDS.get(form.tag, _any)
    try:
        return kind(*form.parts)
    except (TypeError, ValueError):  # of another version of flowfn: it only has to be told from others
        return _any(*form.parts)


def _items(items: Iterable[tuple[str, Left, Left]]) -> Left:
    """By name what is left, but for what is at its default, which is the third of each."""
    return tuple(sorted(((name, item) for name, item, default in items if item != default), key=_name))


def _name(item: tuple[str, Left]) -> str:
    return item[0]


_NONE = object()
"""The default of what has none."""


# -- what is left of forms of a kind ---------------------------------------------------------------


def _any(*parts: Any) -> tuple[Left, ...]:
    return tuple(map(_left, parts))


def _record(name: str, fields: Mapping[str, Any]) -> tuple[Left, ...]:
    own = _present(name)
    return own, _but_for_defaults(own, {field: _left(item) for field, item in fields.items()})


def _object(name: str, given: Mapping[str, Any] = {}) -> tuple[Left, ...]:
    own = _present(name)
    return own, _but_for_defaults(own, {attribute: _given(item) for attribute, item in given.items()})


def _subclass(name: str, value: Any, more: Mapping[str, Any] = {}) -> tuple[Left, ...]:
    """A list or a text that is of a class that extends those, and may have attributes."""
    return _left(value), *_record(name, more)


def _of_a_class(name: str, *parts: Any) -> tuple[Left, ...]:
    """A class, or what is told by one's name and by other things."""
    return _present(name), *map(_left, parts)


def _method(function: Any, owner: Any) -> tuple[Left, ...]:
    return _present(function) if isinstance(function, str) else _left(function), _left(owner)


def _enum(name: str, member: str, value: bytes = b"") -> tuple[Left, ...]:
    own = _present(name)
    return own, _name_now(own, member, value)


def _elements(*packed: bytes) -> tuple[Left, ...]:
    return tuple(sorted((_left(_read(each)) for each in packed), key=repr))


def _map(*packed: bytes) -> tuple[Left, ...]:
    read = [_left(_read(each)) for each in packed]
    return tuple(sorted(zip(read[::2], read[1::2], strict=True), key=repr))


_KINDS: dict[str, Callable[..., tuple[Left, ...]]] = {
    "record": _record,
    "object": _object,
    "subclass": _subclass,
    "name": _of_a_class,
    "class": _of_a_class,
    "held": _of_a_class,
    "error": _of_a_class,
    "reduced": _of_a_class,
    "method": _method,
    "enum": _enum,
    "set": _elements,
    "frozenset": _elements,
    "map": _map,
}
"""By their tags; of others all parts count."""


def _given(value: Any) -> Left:
    """What an object was given; another object, whose class declares its fields, is told by the class's name and those
    (see `made_with.captured`)."""
    if isinstance(value, dict) and len(value) == 1:
        ((name, fields),) = value.items()
        own = _present(name)
        cls = _class(own)
        if isinstance(fields, dict) and cls is not None:
            return "given", own, _but_for_defaults(own, {each: _given(item) for each, item in fields.items()})
    return _left(value)


def _but_for_defaults(cls: str, fields: Mapping[str, Left]) -> Left:
    defaults = _defaults(cls)
    return _items((name, item, defaults.get(name, _NONE)) for name, item in fields.items())


# -- classes ---------------------------------------------------------------------------------------


def _name_now(enum: str, member: str, value: bytes) -> str:
    """The name that its class gives an enum's member now, if the one that it had leads to a member of its value."""
    cls = _class(enum)
    known: Mapping[str, Any] = cls.__members__ if isinstance(cls, EnumMeta) else {}
    parts = member.split("|") if issubclass(cls or object, Flag) else [member]
    if not all(part in known for part in parts):
        return member
    name = "|".join(known[part].name for part in parts)
    present = reduce(or_, (known[part]._value_ for part in parts))
    return name if name == member or value_of_member(present) == [value] else member


def _present(name: str) -> str:
    """What a class is called now that went by that name, or what is in it."""
    parts = name.split(".")
    for end in range(len(parts), 1, -1):
        moved = had_name(".".join(parts[:end]))
        if moved is not None:
            return ".".join([qualified_name(moved), *parts[end:]])
    return name


def _defaults(name: str) -> Mapping[str, Left]:
    """The defaults of a class's fields, as they are compared; none of a class that its name doesn't lead to."""
    cls = _class(name)
    if cls is None:
        return {}
    found = _known.get(cls)
    if found is None:
        forms = ((field, exact({"": default}).form) for field, default in defaults_of(cls))
        found = _known[cls] = {field: _left(_read(form)[""]) for field, form in forms if form is not None}
    return found


_known: WeakKeyDictionary[type, Mapping[str, Left]] = WeakKeyDictionary()


def _class(name: str) -> type | None:
    generic, bracket, _ = name.partition("[")
    parts = generic.split(".")
    for end in range(len(parts) - 1, 0, -1):
        found = named(".".join(parts[:end]), ".".join(parts[end:]))
        if isinstance(found, type):
            return _given_its_types(found, name) if bracket else found
    return None


def _given_its_types(generic: type, name: str) -> type | None:
    """The model of that name which was made of a generic one."""
    below: list[type] = type.__subclasses__(generic)
    return next((each for each in below if origin_of(each) is generic and qualified_name(each) == name), None)
