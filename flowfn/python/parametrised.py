"""Generic pydantic models that were given their types, such as `Page[Order]`: which of them annotations name.

Rule: such a class comes to be where code first writes it, which decides what it says its module is, and whether it
stands there under its name. So it counts as of the generic model's module, and as a part of the program if an
annotation of the program names it, in every process alike: of a function or a state that was noted when it was defined,
or of the models and dataclasses in those. Its name says which types it was given, with their modules, as several may
share a name, and their options; it is one in every process and on every Python. Two that share even that are none, and
neither is stored.
"""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256
from types import FunctionType, ModuleType, SimpleNamespace, UnionType
from typing import Any, NamedTuple
from weakref import ReferenceType, WeakKeyDictionary, ref

from flowfn.python.annotations import annotations_of
from flowfn.python.published import published
from flowfn.python.script import MAIN, namespace_of, script_name
from flowfn.python.words import words_of


class _Annotated(NamedTuple):
    """A function or class, and those of its annotations that are still to be read.

    `tried` is how much there was to find names in when they were tried last: what its module and the process had.
    """

    owner: ReferenceType[Any]
    left: Mapping[str, Any]
    tried: tuple[int, int] | None = None


_unread: dict[int, _Annotated] = {}
_found: dict[tuple[str, str], type | None] = {}
"""By module and full name; None where that is of several."""

_roughly: dict[tuple[str, str], type | None] = {}
"""The same by names that say less, for what was stored under another full name."""


def note(annotated: Any) -> None:
    """Have the models found that its annotations name, if everybody who imports its module has it."""
    annotated = getattr(annotated, "__func__", annotated)
    for each in annotated.__mro__ if isinstance(annotated, type) else (annotated,):
        annotations = annotations_of(each)
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
    """The name of a generic model with the types that it was given: `Page[shop.Order]`.

    What tells it from others of that name, the options of types and how these are written, follows as a digest.
    """
    script, known = script_name(), _full_names.get(model)
    if known is None or known[0] != script:
        known = _full_names[model] = (script, _made_of(model))
    return known[1]


_full_names: WeakKeyDictionary[Any, tuple[str, str]] = WeakKeyDictionary()
"""By model, and by what the script is called, which is learnt on the way."""


def _made_of(model: Any) -> str:
    name, told = _named(model, in_full=False), _named(model, in_full=True)
    return name if name == told else f"{name}#{sha256(told.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


_DIGEST = re.compile("#[0-9a-f]{8}$")


def is_same(one: Any, other: Any) -> bool:
    """Whether two classes are one, or a generic model that was given the same types twice, as each `Field()` is new."""
    if one is other:
        return True
    origin = origin_of(one)
    return origin is not None and origin is origin_of(other) and _are_same(given_to(one), given_to(other))


def _are_same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(some) == len(others) and all(map(_is_same_type, some, others))


def _is_same_type(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return _are_same(one, other)
    origin, parts = typing.get_origin(one), typing.get_args(one)
    if origin is None or origin is typing.Literal:
        is_text = isinstance(one, str | typing.ForwardRef)
        return is_same(one, other) or ((is_text or origin is not None) and bool(one == other))
    if origin is not typing.get_origin(other):
        return False
    if origin is typing.Annotated:
        options = [option(each) for each in parts[1:]]
        told = not any(_UNTOLD in each or "<" in each for each in options)
        same = options == [option(each) for each in other.__metadata__]
        return told and same and _is_same_type(parts[0], other.__origin__)
    return _are_same(parts, typing.get_args(other))


def is_one_of_several(model: Any) -> bool:
    """Whether annotations name another model that can't be told from this one."""
    origin = origin_of(model)
    return origin is not None and _found.get((origin.__module__, full_name(model)), model) is None


def _named(model: Any, *, in_full: bool) -> str:
    generic: Any = origin_of(model)
    return f"{generic.__qualname__}[{', '.join(_shown(each, in_full=in_full) for each in given_to(model))}]"


def _shown(given: Any, *, in_full: bool) -> str:
    """A type that a model was given, by its public name; `in_full` with options, and as it is written."""
    origin, parts = typing.get_origin(given), typing.get_args(given)
    if origin is typing.Annotated:
        options = [option(each) if in_full else type(each).__name__ for each in parts[1:]]
        return f"Annotated[{', '.join([_shown(parts[0], in_full=in_full), *options])}]"
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(option, parts))}]"
    if origin is not None:
        generic = _generic(given, origin, in_full=in_full)
        return f"{generic}[{', '.join(_shown(each, in_full=in_full) for each in parts)}]"
    if isinstance(given, list):
        return f"[{', '.join(_shown(each, in_full=in_full) for each in given)}]"
    if isinstance(given, str):  # it names a type that may not have been there yet
        return repr(given)
    if isinstance(given, typing.ForwardRef):
        return f"ForwardRef({given.__forward_arg__!r})"
    if given is None and in_full:
        return "None"
    if (model := origin_of(given)) is not None:
        return _in_module(model, _named(given, in_full=in_full))
    name = getattr(given, "__qualname__", None) or getattr(given, "__name__", None)
    return _in_module(given, name) if isinstance(name, str) else type(given).__name__


