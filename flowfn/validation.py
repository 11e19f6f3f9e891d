"""Inputs and answers as their annotated types.

Rule: what fits already passes at the price of a type check; pydantic, whose import costs more than
most runs, decides the rest. What it can't read isn't validated. Its `ValidationError` is a `ValueError`.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from flowfn.python.meant import as_meant
from flowfn.python.typed_dicts import readable

_EXACT = (str, int, float, bool, bytes)
_SCHEMAS = {str: "string", int: "integer", float: "number", bool: "boolean"}
"""What pydantic would say, without its import."""


def validate(value: Any, kind: Any) -> Any:
    """The value as `kind`: itself if it fits, else what pydantic makes of it.

    Raises:
        ValidationError: pydantic can make nothing of it.
    """
    if fits(value, kind):
        return value
    adapter = _adapter(kind)
    return value if adapter is None else adapter.validate_python(value)


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a type beyond doubt; False where only pydantic can tell."""
    if kind is Any or kind is object:
        return True
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias):
        return type(value) is kind if kind in _EXACT else _is_plain(kind) and isinstance(value, kind)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union or origin is types.UnionType:
        return any(value is None if arg is types.NoneType else fits(value, arg) for arg in args)
    if origin is list and args:
        return type(value) is list and all(fits(item, args[0]) for item in value)
    if origin is dict and args:
        return type(value) is dict and all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    return False


def _is_plain(kind: type) -> bool:
    """Whether isinstance is all there is to know: pydantic models may hold unvalidated fields, and do pass."""
    return not hasattr(kind, "__required_keys__") and not getattr(kind, "_is_protocol", False)


def _hashable(kind: Any) -> bool:
    try:
        hash(kind)
    except TypeError:
        return False
    return True


class _Absent:
    """What a type names that isn't there, such as an import for type checkers, or a later cell's of a notebook."""

    def __init__(self, error: NameError) -> None:
        within = error.__cause__ if isinstance(error.__cause__, NameError) else error
        self._name = error.name
        self._places = _places(within.__traceback__)

    def is_there_now(self) -> bool:
        return any(self._name in place for place in self._places)


def _places(traceback: types.TracebackType | None) -> list[Mapping[str, Any]]:
    """Where a name was looked for that wasn't there: the namespaces of the code that evaluated it, and, as Python 3.14
    looks a lone name up itself, those that are variables there."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return []
    here = traceback.tb_frame.f_locals
    return [
        traceback.tb_frame.f_globals,
        here,
        *(each for each in here.values() if isinstance(each, Mapping)),
    ]


def _adapter(kind: Any) -> Any:
    """A validator for a type, or None where pydantic knows none: also of one that names what isn't there, as long as it
    isn't. A model like that says itself what it lacks."""
    if not _hashable(kind):
        found = _new_adapter(kind)
    elif isinstance(found := _known_adapter(kind), _Absent) and found.is_there_now():
        _known_adapter.cache_clear()  # of a name others may be in want, too
        found = _known_adapter(kind)
    return None if isinstance(found, _Absent) else found


@lru_cache(maxsize=1024)
def _known_adapter(kind: Any) -> Any:
    return _new_adapter(kind)


def _new_adapter(kind: Any) -> Any:
    from pydantic import ConfigDict, TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        kind = readable(as_meant(kind))
        try:
            made = TypeAdapter(kind, config=ConfigDict(arbitrary_types_allowed=True))
        except PydanticUserError:
            made = TypeAdapter(kind)
    except NameError as error:
        return _Absent(error)
    except (PydanticUserError, TypeError):
        return None
    return made if made.pydantic_complete or _has_unfinished_model(kind) else _finished(made)


def _finished(adapter: Any) -> Any:
    """A validator that isn't made yet: it puts that off, or lacks a name."""
    from pydantic.errors import PydanticUserError

    try:
        adapter.rebuild()
    except NameError as error:
        return _Absent(error)
    except (PydanticUserError, TypeError):
        return None
    return adapter


def _has_unfinished_model(kind: Any) -> bool:
    """Whether it is, or has among its arguments, a model of pydantic's that names what isn't there."""
    parts = typing.get_args(kind)
    return getattr(kind, "__pydantic_complete__", True) is False or any(map(_has_unfinished_model, parts))


def arguments(
    owner: str, bound: Mapping[str, Any], hints: Mapping[str, Any], variadic: Mapping[str, str]
) -> dict[str, Any]:
    """Bound arguments of `owner`, each as its annotation; `variadic` marks `*args` ("*") and `**kwargs` ("**").

    Raises:
        ValidationError: one does not fit; it names the owner and the argument.
    """
    result = dict(bound)
    for name, kind in hints.items():
        if name not in result:
            continue
        given = result[name]
        if variadic.get(name) == "*":
            result[name] = tuple(
                _argument(owner, f"{name}[{at}]", item, kind) for at, item in enumerate(given)
            )
        elif variadic.get(name) == "**":
            result[name] = {key: _argument(owner, key, item, kind) for key, item in given.items()}
        else:
            result[name] = _argument(owner, name, given, kind)
    return result


def _argument(owner: str, name: str, value: Any, kind: Any) -> Any:
    try:
        return validate(value, kind)
    except ValueError:  # it says of which type the value isn't, and not whose
        return _form(owner, name, kind).validate_python({name: value})[name]


def _form(owner: str, name: str, kind: Any) -> Any:
    """A validator of a mapping that has one argument."""
    from pydantic import ConfigDict, TypeAdapter
    from typing_extensions import TypedDict  # pydantic brings it, and takes no other before Python 3.12

    make: Any = TypedDict
    form = make(owner, {name: readable(as_meant(kind))})
    form.__pydantic_config__ = ConfigDict(arbitrary_types_allowed=True)
    return TypeAdapter(form)


def json_schema(kind: Any) -> dict[str, Any] | None:
    """What JSON a type is made of; None where pydantic can't say."""
    if isinstance(kind, type) and kind in _SCHEMAS:
        return {"type": _SCHEMAS[kind]}
    from pydantic.errors import PydanticUserError

    adapter = _adapter(kind)
    try:
        schema: dict[str, Any] | None = None if adapter is None else adapter.json_schema()
    except PydanticUserError:
        return None
    return schema
