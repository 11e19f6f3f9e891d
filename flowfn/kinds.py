"""The type that an answer must have, as data: so that whoever answers is told before the run goes on.

Rule: only types that say what they hold are spelled (plain ones, `Literal`, unions, containers of those, and
classes with fields), and reading imports nothing: a class is found where it is loaded already, or not at all. What
can't be spelled or found is checked where the question is asked.
"""

from __future__ import annotations

import types
from enum import EnumMeta
from typing import Any, Literal, Union, get_args, get_origin, is_typeddict
from weakref import WeakValueDictionary

from flowfn.python.loaded import loaded
from flowfn.serde.names import lookup, reference
from flowfn.values import MISSING

__all__ = ["read", "spelled"]

_PLAIN: dict[str, Any] = {
    kind.__name__: kind
    for kind in (bool, int, float, str, bytes, list, dict, tuple, set, frozenset, types.NoneType)
}
_NAMES = {kind: name for name, kind in _PLAIN.items()}
_SCALARS = (bool, int, str, bytes, types.NoneType)

_local: WeakValueDictionary[str, type] = WeakValueDictionary()
"""Classes that were spelled in this process and that no module has, such as those of a function."""


def spelled(kind: Any) -> list[Any] | None:
    """A type as plain data; None where it has no spelling."""
    if kind is None:
        return ["NoneType"]
    origin: Any = get_origin(kind)
    args = get_args(kind)
    if origin is Literal:
        return ["literal", *args] if all(type(arg) in _SCALARS for arg in args) else None
    if origin is Union or origin is types.UnionType:
        return _compound("union", args)
    plain = _NAMES.get(kind if origin is None else origin) if _is_class(origin or kind) else None
    if plain is not None:
        return _compound(plain, args)
    return _class(kind) if origin is None and _is_class(kind) and _says_what_it_holds(kind) else None


def _is_class(kind: Any) -> bool:
    return isinstance(kind, type)


def _compound(name: str, args: tuple[Any, ...]) -> list[Any] | None:
    parts = [["..."] if arg is ... else spelled(arg) for arg in args]
    return None if None in parts else [name, *parts]


def _class(cls: type) -> list[Any]:
    name = reference(cls)
    if lookup(name) is not cls:
        _local[name] = cls
    return ["class", name]


def read(spelling: Any) -> Any:
    """The type that was spelled; MISSING where it isn't known here."""
    name, *parts = spelling
    if name == "class":
        found = lookup(parts[0]) or _local.get(parts[0])
        return MISSING if found is None or not _says_what_it_holds(found) else found
    if name == "literal":
        return Literal[tuple(parts)]
    kinds = tuple(... if part == ["..."] else read(part) for part in parts)
    if MISSING in kinds:
        return MISSING
    if name == "union":
        return Union[kinds]  # noqa: UP007 - of a tuple
    return _PLAIN[name][kinds] if kinds else _PLAIN[name]


def _says_what_it_holds(cls: type) -> bool:
    """Whether a class declares its fields or its members: what is looked up by name constructs nothing else."""
    pydantic = loaded("pydantic")
    return (
        "__dataclass_fields__" in vars(cls)
        or is_typeddict(cls)
        or isinstance(cls, EnumMeta)
        or (issubclass(cls, tuple) and hasattr(cls, "_fields"))
        or (pydantic is not None and issubclass(cls, pydantic.BaseModel))
    )
