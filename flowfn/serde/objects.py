"""Objects of named classes: enums, dataclasses and attrs classes, named tuples, pydantic models, registered classes.

Rule: an object is stored as its class's name and its state, and restored by setting that state on an
empty instance. No `__init__`, `__post_init__`, `__new__`, validator or property of its class runs.
What the class has gained since gets its default; what it has lost is an error that names it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import fields, is_dataclass
from enum import Enum, Flag
from functools import cached_property, lru_cache
from types import MemberDescriptorType
from typing import Any

from flowfn.errors import CorruptDataError, TypeChangedError, UntrustedTypeError
from flowfn.python.plain import PLAIN
from flowfn.python.slots import held_in, slots_of
from flowfn.serde.containers import Builder
from flowfn.serde.format import Kind, Refused, mark
from flowfn.serde.leaves import Encoder
from flowfn.serde.names import Names, reference

_ENUM = mark(Kind.ENUM)
_DATACLASS = mark(Kind.DATACLASS)
_NAMEDTUPLE = mark(Kind.NAMEDTUPLE)
_PYDANTIC = mark(Kind.PYDANTIC)
_OBJECT = mark(Kind.OBJECT)

_IMMUTABLE_TYPE = 1 << 8
_ATTRS = "__attrs_attrs__"
_CACHED_HASH = "_attrs_cached_hash"
"""Where attrs keeps a hash, which is another one in another process; None before it is asked for."""
_TYPING_NOTE = "__orig_class__"
_OF_SQLALCHEMY = "_sa_instance_state"
"""What a model of SQLModel carries that is a table's: without it, it could be read and no more."""

_PLAIN: dict[type, Callable[[Any], Any]] = {
    object: lambda value: None,
    **{base: PLAIN[base] for base in (str, int, float, bytes, tuple, list, dict, set, frozenset)},
}
"""The bases that a registered class may have, with what is stored of them; an object has its attributes alone."""

_FILL: dict[type, Callable[[Any, Any], None]] = {list: list.extend, dict: dict.update, set: set.update}


# -- what a class is --------------------------------------------------------------------------------


def solid_base(cls: type) -> type:
    """The class written in C that decides how instances are laid out."""
    while not _is_of_c(cls) and cls.__base__ is not None:
        cls = cls.__base__
    return cls


def _is_of_c(cls: type) -> bool:
    """Whether it is written in C; where others may change such a class, its own `__new__` tells that."""
    return bool(cls.__flags__ & _IMMUTABLE_TYPE) or getattr(vars(cls).get("__new__"), "__self__", None) is cls


def is_enum(cls: type) -> bool:
    """Whether a class is an enumeration."""
    return issubclass(cls, Enum)


def is_record(cls: type) -> bool:
    """Whether a class declares its fields, as dataclasses and attrs classes do, and holds all in its attributes."""
    return (is_dataclass(cls) or hasattr(cls, _ATTRS)) and solid_base(cls) is object


def is_namedtuple(cls: type) -> bool:
    """Whether a class is a named tuple, of either kind."""
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def is_model(cls: type) -> bool:
    """Whether a class is a pydantic model; never imports pydantic to find out."""
    base = getattr(sys.modules.get("pydantic.main"), "BaseModel", None)
    return base is not None and issubclass(cls, base)


def is_plain(cls: type) -> bool:
    """Whether a registered class can be stored: its layout is its attributes and one basic value."""
    return solid_base(cls) in _PLAIN


def not_plain(cls: type) -> str:
    """Why a class that is no such can't be stored."""
    base = solid_base(cls)
    own = "it is" if base is cls else "its class extends"
    return (
        f"{own} {base.__module__}.{base.__qualname__}, whose state only it knows. "
        "Store plain values, and make it of them"
    )


_KINDS: dict[Callable[[type], bool], str] = {
    is_enum: "an enum",
    is_model: "a pydantic model",
    is_namedtuple: "a named tuple",
    is_record: "a dataclass",
}
"""What authors call the classes that are stored without being registered; one of attrs is stored as a dataclass is."""


