"""What outlives a run, of all that a workflow's functions can reach, in a form that compares.

Rule: looking changes nothing, and never fails: what can't be looked at is told by which object it is. What an object
only remembers, and what Python or a library notes in a class, is nobody's state.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from flowfn.identity.code.unwrapping import attribute, content_of
from flowfn.identity.forms.attributes import attributes_of

if TYPE_CHECKING:
    from flowfn.invocation import Setup

__all__ = ["OURS", "bodies_of", "is_users", "state_of"]

_TOO_MUCH = 5000
"""How many objects are compared, at most; of more, none is."""

_LIBRARIES = tuple(
    os.path.realpath(sysconfig.get_paths()[name]) + os.sep
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_FLOWFN = os.path.realpath(os.path.dirname(os.path.dirname(__file__))) + os.sep
_BESIDE = os.path.dirname(os.path.dirname(_FLOWFN))

OURS = (_FLOWFN, *(os.path.join(_BESIDE, name) + os.sep for name in ("checkpointers", "graph_compat")))
"""Where flowfn's own files are."""


def is_users(code: CodeType) -> bool:
    """Whether code is the user's: neither a library's nor flowfn's."""
    return not code.co_filename.startswith(("<frozen", *_LIBRARIES, *OURS))


def bodies_of(setup: Setup) -> list[Any]:
    """The functions of a workflow's nodes: of an entrypoint the one, of a graph all, those of its subgraphs too."""
    found: list[Any] = []
    for name, node in setup.program.nodes.items():
        inner = setup.part(name)
        found += [getattr(node.run, "author_function", node.run)] if inner is None else bodies_of(inner)
    return found


def state_of(functions: Iterable[Any]) -> Any:
    """What functions can reach of what outlives them; None if it is too much to compare."""
    reached, shaped, left = set[int](), set[int](), [_TOO_MUCH]
    try:
        return [_shape(thing, shaped, left) for each in functions for thing in _reached(each, reached)]
    except _TooMuch:
        return None


class _TooMuch(Exception):
    pass


# -- what functions reach -----------------------------------------------------------------------------


def _reached(thing: Any, seen: set[int]) -> Iterator[Any]:
    """The data that a function, or what it calls by name, has in its closure or globals."""
    found = thing if attribute(thing, "__flowfn__") is None else attribute(thing, "func")
    if type(found) is MethodType:
        yield from _reached(found.__self__, seen)
        found = found.__func__
    wrapped = attribute(found, "__wrapped__")
    found = found if wrapped is None else wrapped
    if id(found) in seen:
        return
    seen.add(id(found))
    parts = next((parts for kind, parts in _PARTS.items() if issubclass(type(found), kind)), None)
    if parts is None:
        yield found
        return
    for part in parts(found):
        yield from _reached(part, seen)


def _of_function(function: FunctionType) -> Iterator[Any]:
    if not is_users(function.__code__):
        return
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield function.__globals__[name]
    yield from map(content_of, function.__closure__ or ())


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _names(const)


def _of_class(cls: type) -> Iterator[Any]:
    """The members of the user's class; of those with names of Python's kind, which libraries use too, the methods."""
    if _is_users_module(cls.__module__):
        for name, member in [*vars(cls).items()]:
            if not (name.startswith("__") and name.endswith("__")) or type(member) in _METHODS:
                yield member


_METHODS = (FunctionType, staticmethod, classmethod)


def _of_module(module: ModuleType) -> Iterator[Any]:
    if _is_users_module(module.__name__):
        yield from [*vars(module).values()]


_PARTS: dict[type, Callable[[Any], Iterator[Any]]] = {
    FunctionType: _of_function,
    type: _of_class,
    ModuleType: _of_module,
}


def _is_users_module(name: str) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is not None and not os.path.realpath(file).startswith((*_LIBRARIES, *OURS))


# -- how it compares ----------------------------------------------------------------------------------


def _shape(thing: Any, seen: set[int], left: list[int]) -> Any:
    """A value as something that compares: containers and the user's own objects by what is in them."""
    left[0] -= 1
    if left[0] < 0:
        raise _TooMuch
    cls = type(thing)
    if thing is None or issubclass(cls, int | float | str | bytes):
        return thing
    if id(thing) in seen:
        return id(thing)
    seen.add(id(thing))
    try:
        return _inside(thing, cls, lambda part: _shape(part, seen, left))
    except _TooMuch:
        raise
    except Exception:  # a mapping, or an attribute, may be anybody's code
        return id(thing)


def _inside(thing: Any, cls: type, shape: Callable[[Any], Any]) -> Any:
    if issubclass(cls, bytearray):
        return bytes(thing)
    if issubclass(cls, list | tuple | deque):
        return [cls.__name__, *map(shape, [*thing])]
    if issubclass(cls, set | frozenset):
        return sorted(str(shape(item)) for item in [*thing])
    if issubclass(cls, Mapping):
        return [(shape(key), shape(value)) for key, value in [*thing.items()]]
    if _is_users_module(cls.__module__) and attribute(thing, "__flowfn__") is None:
        return [(name, shape(value)) for name, value in attributes_of(thing).items()]
    return id(thing)
