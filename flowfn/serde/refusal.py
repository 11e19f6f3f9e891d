"""What to tell the author of a value that cannot be stored: where in it, why, and what to write instead.

Rule: slow is fine here; it only runs when storing has failed already.
"""

from __future__ import annotations

import reprlib
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Future
from enum import Enum
from functools import partial
from io import IOBase
from types import (
    BuiltinFunctionType,
    CoroutineType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any, NamedTuple

from flowfn.python.plain import PLAIN
from flowfn.python.project import is_own
from flowfn.serde import frames
from flowfn.serde.names import made_by_code
from flowfn.serde.objects.kinds import is_plain, not_plain, solid_base
from flowfn.serde.objects.state import state_of

_FLAT = "Store a flat form, such as a list of rows that refer to each other by id"
TOO_DEEP = (
    f"it is nested deeper than flowfn stores: 254 lists, or 127 dataclasses, inside each other. {_FLAT}"
)
CYCLE = f"it contains itself. {_FLAT}"
_SCALARS = (str, int, float, bool, bytes, type(None))

_REMEDIES: tuple[tuple[tuple[type, ...], str], ...] = (
    (
        (FunctionType, BuiltinFunctionType, MethodType, partial),
        "code is never stored. Store a name, and look the function up by it",
    ),
    ((type,), "classes are never stored. Store its name, and look the class up by it"),
    ((Future,), "it stands for a value. Store that: its .result(), or what awaiting it gives"),
    ((CoroutineType,), "it has not run yet. Await it, and store its result"),
    ((IOBase,), "it belongs to this process. Store its path or its content"),
    ((ModuleType,), "modules are never stored. Store its name"),
    ((memoryview,), "it is a window on memory that somebody else owns. Store bytes(view)"),
)


_OF_FLOWFN = {
    "task": "it is code, and no result. Call it, and store what that comes to: .result(), or what awaiting it gives",
    "workflow": "it is code, and no result. Call it, and store what it returns",
    "gathered": "it stands for values. Store those: its .result(), or what awaiting it gives",
}
"""Of what flowfn makes, by its class's `__flowfn__`."""

_OF_THE_PROCESS = frozenset(
    ("_thread", "threading", "asyncio", "_asyncio", "socket", "_socket", "sqlite3", "contextvars")
)
"""Modules of which nothing outlives the process."""

_MOCKS = "unittest.mock"


def name_of(cls: type) -> str:
    """The name of a class as an author would write it."""
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def remedy(cls: type, *, holds_more: bool = False) -> str:
    """Why an instance of `cls` cannot be stored, and what to do about it.

    `holds_more`: of a library's object, that what it holds can't be stored either.
    """
    module = _package(cls)
    if (known := _known_remedy(cls)) is not None:
        return known
    if holds_more:
        return (
            f"flowfn cannot restore what {module} keeps in it. Store what you need of it, such as a "
            "dict, a list or the path of a file, or make it inside the task that needs it"
        )
    if not is_plain(cls):
        return not_plain(cls)
    register = f"flowfn.serde.allow({cls.__qualname__.rpartition('.')[2]})"
    if _is_old_model(cls):
        return f"it is a model of pydantic.v1. Derive its class from pydantic.BaseModel, or register it: {register}"
    unknown = "flowfn does not know how to restore it"
    if (base := solid_base(cls)) in PLAIN:
        return f"{unknown}. Store {base.__name__}(value), or register it: {register}"
    if not is_own(cls) and "<locals>" in cls.__qualname__:
        return (
            f"{module} makes its class inside a function, where nobody finds it who restores it. Store what you need "
            "of it, such as str(value) of a text that is translated when it is shown"
        )
    if not is_own(cls):
        return f"{unknown}. Register it, if its attributes are all of it: {register}"
    return f"{unknown}. Make {cls.__qualname__} a dataclass or a pydantic model, or register it: {register}"


def _known_remedy(cls: type) -> str | None:
    """What to write instead of an instance that is told by what its class is; None of any other class."""
    for classes, text in _REMEDIES:
        if issubclass(cls, classes):
            return text
    if (made := getattr(cls, "__flowfn__", None)) in _OF_FLOWFN:
        return _OF_FLOWFN[made]
    if _package(cls) in _OF_THE_PROCESS:
        return "it belongs to this process. Make it inside the task that needs it"
    if cls.__module__ == _MOCKS:
        return "a mock is no data. Set return_value= to what the real one returns"
    if issubclass(cls, Iterator | AsyncIterator):
        return "it can be read only once. Make it a list"
    if _package(cls) == "pandas":
        return (
            "flowfn stores pandas' own frames, series and indexes. Convert it to one, or store to_parquet()"
        )
    return None


def _package(cls: type) -> str:
    """Where a class is from: the first part of its module's name."""
    return cls.__module__.partition(".")[0]


def _is_old_model(cls: type) -> bool:
    base = getattr(sys.modules.get("pydantic.v1.main"), "BaseModel", None)
    return base is not None and issubclass(cls, base)


def unfindable(cls: type) -> str:
    """Why a class that could be stored would not be found again."""
    if "<locals>" in cls.__qualname__:
        return (
            "its class is made inside a function, and another process would not find it. Move "
            f"{cls.__name__} to the top of its module, or register it: flowfn.serde.allow({cls.__name__})"
        )
    if made_by_code(cls):
        return (
            f"{cls.__name__} is made by whoever asks for it, and another process would not find it. Give it a name of "
            f"its own, as in class Named({cls.__name__}): ..., or register it: flowfn.serde.allow({cls.__name__})"
        )
    if cls.__module__ not in sys.modules:
        return (
            f"the module of its class, {cls.__module__}, is not in sys.modules, where it is looked for. Import it, "
            f"or say sys.modules[{cls.__module__!r}] = module before exec_module(module), or register the class: "
            f"flowfn.serde.allow({cls.__name__})"
        )
    return (
        f"{name_of(cls)} is not this class but another, or nothing. Store an instance of the class of that "
        f"name, or register this one: flowfn.serde.allow({cls.__name__})"
    )


class Culprit(NamedTuple):
    """The innermost part that can't be stored, of those that its author made: the path to it, and itself.

    `holds_more` where it is a library's object, of which something within can't be stored.
    """

    path: str
    part: Any
    holds_more: bool = False


def locate(value: Any, storable: Callable[[Any], bool], known: Callable[[type], bool]) -> Culprit:
    """Where to look for why a value can't be stored. `known`: of which classes instances can be."""
    path, met = "", set[int]()
    while not (_is_one(value) or id(value) in met):  # what holds itself is told where it comes back
        met.add(id(value))
        found = next(((step, part) for step, part in _parts(value) if not storable(part)), None)
        if found is None:
            break
        if not (known(type(value)) or is_own(type(value))):
            return Culprit(path, value, holds_more=True)
        path, value = path + found[0], found[1]
    return Culprit(path, value)


def _is_one(value: Any) -> bool:
    """Who forgot to wait for a future, or to say what a mock returns, needn't know what it is made of."""
    return isinstance(value, Future) or type(value).__module__ == _MOCKS


def cycle(value: Any) -> str | None:
    """The path to the first part that is one of those around it, or None if there is none."""
    around, known = {id(value)}, {id(value)}
    walk = [("", value, _parts(value))]
    while walk:
        _, holder, parts = walk[-1]
        step, part = next(parts, ("", None))
        if not step:
            around.discard(id(holder))
            walk.pop()
        elif id(part) in around:
            return "".join(frame[0] for frame in walk) + step
        elif id(part) not in known and type(part) not in _SCALARS:
            around.add(id(part))
            known.add(id(part))
            walk.append((step, part, _parts(part)))
    return None


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Enum):  # stored by its name, whatever it holds
        return
    if _package(type(value)) == "pandas":
        yield from frames.parts(value)
        return
    if isinstance(value, dict):
        for key, item in value.items():
            yield f'["{key}"]' if type(key) is str else f"[{_short(key)}]", item
            yield f".key({_short(key)})", key
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from ((f".{name}", item) for name, item in zip(value._fields, value, strict=False))
    elif isinstance(value, list | tuple | deque):
        yield from ((f"[{index}]", item) for index, item in enumerate(value))
    elif isinstance(value, set | frozenset):
        yield from ((f".item({_short(item)})", item) for item in value)
    if not isinstance(value, type | ModuleType):
        yield from ((f".{name}", item) for name, item in _attributes(value).items())


def _short(value: Any) -> str:
    try:
        return reprlib.repr(value)
    except Exception:  # a `__repr__` of the author's, or a number that Python doesn't write
        return f"<{type(value).__name__}>"


def _attributes(value: Any) -> dict[str, Any]:
    state = state_of(value)
    found = dict(state) if isinstance(state, Mapping) else {}
    for extension in ("__pydantic_extra__", "__pydantic_private__"):
        found |= found.pop(extension, None) or {}
    if isinstance(inner := found.pop("__dict__", None), dict):
        found |= inner
    return found