def _class_of(names: Names, name: Any, is_it: Callable[[type], bool]) -> Any:
    """The class that an object was stored under.

    Raises:
        TypeChangedError: it is of another kind now.
        UntrustedTypeError: there is none, or one of no kind that is stored without being registered.
    """
    try:
        return names.find(name, is_it)
    except UntrustedTypeError:
        now = names.named(name)
        if now is None:
            raise
    kind, keep = _KINDS[is_it], "the old one has to stay, if only for reading what was stored"
    for is_another, label in _KINDS.items():
        if is_another(now):
            raise TypeChangedError(
                f"{name} was stored as {kind}, and is {label} now. Give that another name: {keep}"
            )
    raise UntrustedTypeError(
        f"Stored data names the type {name!r} as {kind}, which is not allowed here: it is none, and nothing of it was "
        f"called. If it was one, and is another class now, give that another name: {keep}"
    )


# -- state ------------------------------------------------------------------------------------------


def state_of(value: Any) -> dict[str, Any]:
    """All attributes in `__dict__` and slots; not to be changed."""
    cls: Any = type(value)
    return _reader_of(cls)(value)


@lru_cache(1024)
def _reader_of(cls: Any) -> Callable[[Any], dict[str, Any]]:
    """What gives the attributes of a class's instances, and runs no code of it."""
    slots = slots_of(cls)
    if slots and (hasattr(cls, "__getattr__") or cls.__getattribute__ is not object.__getattribute__):
        return lambda value: {**_dict_of(value), **held_in(slots, value)}
    return _read_with_slots if slots else _read


def _read(value: Any) -> dict[str, Any]:
    state: Any = object.__getstate__(value)
    return state or {}


def _read_with_slots(value: Any) -> dict[str, Any]:
    state: Any = object.__getstate__(value)
    if not isinstance(state, tuple):
        return state or {}
    instance, slots = state
    return {**instance, **slots} if instance else slots


def _dict_of(value: Any) -> dict[str, Any]:
    try:
        return object.__getattribute__(value, "__dict__")  # type: ignore[no-any-return]
    except AttributeError:
        return {}


@lru_cache(1024)
def _slots(cls: type) -> dict[str, MemberDescriptorType]:
    names: dict[str, MemberDescriptorType] = {}
    for base in reversed(cls.__mro__):
        names.update({name: slot for name, slot in vars(base).items() if type(slot) is MemberDescriptorType})
    return names


def set_state(value: Any, state: Any) -> None:
    """Give an empty instance its attributes, past every `__setattr__`, property and frozen flag."""
    if type(state) is not dict:
        raise CorruptDataError("A stored object has no state")
    cls: Any = type(value)
    slots = _slots(cls)
    attributes = getattr(value, "__dict__", None)
    for name, item in state.items():
        if name in slots:
            slots[name].__set__(value, item)
        elif attributes is not None:
            attributes[name] = item
        else:
            raise TypeChangedError(_lost(cls, [name]))


def _derived(cls: type) -> frozenset[str]:
    """Attributes that are worked out again on demand, and so are not part of the value."""
    found = {
        name for base in cls.__mro__ for name, item in vars(base).items() if isinstance(item, cached_property)
    }
    return frozenset(found | {_TYPING_NOTE})


def _lost(cls: type, names: Iterable[str]) -> str:
    return (
        f"{reference(cls)} was stored with {', '.join(map(repr, names))}, which the class no longer has. "
        "Put it back, if only for reading what was stored"
    )


def _required(cls: type, name: str) -> str:
    return (
        f"{reference(cls)} now requires {name!r}, which the stored value does not have. "
        f"Give the field {name!r} a default"
    )


def _check_names(cls: type, stored: Any, known: Iterable[str]) -> None:
    if type(stored) is not dict:
        raise CorruptDataError("A stored object has no fields")
    if lost := [name for name in stored if name not in known]:
        raise TypeChangedError(_lost(cls, map(str, lost)))


# -- enums ------------------------------------------------------------------------------------------


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


