"""What kind of object a class makes, as far as storing it goes.

Rule: asked of a class that data names before anything of it is called, so nothing here runs code of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

from flowfn.errors import TypeChangedError, UntrustedTypeError
from flowfn.python.structs import is_struct
from flowfn.serde.names import Names
from flowfn.serde.objects.bases import BASES

_IMMUTABLE_TYPE = 1 << 8
ATTRS = "__attrs_attrs__"
"""Where attrs says which fields a class has."""


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
    return ((is_dataclass(cls) or hasattr(cls, ATTRS)) and solid_base(cls) is object) or is_struct(cls)


def is_namedtuple(cls: type) -> bool:
    """Whether a class is a named tuple, of either kind."""
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def is_model(cls: type) -> bool:
    """Whether a class is a pydantic model; never imports pydantic to find out."""
    base = getattr(sys.modules.get("pydantic.main"), "BaseModel", None)
    return base is not None and issubclass(cls, base)


def is_plain(cls: type) -> bool:
    """Whether a registered class can be stored: its layout is its attributes and one basic value."""
    return solid_base(cls) in BASES


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
"""What authors call the classes that are stored without being registered; those of attrs and msgspec are stored as
dataclasses are."""


def class_of(names: Names, name: Any, is_it: Callable[[type], bool]) -> Any:
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
