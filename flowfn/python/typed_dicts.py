"""`typing.TypedDict`, which pydantic reads from Python 3.12 on; below, it takes that of typing_extensions only.

Rule: what is made again has the keys of the one that it stands for, and what those are annotated with.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, Union

if sys.version_info >= (3, 12):

    def readable(kind: Any) -> Any:
        """The type itself: pydantic reads all."""
        return kind

else:

    def readable(kind: Any) -> Any:
        """A type with each `typing.TypedDict` in it made again as one that pydantic reads; itself if it has none.

        Raises:
            NameError: an annotation in one names what isn't there.
        """
        return _readable(kind, {})


def _readable(kind: Any, made: dict[Any, Any]) -> Any:
    if typing.is_typeddict(kind):
        return made[kind] if kind in made else _made_again(kind, made)
    args = getattr(kind, "__args__", None)
    origin = typing.get_origin(kind)
    if not args or origin in (None, Literal, Callable):
        return kind
    if origin is typing.Annotated:
        inner = _readable(kind.__origin__, made)
        return kind if inner is kind.__origin__ else typing.Annotated[(inner, *kind.__metadata__)]
    again = tuple(_readable(arg, made) for arg in args)
    if all(one is other for one, other in zip(again, args, strict=True)):
        return kind
    if origin in (Union, types.UnionType):
        return Union[again]  # noqa: UP007
    return origin[again if len(again) > 1 else again[0]]


def _made_again(kind: Any, made: dict[Any, Any]) -> Any:
    """It is there before its annotations are read, which may name it."""
    from typing_extensions import TypedDict

    again: Any = made.setdefault(kind, TypedDict(kind.__name__, {}))  # type: ignore[operator]
    for name in (
        "__module__",
        "__qualname__",
        "__doc__",
        "__required_keys__",
        "__optional_keys__",
        "__total__",
    ):
        setattr(again, name, getattr(kind, name))
    if hasattr(kind, "__pydantic_config__"):
        again.__pydantic_config__ = kind.__pydantic_config__
    hints = typing.get_type_hints(kind, include_extras=True)
    again.__annotations__ = {name: _readable(hint, made) for name, hint in hints.items()}
    return again