def _build_enum(items: list[Any], names: Names) -> Any:
    _, name, rest, *members = items
    cls = _class_of(names, name, is_enum)
    if lost := [member for member in members if member not in cls._member_map_]:
        raise TypeChangedError(_lost(cls, lost))
    found = [cls._member_map_[member] for member in members]
    if len(found) == 1 and not rest:
        return found[0]
    if not issubclass(cls, Flag):
        raise CorruptDataError(f"A stored {name} is not one member")
    for member in found:
        rest |= member._value_
    return cls(rest)


# -- dataclasses and attrs classes ------------------------------------------------------------------


def record_encoder(cls: type) -> Encoder:
    """How instances of one dataclass or attrs class are packed: by field."""
    name = reference(cls)
    known = tuple(_declared(cls))
    skipped = _derived(cls).union(known)
    read = _reader_of(cls)

    def encode(value: Any) -> list[Any]:
        state = read(value)
        stored = {field: state[field] for field in known if field in state}
        if len(stored) == len(state):
            return [_DATACLASS, name, stored]
        extra = {key: item for key, item in state.items() if key not in skipped}
        if _CACHED_HASH in extra:
            extra[_CACHED_HASH] = None
        return [_DATACLASS, name, stored, extra] if extra else [_DATACLASS, name, stored]

    return encode


def _declared(cls: Any) -> dict[str, Any]:
    """The fields of a class by their names, as the library that it is made with describes them."""
    return {field.name: field for field in (getattr(cls, _ATTRS) if hasattr(cls, _ATTRS) else fields(cls))}


def _build_record(items: list[Any], names: Names) -> Any:
    _, name, stored, *extra = items
    cls = _class_of(names, name, is_record)
    known = _declared(cls)
    _check_names(cls, stored, known)
    value: Any = object.__new__(cls)
    set_state(value, stored)
    for field in (known[key] for key in known if key not in stored) if len(stored) != len(known) else ():
        default = _default(value, field)
        if default is not NO_DEFAULT:
            set_state(value, {field.name: default})
    for state in extra:
        set_state(value, state)
    return value


def _default(value: Any, field: Any) -> Any:
    """What an instance gets for a field that its class has gained; `NO_DEFAULT` where its own code sets that.

    Raises:
        TypeChangedError: there is none.
    """
    cls: Any = type(value)
    if field.name in (models := getattr(cls, "__pydantic_fields__", {})):
        return _model_default(cls, field.name, models[field.name], {})
    if hasattr(cls, _ATTRS):
        return _default_of_attrs(value, field)
    if field.default_factory is not NO_DEFAULT:
        return field.default_factory()
    if field.init and field.default is NO_DEFAULT:
        raise TypeChangedError(_required(cls, field.name))
    return field.default if field.init else NO_DEFAULT


def _default_of_attrs(value: Any, field: Any) -> Any:
    """`_default` of an attrs class, which sets the defaults of all its fields in its constructor."""
    attr, default = sys.modules["attr"], field.default
    if isinstance(default, attr.Factory):
        return default.factory(value) if default.takes_self else default.factory()
    if default is not attr.NOTHING:
        return default
    if field.init:
        raise TypeChangedError(_required(type(value), field.name))
    return NO_DEFAULT


# -- named tuples -----------------------------------------------------------------------------------


def namedtuple_encoder(cls: type) -> Encoder:
    """How instances of one named tuple are packed: by position."""
    name = reference(cls)
    known: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]

    def encode(value: Any) -> list[Any]:
        stored = dict(zip(known, tuple.__iter__(value), strict=True))
        state = state_of(value)
        return [_NAMEDTUPLE, name, stored, state] if state else [_NAMEDTUPLE, name, stored]

    return encode


def _build_namedtuple(items: list[Any], names: Names) -> Any:
    _, name, stored, *extra = items
    cls = _class_of(names, name, is_namedtuple)
    _check_names(cls, stored, cls._fields)
    values = {**getattr(cls, "_field_defaults", {}), **stored}
    for field in cls._fields:
        if field not in values:
            raise TypeChangedError(_required(cls, field))
    value: Any = tuple.__new__(cls, [values[field] for field in cls._fields])
    for state in extra:
        set_state(value, state)
    return value


