"""What a return annotation tells about storing, before any work is done.

Rule: silent wherever an instance could be storable; it refuses only what no value can satisfy.
"""

from __future__ import annotations

import collections.abc as abc
import typing
from collections.abc import Callable
from io import IOBase
from types import NoneType, UnionType
from typing import Any

from flowfn.serde.format import Refused
from flowfn.serde.refusal import name_of

_PLAIN = (str, int, float, bool, bytes, list, dict, NoneType, object)
_CONTAINERS = (list, dict, tuple, set, frozenset)
_ONCE = "it can be read only once. Return a list"
_CODE = "code is never stored. Return a name, and look the function up by it"
_FILE = "it belongs to this process. Return its path or its content"
_NEVER: dict[Any, str] = {
    type: "classes are never stored. Return its name, and look the class up by it",
    abc.Callable: _CODE,
    abc.Generator: _ONCE,
    abc.Iterator: _ONCE,
    abc.AsyncGenerator: _ONCE,
    abc.AsyncIterator: _ONCE,
    abc.AsyncIterable: _ONCE,
    abc.Awaitable: "it has not run yet. Return its result",
    abc.Coroutine: "it has not run yet. Return its result",
    typing.IO: _FILE,
    typing.TextIO: _FILE,
    typing.BinaryIO: _FILE,
}


def why_not(annotation: Any, learn: Callable[[type], Any]) -> str | None:
    """Why no value of this annotation can be stored, or None. `learn` raises `Refused` for a class."""
    annotation = _bare(annotation)
    origin = typing.get_origin(annotation)
    if (reason := _never(origin or annotation)) is not None:
        return reason
    if origin is typing.Union or origin is UnionType:
        reasons = [why_not(member, learn) for member in typing.get_args(annotation)]
        return reasons[0] if all(reasons) else None
    if origin in _CONTAINERS:
        found = (why_not(part, learn) for part in typing.get_args(annotation) if part is not ...)
        return next((reason for reason in found if reason), None)
    cls = origin or annotation
    return _class(cls, learn) if isinstance(cls, type) else None


def _bare(annotation: Any) -> Any:
    """Past `Annotated`, `NewType` and type aliases."""
    while True:
        if typing.get_origin(annotation) is typing.Annotated:
            annotation = annotation.__origin__
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        else:
            return annotation


def _never(annotation: Any) -> str | None:
    try:
        reason = _NEVER.get(annotation)
    except TypeError:  # an annotation may be anything, hashable or not
        return None
    return None if reason is None else f"{getattr(annotation, '__name__', annotation)}: {reason}"


def _class(cls: Any, learn: Callable[[type], Any]) -> str | None:
    if cls in _PLAIN or typing.is_typeddict(cls) or _is_open(cls):
        return None
    if issubclass(cls, IOBase):
        return f"{name_of(cls)}: {_FILE}"
    try:
        learn(cls)
    except Refused as refusal:
        if any(_class(below, learn) is None for below in type.__subclasses__(cls)):
            return None
        return f"{name_of(cls)}: {refusal}"
    return None


def _is_open(cls: type) -> bool:
    """Whether instances are always of some other class, so that this one tells nothing."""
    return cls is Any or bool(
        getattr(cls, "_is_protocol", False) or getattr(cls, "__abstractmethods__", None)
    )
