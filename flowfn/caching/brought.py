"""The code that arguments bring along: that of functions, and of the classes of objects, among them and in them.

Rule: of a function its name is the whole value, and of an object what it holds; a kept result is stale once the code
behind them was edited, as it is for a helper that the task itself names. Looking runs no code of the project's, and
never fails: what can't be looked at brings nothing. Of a library's objects only records and models are looked into,
as others keep what is theirs.
"""

from __future__ import annotations

from collections import ChainMap, UserDict, UserList, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import partial
from gc import get_referents
from types import (
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, NamedTuple
from weakref import ReferenceType, ref

from flowfn.identity.code.dependencies import Dependencies
from flowfn.identity.code.fingerprint import is_project_code
from flowfn.identity.code.hints import TYPING, parts_of
from flowfn.identity.code.unwrapping import attribute
from flowfn.identity.digest import is_plain
from flowfn.identity.forms.attributes import own
from flowfn.python.project import is_own, is_own_module
from flowfn.python.slots import Slots, dict_of, held_in, slots_of
from flowfn.python.structs import is_struct

_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})

_MOST = 10_000
"""Values of an argument that are looked through, the outer ones first: what holds more holds data."""

_known: dict[int, tuple[ReferenceType[Any], Dependencies]] = {}


def brought_code(arguments: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The digests of the project's code behind each argument that brings any, as if it were one more argument."""
    if _PLAIN.issuperset(map(type, arguments.values())):
        return {}
    compound = ((name, value) for name, value in arguments.items() if type(value) not in _PLAIN)
    found = {name: _digests(value) for name, value in compound if not is_plain(value)}
    return {f"code of {name}": tuple(sorted(each)) for name, each in found.items() if each}


def _digests(argument: Any) -> set[str]:
    found = set[str]()
    for definition in _definitions(argument):
        with suppress(Exception):  # classes and wrappers are anybody's
            found.add(definition if type(definition) is str else _digest(definition))
    return found


def _definitions(argument: Any) -> Iterator[Any]:
    """The functions and classes of the project in an argument, and the names of the types by which each `defaultdict`
    makes its values: two of them are equal that make others."""
    waiting, seen, kinds, left = deque([argument]), dict[int, Any](), dict[type, _Kind](), _MOST
    while waiting and left > 0:
        value = waiting.popleft()
        if id(value) in seen:
            continue
        seen[id(value)] = value  # held, so that no other value gets its id meanwhile
        cls = type(value)
        kind = _CONTAINERS.get(cls) or kinds.get(cls)
        if kind is None:
            kind = kinds[cls] = _kind_of(cls)
            if kind.is_own:
                yield cls
        attributes = dict_of(value) if kind.has_dict else _NONE
        if (kind.may_be_code or "__wrapped__" in attributes) and _is_code(value):
            yield value
        parts = _parts(kind, value)
        if issubclass(cls, defaultdict):
            yield from _names_of_types(_factory(value))
        left -= 1 + len(parts)
        waiting.extend(_compound(parts))
        # Attributes cost nothing until they are come to: all objects in a list are before them.
        if kind.is_open:
            waiting.extend(_compound(_attributes(kind, value, attributes)))


_NONE: dict[str, Any] = {}


class _Kind(NamedTuple):
    """What the look at a value depends on that all of its class share.

    `is_own`: they are objects of the project's. `may_be_code`: all of them may, else those that say what they wrap.
    `is_open`: their attributes are looked at, those in `slots` too.
    """

    is_own: bool
    may_be_code: bool
    is_open: bool
    has_dict: bool
    slots: Slots
    parts: tuple[Callable[[Any], Collection[Any]], ...]


def _kind_of(cls: Any) -> _Kind:
    is_definition = issubclass(cls, FunctionType | type)
    is_ours = not is_definition and is_own(cls)
    may_be_code = issubclass(cls, _CODE) or _declared(cls, "__wrapped__") is not None
    is_open = is_ours or (not is_definition and _is_record(cls))
    has_dict = type(_declared(cls, "__dict__")) in (GetSetDescriptorType, MemberDescriptorType)
    slots = slots_of(cls) if is_open else ()
    return _Kind(is_ours, may_be_code, is_open, has_dict, slots, _parts_of(cls))


_CODE = (FunctionType, MethodType, staticmethod, classmethod, partial, type)

_RECORDS = ("__dataclass_fields__", "__attrs_attrs__", "__pydantic_fields__")


def _is_record(cls: type) -> bool:
    return (
        issubclass(cls, _OPEN)
        or is_struct(cls)
        or any(_declared(cls, mark) is not None for mark in _RECORDS)
        or any(base.__module__ == "argparse" for base in cls.__mro__)  # which takes long to import
    )


_OPEN = (SimpleNamespace, ChainMap, UserDict, UserList)


def _declared(cls: type, name: str) -> Any:
    """What a class, or one above it, has under a name: asking the class itself may run code of its metaclass."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def _is_code(value: Any) -> bool:
    """Whether a value is a function or class of the project's, or wraps one."""
    try:
        return is_project_code(value) or (issubclass(type(value), type) and is_own(value))
    except Exception:  # wrappers are anybody's
        return False


def _compound(values: Collection[Any]) -> Collection[Any]:
    """Those that may be code, or hold some."""
    return (
        () if _PLAIN.issuperset(map(type, values)) else [each for each in values if type(each) not in _PLAIN]
    )


# -- what a value is made of ------------------------------------------------------------------------


def _parts(kind: _Kind, value: Any) -> Collection[Any]:
    """The items of a container, and what else a value is made of besides its attributes."""
    try:
        if len(kind.parts) == 1:
            return kind.parts[0](value)
        return [each for parts in kind.parts for each in parts(value)]
    except Exception:  # it isn't what its class says
        return ()


def _attributes(kind: _Kind, value: Any, attributes: dict[str, Any]) -> Collection[Any]:
    """What an instance carries, in `__dict__` and in slots, but for what it only remembers."""
    cls = type(value)
    found = own(cls, attributes if type(attributes) is dict else dict.copy(attributes))
    held = own(cls, held_in(kind.slots, value)) if kind.slots else _NONE
    return [*found.values(), *held.values()]


def _of_mapping(value: Any) -> Collection[Any]:
    """The values of a dict, and its keys where these are more than texts and numbers."""
    keys = _compound([*dict.keys(value)])
    return [*keys, *dict.values(value)] if keys else [*dict.values(value)]


def _factory(value: Any) -> Collection[Any]:
    return (vars(defaultdict)["default_factory"].__get__(value),)


def _names_of_types(values: Collection[Any]) -> Iterator[str]:
    return (f"{each.__module__}.{each.__qualname__}" for each in values if type(each) is type)


def _of_partial(value: Any) -> Collection[Any]:
    return (value.func, *value.args, *value.keywords.values())


def _of_module(value: Any) -> Collection[Any]:
    """What a module of the project's defines: code that is given it may call any of it."""
    namespace = dict_of(value)
    name = namespace.get("__name__")
    if not (isinstance(name, str) and is_own_module(name)):
        return ()
    found = [each for each in [*namespace.values()] if issubclass(type(each), _CODE)]
    return [each for each in found if attribute(each, "__module__") == name]


def _of_array(value: Any) -> Collection[Any]:
    """The objects in an array of numpy's that is one of objects."""
    return value.flat[:_MOST].tolist() if value.dtype.kind == "O" else ()


_PARTS: dict[type, Callable[[Any], Collection[Any]]] = {
    list: lambda value: value if type(value) is list else [*list.__iter__(value)],
    tuple: lambda value: value if type(value) is tuple else [*tuple.__iter__(value)],
    set: lambda value: [*set.__iter__(value)],
    frozenset: lambda value: [*frozenset.__iter__(value)],
    deque: lambda value: [*deque.__iter__(value)],
    dict: _of_mapping,
    defaultdict: _factory,
    MappingProxyType: get_referents,  # asking the proxy would ask the mapping, which may be anybody's
    MethodType: lambda value: (value.__self__,),
    partial: _of_partial,
    ModuleType: _of_module,
    **dict.fromkeys((type({}.keys()), type({}.values()), type({}.items())), list),
}
"""By the base: what its instances are made of. The bases' own methods are asked, past all that a class overrides."""


def _parts_of(cls: type) -> tuple[Callable[[Any], Collection[Any]], ...]:
    if cls.__module__ == "numpy" and cls.__name__ == "ndarray":
        return (_of_array,)
    if cls.__module__ in TYPING:
        return (parts_of,)
    return tuple(parts for base, parts in _PARTS.items() if issubclass(cls, base))


_CONTAINERS = {cls: _kind_of(cls) for cls in _PARTS if not issubclass(cls, _CODE)}
"""The kinds of Python's own containers, found once."""


# -- the code ----------------------------------------------------------------------------------------


def _digest(definition: Any) -> str:
    """By the very object: of what compares equal, or can't be compared, each has code of its own."""
    key = id(definition)
    known = _known.get(key)
    if known is None or known[0]() is not definition or not known[1].hold:
        found = Dependencies(definition)
        with suppress(TypeError):  # nothing can know when it is gone
            _known[key] = (ref(definition, lambda _: _known.pop(key, None)), found)
        return found.digest
    return known[1].digest