# -- pydantic models --------------------------------------------------------------------------------


def model_encoder(cls: Any) -> Encoder:
    """How instances of one pydantic model are packed: by its state."""
    name = reference(cls)
    known = tuple(cls.__pydantic_fields__)

    def encode(value: Any) -> list[Any]:
        state = stored = value.__dict__
        if tuple(state) != known:
            stored = {field: state[field] for field in known if field in state}
            if _OF_SQLALCHEMY in state:
                raise Refused("it is a row of SQLAlchemy's. Store its model_dump(), or its key")
        private = value.__pydantic_private__
        return [
            _PYDANTIC,
            name,
            stored,
            sorted(value.__pydantic_fields_set__),
            value.__pydantic_extra__,
            private and {key: item for key, item in private.items() if not _undefined(item)},
        ]

    return encode


def _undefined(value: Any) -> bool:
    return type(value).__name__ == "PydanticUndefinedType"


def _build_model(items: list[Any], names: Names) -> Any:
    _, name, stored, fields_set, extra, private = items
    cls = _class_of(names, name, is_model)
    known = cls.__pydantic_fields__
    if type(stored) is not dict or stored.keys() != known.keys():
        _check_names(cls, stored, known)
    if type(extra) not in _STATES or type(private) not in _STATES:
        raise CorruptDataError(f"The state of a stored {name} is no mapping")
    if len(stored) != len(known):
        for key, field in known.items():
            if key not in stored:
                stored[key] = _model_default(cls, key, field, stored)
    value = object.__new__(cls)
    _set(value, "__dict__", stored)
    _set(value, "__pydantic_fields_set__", set(fields_set))
    # A RootModel has None in the place of these slots: to set one would make an attribute of it.
    if extra is not None or not cls.__pydantic_root_model__:
        _set(value, "__pydantic_extra__", extra)
    if private is not None or not cls.__pydantic_root_model__:
        _set(value, "__pydantic_private__", private)
    return value


_STATES = (dict, type(None))
_set = object.__setattr__


def _model_default(cls: type, name: str, field: Any, stored: dict[str, Any]) -> Any:
    if field.is_required():
        raise TypeChangedError(_required(cls, name))
    if getattr(field, "default_factory_takes_validated_data", False):
        return field.get_default(call_default_factory=True, validated_data=stored)
    return field.get_default(call_default_factory=True)


# -- registered classes -----------------------------------------------------------------------------


def object_encoder(cls: type) -> Encoder:
    """How instances of one registered class are packed: by its basic value and its attributes."""
    name, base = reference(cls), solid_base(cls)
    if not is_plain(cls):
        raise Refused(not_plain(cls))
    plain, skipped = _PLAIN[base], _derived(cls)

    def encode(value: Any) -> list[Any]:
        state = {key: item for key, item in state_of(value).items() if key not in skipped}
        return [_OBJECT, name, plain(value), state]

    return encode


def _build_object(items: list[Any], names: Names) -> Any:
    _, name, plain, state = items
    cls: Any = names.find(name, lambda found: is_plain(found) and names.allowed(name) is found)
    base: Any = solid_base(cls)
    empty: Callable[..., Any] = base.__new__
    if type(plain) is not (type(None) if base is object else base):
        held = "no basic value" if plain is None else f"a {type(plain).__name__}"
        raise TypeChangedError(
            f"{name} was stored with {held}, and extends {base.__name__} now. Give the new class another name, and let "
            "the old one stay, if only for reading what was stored"
        )
    if base is object:
        value = empty(cls)
    elif base in _FILL:
        value = empty(cls)
        _FILL[base](value, plain)
    else:
        value = empty(cls, plain)
    set_state(value, state)
    return value


BUILDERS: dict[Kind, Builder] = {
    Kind.ENUM: _build_enum,
    Kind.DATACLASS: _build_record,
    Kind.NAMEDTUPLE: _build_namedtuple,
    Kind.PYDANTIC: _build_model,
    Kind.OBJECT: _build_object,
}
