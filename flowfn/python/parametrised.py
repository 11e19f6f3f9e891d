"""Generic pydantic models that were given their types, such as `Page[Order]`: which of them annotations name.

Rule: such a class comes to be where code first writes it, which decides what it says its module is, and whether it
stands there under its name. So it counts as of the generic model's module, and as a part of the program if an
annotation of the program names it, in every process alike: of a function or a state that was noted when it was defined,
or of the models and dataclasses in those. Its name says which types it was given, with their modules, as several may
share a name. Two that share even that are none.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from types import SimpleNamespace, UnionType
from typing import Any, NamedTuple
from weakref import ReferenceType, ref

from flowfn.python.script import MAIN, script_name


class _Annotated(NamedTuple):
    """A function or class, and those of its annotations that are still to be read.

    `tried` is how much there was to find names in when they were tried last: what its module and the process had.
    """

    owner: ReferenceType[Any]
    left: Mapping[str, Any]
    tried: tuple[int, int] | None = None


_unread: dict[int, _Annotated] = {}
_found: dict[tuple[str, str], type | None] = {}


def note(annotated: Any) -> None:
    """Have the models found that its annotations name, if everybody who imports its module has it."""
    annotated = getattr(annotated, "__func__", annotated)
    for each in annotated.__mro__ if isinstance(annotated, type) else (annotated,):
        annotations = getattr(each, "__annotations__", None)
        if annotations and "<locals>" not in each.__qualname__:
            _unread[id(each)] = _Annotated(ref(each), annotations)


def origin_of(cls: Any) -> type | None:
    """The generic model that was given types to make this one; None of any other class."""
    parameters = _given_to(cls)
    origin: type | None = parameters["origin"] if parameters else None
    return origin


def given_to(cls: Any) -> tuple[Any, ...]:
    """The types that were given to a generic model to make this one; of any other class none."""
    return tuple(_given_to(cls).get("args", ()))


def _given_to(cls: Any) -> dict[str, Any]:
    found = _namespace_of(cls).get("__pydantic_generic_metadata__") if issubclass(type(cls), type) else None
    return found if type(found) is dict else {}


_namespace_of = type.__dict__["__dict__"].__get__
"""Past a metaclass, which may have something for any name."""


def full_name(model: Any) -> str:
    """The name of a generic model with the types that it was given: `Page[shop.Order]`."""
    generic: Any = origin_of(model)
    return f"{generic.__qualname__}[{', '.join(map(_shown, given_to(model)))}]"


def _shown(given: Any) -> str:
    origin, parts = typing.get_origin(given), typing.get_args(given)
    if origin is typing.Annotated:
        # As pydantic names them: an object's text may be its address.
        said = [type(each).__name__ for each in parts[1:]]
        return f"Annotated[{', '.join([_shown(parts[0]), *said])}]"
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, parts))}]"
    if origin is not None:
        generic = "Union" if origin in (typing.Union, UnionType) else _shown(origin)
        return f"{generic}[{', '.join(map(_shown, parts))}]"
    if isinstance(given, list):
        return f"[{', '.join(map(_shown, given))}]"
    name: Any = full_name(given) if origin_of(given) is not None else getattr(given, "__qualname__", None)
    if not isinstance(name, str):
        return str(getattr(given, "__name__", type(given).__name__))
    module = (origin_of(given) or given).__module__
    if module == "builtins":
        return name
    return f"{script_name() if module in MAIN else module}.{name}"


def parametrised(module: str, name: str) -> type | None:
    """The model that annotations name so, in full or not, by the module of the generic one; None if none does, or
    several are meant."""
    for key, annotated in list(_unread.items()):
        left = _read(annotated)
        if left is None:  # only now: another thread that asks meanwhile reads it as well
            _unread.pop(key, None)
        elif left is not annotated:
            _unread[key] = left
    return _found.get((module, name))


def _read(annotated: _Annotated) -> _Annotated | None:
    """Note the models in annotations; what is left are those that name what isn't there, or not yet."""
    owner = annotated.owner()
    if owner is None:
        return None
    namespace = _namespace(owner)
    there = len(namespace), len(sys.modules)
    if annotated.tried == there:
        return annotated
    left = {}
    for name, annotation in annotated.left.items():
        try:
            hint = _evaluated(annotation, owner, namespace)
        except Exception:
            left[name] = annotation
        else:
            for model, origin in _models([hint]):
                _keep(model, origin)
    return _Annotated(annotated.owner, left, there) if left else None


def _evaluated(annotation: Any, owner: Any, namespace: dict[str, Any]) -> Any:
    """An annotation by itself: one that can't be read says nothing of the others."""
    inner = dict(vars(owner)) if isinstance(owner, type) else None
    parameters = getattr(owner, "__type_params__", ())
    said = {"__annotations__": {"hint": annotation}, "__type_params__": parameters}
    alone: Any = SimpleNamespace(**said) if inner is None else type("Alone", (), said)
    return typing.get_type_hints(alone, namespace, inner, include_extras=True)["hint"]


def _namespace(owner: Any) -> dict[str, Any]:
    """Where the annotations of a function, whatever is around it, or of a class find their names."""
    if isinstance(owner, type):
        return vars(sys.modules.get(owner.__module__, typing))
    while hasattr(owner, "__wrapped__"):
        owner = owner.__wrapped__
    found: dict[str, Any] = getattr(owner, "__globals__", {})
    return found


def _keep(model: type, origin: type) -> None:
    for name in (full_name(model), model.__qualname__):
        key = origin.__module__, name
        _found[key] = model if _found.get(key, model) is model else None


def _models(hints: list[Any]) -> Iterator[tuple[type, type]]:
    """Those in annotations, at any depth, each with the generic one."""
    seen: dict[int, Any] = {}
    while hints:
        hint = hints.pop()
        if id(hint) in seen:
            continue
        seen[id(hint)] = hint  # held, so that no other hint gets its id meanwhile
        hints += typing.get_args(hint)
        if type(hint).__name__ == "TypeAliasType":
            hints += _value_of(hint)
        if isinstance(hint, type):
            hints += _fields(hint)
            if (origin := origin_of(hint)) is not None:
                yield hint, origin


def _fields(cls: type) -> list[Any]:
    known = getattr(cls, "__pydantic_fields__", None)
    if known is not None:
        return [field.annotation for field in known.values()]
    is_tuple = issubclass(cls, tuple) and hasattr(cls, "_fields")
    if is_tuple or is_dataclass(cls) or typing.is_typeddict(cls) or hasattr(cls, "__attrs_attrs__"):
        try:
            return list(typing.get_type_hints(cls).values())
        except Exception:
            return []
    return []


def _value_of(alias: Any) -> list[Any]:
    try:
        return [alias.__value__]
    except Exception:  # it names what isn't there, or not yet
        return []