def _generic(given: Any, origin: Any, *, in_full: bool) -> str:
    """What a type with parts is of. `List[int]` and `list[int]` are two types, and so are `Optional[int]` and
    `int | None`."""
    if origin in (typing.Union, UnionType):
        return "UnionType" if in_full and origin is UnionType else "Union"
    alias = getattr(given, "_name", None) if in_full and type(given).__module__ == "typing" else None
    if isinstance(alias, str) and typing.get_origin(getattr(typing, alias, None)) is origin:
        return f"typing.{alias}"
    return _shown(origin, in_full=in_full)


def _in_module(named: Any, name: str) -> str:
    module = getattr(named, "__module__", None)
    if not isinstance(module, str) or module == "builtins":
        return name
    return ".".join(published(script_name() if module in MAIN else module, name))


def option(value: Any) -> str:
    """An option of a type, in words that are the same in every process: with no address, and in no order of a set."""
    if type(value) in _ATOMS:
        return repr(value)
    if isinstance(value, type) or typing.get_origin(value) is not None:
        return _shown(value, in_full=True)
    name = _shown(type(value), in_full=True)
    try:
        return f"{name}({', '.join(_parts(value))})"
    except Exception:  # options run their authors' code when looked at
        return f"{name}({_UNTOLD})"


def _parts(value: Any) -> Iterator[str]:
    """What an option is made of."""
    if isinstance(value, Enum):
        yield str(value.name or value.value)
    elif isinstance(value, Mapping):
        yield from (f"{option(key)}: {option(item)}" for key, item in value.items())
    elif isinstance(value, set | frozenset):
        yield from sorted(map(option, value))
    elif isinstance(value, list | tuple):
        yield from map(option, value)
    elif isinstance(value, FunctionType):
        yield from _parts_of_function(value)
    elif isinstance(getattr(value, "__qualname__", None), str):
        yield from _parts_of_named(value)
    elif is_dataclass(value):
        yield from (f"{each.name}={option(getattr(value, each.name))}" for each in fields(value))
    elif hasattr(value, "__repr_args__"):  # pydantic's
        yield from (f"{name}={option(item)}" for name, item in value.__repr_args__())
    else:
        shown = repr(value)
        if " at 0x" in shown or "{" in shown:
            yield from (f"{name}={option(item)}" for name, item in getattr(value, "__dict__", {}).items())
            shown = _UNTOLD
        yield shown


_UNTOLD = "…"
"""In the place of what could only be shown by where it is, after the attributes that it has."""

_SHARED = "<>"
"""Beside a name that functions share, which what is told of them may not tell apart."""


def _parts_of_named(value: Any) -> Iterator[str]:
    """The name of what has one, and what it is bound to; where the name leads elsewhere, what is inside it."""
    yield _in_module(value, value.__qualname__)
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, ModuleType):
        yield option(owner)
    elif not _goes_by_its_name(value):
        yield _UNTOLD
        if (wrapped := getattr(value, "__wrapped__", None)) is not None:
            yield option(wrapped)


def _goes_by_its_name(value: Any) -> bool:
    """Whether its name leads to it, whoever has it."""
    first, *rest = value.__qualname__.split(".")
    found = namespace_of(getattr(value, "__module__", None) or "builtins").get(first)
    for name in rest:
        found = getattr(found, name, None)
    return found is value


def _parts_of_function(function: FunctionType) -> Iterator[str]:
    """Its name; where that doesn't lead to it, and others may share it, what it names and what it was made with."""
    yield _in_module(function, function.__qualname__)
    if not _goes_by_its_name(function):
        yield _SHARED
        yield from words_of(function.__code__)
        held = (cell.cell_contents for cell in function.__closure__ or ())
        yield from (option(each) for each in held if each is not function)
        yield from map(option, function.__defaults__ or ())
        yield from (f"{name}={option(each)}" for name, each in (function.__kwdefaults__ or {}).items())


_ATOMS = frozenset({type(None), type(...), bool, int, float, complex, str, bytes})


def parametrised(module: str, name: str) -> type | None:
    """The model that annotations name so, in full or not, by the module of the generic one; None if none does, or
    several are meant."""
    for key, annotated in list(_unread.items()):
        left = _read(annotated)
        if left is None:  # only now: another thread that asks meanwhile reads it as well
            _unread.pop(key, None)
        elif left is not annotated:
            _unread[key] = left
    if (module, name) in _found:
        return _found[module, name]
    # Stored before an option was edited, or by a version of a library that shows it otherwise.
    return _roughly.get((module, name), _roughly.get((module, _DIGEST.sub("", name))))


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
            hint = evaluated(annotation, owner, namespace)
        except Exception:
            left[name] = annotation
        else:
            for model, origin in _models([hint]):
                _keep(model, origin)
    return _Annotated(annotated.owner, left, there) if left else None


def evaluated(annotation: Any, owner: Any, namespace: dict[str, Any] | None = None) -> Any:
    """An annotation of a function or class by itself: one that can't be read says nothing of the others."""
    namespace = _namespace(owner) if namespace is None else namespace
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
    full = full_name(model)
    _keep_in(_found, (origin.__module__, full), model)
    for name in {_DIGEST.sub("", full), model.__qualname__}:
        _keep_in(_roughly, (origin.__module__, name), model)


def _keep_in(names: dict[tuple[str, str], type | None], key: tuple[str, str], model: type) -> None:
    known = names.setdefault(key, model)
    if known is not None and not is_same(known, model):
        names[key] = None


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
