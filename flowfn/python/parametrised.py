"""Generic pydantic models that were given their types, such as `Page[Order]`: which of them annotations name.

Rule: such a class comes to be where code first writes it, which decides what it says its module is, and whether it
stands there under its name. So it counts as of the generic model's module, and as a part of the program if an
annotation of the program names it, in every process alike: of a function or a state that was noted when it was defined,
or of the models and dataclasses in those. Two of one name are none.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any
from weakref import WeakValueDictionary

_unread: WeakValueDictionary[int, Any] = WeakValueDictionary()
_found: dict[tuple[str, str], type | None] = {}


def note(annotated: Any) -> None:
    """Have the models found that its annotations name, if everybody who imports its module has it."""
    annotated = getattr(annotated, "__func__", annotated)
    if getattr(annotated, "__annotations__", None) and "<locals>" not in annotated.__qualname__:
        _unread[id(annotated)] = annotated


def origin_of(cls: Any) -> type | None:
    """The generic model that was given types to make this one; None of any other class."""
    parameters = getattr(cls, "__pydantic_generic_metadata__", None)
    origin: type | None = parameters["origin"] if parameters else None
    return origin


def parametrised(module: str, qualname: str) -> type | None:
    """The model that annotations name so, by the module of the generic one; None if none does, or several are meant."""
    for key, annotated in list(_unread.items()):
        try:
            hints = typing.get_type_hints(annotated, include_extras=True)
        except Exception:  # it names what isn't there, or not yet
            continue
        for model, origin in _models(list(hints.values())):
            _keep(model, origin)
        _unread.pop(key, None)  # only now: another thread that asks meanwhile reads it as well
    return _found.get((module, qualname))


def _keep(model: type, origin: type) -> None:
    name = origin.__module__, model.__qualname__
    _found[name] = model if _found.get(name, model) is model else None


def _models(hints: list[Any]) -> Iterator[tuple[type, type]]:
    """Those in annotations, at any depth, each with the generic one."""
    seen: set[int] = set()
    while hints:
        hint = hints.pop()
        if id(hint) in seen:
            continue
        seen.add(id(hint))
        hints += typing.get_args(hint)
        if isinstance(hint, type):
            hints += _fields(hint)
            if (origin := origin_of(hint)) is not None:
                yield hint, origin


def _fields(cls: type) -> list[Any]:
    known = getattr(cls, "__pydantic_fields__", None)
    if known is not None:
        return [field.annotation for field in known.values()]
    if is_dataclass(cls) or typing.is_typeddict(cls):
        try:
            return list(typing.get_type_hints(cls).values())
        except Exception:
            return []
    return []
