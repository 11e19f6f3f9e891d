"""`typing.TypedDict`, which pydantic reads from Python 3.12 on; below, it takes that of typing_extensions only.

Rule: what is made again has the keys of the one that it stands for, and what those are annotated with. A dataclass that
has one in its fields is validated by them and by its own validators, and makes instances of itself; a generic one with
its types given, or a named tuple, isn't.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import is_dataclass
from functools import partial
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
    if isinstance(kind, type) and is_dataclass(kind):
        return made[kind] if kind in made else _dataclass(kind, made)
    origin = typing.get_origin(kind)
    if typing.is_typeddict(origin):
        return made[kind] if kind in made else _made_again(origin, made, kind)
    return with_parts(kind, lambda part: _readable(part, made))


def with_parts(kind: Any, again: Callable[[Any], Any]) -> Any:
    """A type whose parts are made again; itself if each is what it was."""
    args, origin = getattr(kind, "__args__", None), typing.get_origin(kind)
    if not args or origin in (None, Literal, Callable):
        return kind
    if origin is typing.Annotated:
        inner = again(kind.__origin__)
        return kind if inner is kind.__origin__ else typing.Annotated[(inner, *kind.__metadata__)]
    parts = tuple(map(again, args))
    if all(one is other for one, other in zip(parts, args, strict=True)):
        return kind
    if origin in (Union, types.UnionType):
        return Union[parts]  # noqa: UP007
    return origin[parts if len(parts) > 1 else parts[0]]


def _made_again(kind: Any, made: dict[Any, Any], given: Any = None) -> Any:
    """It is there before its annotations are read, which may name it; `given` is a generic one with its types."""
    from typing_extensions import TypedDict

    again: Any = made.setdefault(given or kind, TypedDict(kind.__name__, {}))  # type: ignore[operator]
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
    types_of = dict(zip(kind.__parameters__, given.__args__, strict=True)) if given else {}
    hints = typing.get_type_hints(kind, include_extras=True)
    again.__annotations__ = {
        name: _readable(_with_types(hint, types_of), made) for name, hint in hints.items()
    }
    return again


def _with_types(hint: Any, types_of: dict[Any, Any]) -> Any:
    """An annotation with the types that a generic one was given."""
    open_ones = getattr(hint, "__parameters__", ())
    if hint in types_of:
        return types_of[hint]
    return hint[tuple(types_of.get(each, each) for each in open_ones)] if types_of and open_ones else hint


def _dataclass(kind: Any, made: dict[Any, Any]) -> Any:
    """A dataclass with fields that pydantic doesn't read, as what makes its instances all the same; itself if it has
    none.

    pydantic is shown a class of the same fields, annotated anew, and its validator is told to make the real one.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    as_is = {**made, kind: kind}
    if all(_readable(hint, as_is) is hint for hint in hints.values()):
        return kind
    from pydantic import GetPydanticSchema

    told = {name: getattr(kind, name) for name in _SHOWN if hasattr(kind, name)}
    shown: Any = _Shown(kind.__name__, (), {**_validators(kind), **told})
    shown.stands_for = kind
    made[kind] = typing.Annotated[Any, GetPydanticSchema(partial(_schema_of, kind, shown))]
    shown.__annotations__ = {name: _readable(hint, made) for name, hint in hints.items()}
    shown.__dataclass_fields__ = {name: copy(field) for name, field in kind.__dataclass_fields__.items()}
    for name, field in shown.__dataclass_fields__.items():
        field.type = shown.__annotations__[name]
    return made[kind]


class _Shown(type):
    """The class of what pydantic is shown: a validator that is a class method finds there what its class has."""

    stands_for: Any

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(cls.stands_for, name)


def _validators(kind: Any) -> dict[str, Any]:
    """What pydantic's decorators made of functions in a class or in one that it extends."""
    members = {name: member for base in reversed(kind.__mro__) for name, member in vars(base).items()}
    return {name: member for name, member in members.items() if hasattr(member, "decorator_info")}


def _schema_of(kind: Any, shown: Any, _: Any, handler: Any) -> Any:
    found = handler.generate_schema(shown)
    with suppress(LookupError):  # inside itself, where it is under way
        made = handler.resolve_ref_schema(found)
        while made["type"] != "dataclass":  # a validator of the whole is around it
            made = handler.resolve_ref_schema(made["schema"])
        made.update(cls=kind, slots=hasattr(kind, "__slots__"))
    return found


_SHOWN = (
    "__module__",
    "__qualname__",
    "__doc__",
    "__dataclass_params__",
    "__post_init__",
    "__pydantic_config__",
)
