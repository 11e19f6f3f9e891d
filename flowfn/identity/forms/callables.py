"""The forms of functions, methods, classes and modules.

Rule: they count by name, and so stay the same value when their code is edited. Where functions share a name (lambdas,
and functions made in functions), their code and what they were made with tell them apart. One that goes by a name that
leads elsewhere (a decorator's, one that was named by hand) counts by what made it and what it was made with as well; a
library's by what that was given from outside alone, as the next version may have other code, and other attributes.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from functools import partial
from logging import Logger
from typing import TYPE_CHECKING, Any

from flowfn.identity.code.compiled import assigned_around
from flowfn.identity.code.functions import goes_by_its_name
from flowfn.identity.code.marked import attributes_of_function
from flowfn.identity.code.unwrapping import content_of
from flowfn.identity.constant import is_constant
from flowfn.identity.forms.leaves import LEAVES
from flowfn.identity.forms.notation import Field, Form, tagged
from flowfn.identity.made_with.captured import class_made_with
from flowfn.identity.made_with.states import states_of
from flowfn.identity.names import ALIAS, has_its_name, name_of_code, named, qualified_name
from flowfn.python.project import is_own
from flowfn.python.script import namespace_of

if TYPE_CHECKING:
    from flowfn.identity.forms.canonical import Walk

__all__ = ["CALLABLES", "by_name", "called_form", "wrapper_form", "wraps_a_function"]


def by_name(walk: Walk, value: Any) -> Any:
    """What has a name of its own, and is the same under it: a class, a module, a function of a module."""
    return tagged("name", qualified_name(value))


def class_form(walk: Walk, value: type) -> Any:
    """A class, by name; one that a function made, by what it was made with as well."""
    made = class_made_with(value).all
    return tagged("class", qualified_name(value), walk.mapping(made)) if made else by_name(walk, value)


def _partial(walk: Walk, value: partial[Any]) -> Any:
    parts = (value.func, value.args, value.keywords)
    steps = (Field(".func"), Field(".args"), Field(".keywords"))
    return tagged("partial", *map(walk.walk, parts, steps))


def _method(walk: Walk, value: Any) -> Any:
    return tagged("method", _bound(walk, value), walk.walk(value.__self__, Field(".__self__")))


def _bound(walk: Walk, method: Any) -> Any:
    """The function of a method: by name, and the name by which its class has it, where that is another one; one that
    no class has, and that was bound to its object by hand, as a function."""
    function, owner = method.__func__, method.__self__
    name = qualified_name(function)
    if type(function) is not types.FunctionType or walk.is_in(function) or goes_by_its_name(function):
        return name
    bases = (owner if isinstance(owner, type) else type(owner)).__mro__
    held_as = {held for base in bases for held, each in vars(base).items() if _inside(each) is function}
    if function.__name__ in held_as:
        return name
    return tagged("held", name, min(held_as)) if held_as else _function(walk, function)


def _inside(held: Any) -> Any:
    """What a class has under a name, without a descriptor around it; nothing else of it is looked at."""
    return held.__func__ if type(held) in (classmethod, staticmethod) else held


def _builtin(walk: Walk, value: Any) -> Any:
    """A built-in function or method: of a module, or bound to a value."""
    if _is_of_a_module(value):
        return by_name(walk, value)
    return tagged("builtin", value.__qualname__, walk.walk(value.__self__, Field(".__self__")))


def _is_of_a_module(builtin: Any) -> bool:
    return builtin.__self__ is None or isinstance(builtin.__self__, types.ModuleType)


def _function(walk: Walk, value: types.FunctionType) -> Any:
    """By name; local functions and lambdas, which share names, also by code and closure."""
    if "<" not in value.__qualname__:
        return _named_function(walk, value)
    captured = [_constant(walk, content_of(cell)) for cell in value.__closure__ or ()]
    return tagged("function", qualified_name(value), _code(value), captured, *_given(walk, value))


def _code(function: types.FunctionType) -> str:
    from flowfn.identity.code.fingerprint import fingerprint

    code = fingerprint(function)
    return code.source or code.digest


def _given(walk: Walk, function: types.FunctionType) -> list[Any]:
    """The defaults and attributes that a function was given, and has from no other; nothing where there are none."""
    positional = [_constant(walk, each) for each in function.__defaults__ or ()]
    named = {name: _constant(walk, each) for name, each in (function.__kwdefaults__ or {}).items()}
    attributes = {name: _constant(walk, each) for name, each in _attributes(function)}
    more = [attributes] if attributes else []
    return [[positional, named, *more]] if positional or named or attributes else []


def _attributes(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The attributes of a function without those that `functools.wraps` copied from the one that it is around."""
    wrapped = vars(function).get("__wrapped__")
    copied = vars(wrapped) if type(wrapped) is types.FunctionType else {}
    for name, value in attributes_of_function(function):
        if name[1:] not in copied or copied[name[1:]] is not value:
            yield name, value


def _named_function(walk: Walk, value: types.FunctionType) -> Any:
    """By name; where that leads elsewhere, by what is inside it, the code that it has and what it was given, too."""
    wrapped = vars(value).get("__wrapped__", value)
    if type(wrapped) is types.FunctionType and goes_by_its_name(value):
        return by_name(walk, value)
    is_itself = wrapped is value or walk.is_in(wrapped)
    inner = by_name(walk, value) if is_itself else walk.walk(wrapped, Field(".__wrapped__"))
    if is_own(value):
        told = [*_made_by(value), *_held(walk, value, wrapped), *_given(walk, value)]
    else:
        told = _handed_to_library(walk, value, wrapped)
    return inner if is_itself and not told else tagged("around", inner, *told)


def _made_by(function: types.FunctionType) -> list[str]:
    """Whose code a function has: the name that the code was written under, if it isn't called that; or the code itself,
    where others were written under it."""
    written_as = name_of_code(function)
    if written_as != qualified_name(function):
        return [written_as]
    return [_code(function)] if _shares_its_name(function) else []


def _shares_its_name(function: types.FunctionType) -> bool:
    """Whether others were written under a name that doesn't lead to it: a later one, or, if its module has nothing of
    the name, who knows. One that came along by value has no module here."""
    later = named(function.__module__, function.__qualname__)
    if later is None:
        return function.__globals__ is namespace_of(function.__module__)
    return type(later) is types.FunctionType and name_of_code(later) == name_of_code(function)


def _held(walk: Walk, function: types.FunctionType, wrapped: Any) -> list[Any]:
    """What a function captured beside what it is around. A variable that it sets itself is its state, and nothing that
    it was given: it counts as something of which only the type is known."""
    own = assigned_around(function.__code__)
    given = _captured_beside(function, wrapped)
    return [walk.by_type(function) if name in own else _constant(walk, value) for name, value in given]


def _handed_to_library(walk: Walk, function: types.FunctionType, wrapped: Any) -> list[Any]:
    """What a library's function captured that tells it from others: of an object of a library's class that has no value
    nothing does, and makes the walk weak."""
    states, told = assigned_around(function.__code__), list[Any]()
    for name, value in _captured_beside(function, wrapped):
        if name in states:
            walk.by_type(function)
        if name in states or value is function:
            continue
        weak, walk.weak = walk.weak, ""
        form = _constant(walk, value)
        if not walk.weak or type(value) in CALLABLES or is_own(type(value)):
            told.append(form)
        walk.weak = walk.weak or weak
    return told


def _captured_beside(function: types.FunctionType, wrapped: Any) -> list[tuple[str, Any]]:
    """What a function captured without what it is around, locks, which decide only when it runs, and what it keeps in
    what began empty, as a memo does: neither tells it from others."""
    values = map(content_of, function.__closure__ or ())
    captured, states = zip(function.__code__.co_freevars, values, strict=True), states_of(function)
    return [
        (name, value)
        for name, value in captured
        if name not in states and value is not wrapped and not _is_a_lock(value)
    ]


def _is_a_lock(value: Any) -> bool:
    return type(value).__module__ in _OF_LOCKS and type(value).__name__ in _LOCKS


_OF_LOCKS = frozenset({"_thread", "threading", "asyncio.locks", "multiprocessing.synchronize"})
_LOCKS = frozenset({"lock", "Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore"})


def _constant(walk: Walk, value: Any) -> Any:
    """A constant that a function was made with; what can change under it counts by type and what it was given."""
    kind = type(value)
    if kind in LEAVES or (kind is types.FunctionType and not walk.is_in(value)):
        return walk.walk(value, Field("()"))
    if isinstance(value, type) and class_made_with(value).all:
        return class_form(walk, value)
    if isinstance(value, types.FunctionType | type) or walk.is_in(value):  # one that calls itself, by name
        return qualified_name(value)
    if kind is types.MethodType:
        return tagged("method", _bound(walk, value), _constant(walk, value.__self__))
    if kind is partial:
        named = {name: _constant(walk, each) for name, each in value.keywords.items()}
        return tagged("partial", *(_constant(walk, each) for each in (value.func, *value.args)), named)
    if CALLABLES.get(kind) is _builtin and not _is_of_a_module(value):
        return tagged("builtin", value.__qualname__, _constant(walk, value.__self__))
    if wraps_a_function(kind) and not walk.is_in(wrapped := getattr(value, "__wrapped__", value)):
        is_bound = wrapped is not value and type(wrapped) is not types.FunctionType
        return _constant(walk, wrapped) if is_bound else walk.walk(value, Field("()"))
    if is_constant(value) or _stays_under_its_name(value):
        return walk.walk(value, Field("()"))
    return walk.by_type(value, is_part=True)


def _stays_under_its_name(value: Any) -> bool:
    """Whether it is what its name says, whoever holds it: a module, a logger, what a module has that can be called."""
    return (
        CALLABLES.get(type(value)) in (by_name, _builtin)
        or isinstance(value, Logger)
        or (callable(value) and has_its_name(value))
    )


def wraps_a_function(cls: type) -> bool:
    """Whether instances stand for a function, and have its name."""
    return hasattr(cls, "__wrapped__") or hasattr(cls, "cache_info")


def wrapper_form(walk: Walk, value: Any) -> Any:
    """What wraps a function, as the function: one that shares its name counts by its code and closure as well, and a
    method, or an object that can be called, by the object."""
    function = getattr(value, "__wrapped__", None)
    if type(function) is types.FunctionType:
        return _function(walk, function)
    return by_name(walk, value) if function is None else walk.walk(function, Field(".__wrapped__"))


def called_form(walk: Walk, value: Any) -> Any:
    """What is no function and can be called: by the name under which its module has it, as numpy's functions and
    typing's forms. What can't, or has no such name, by its type."""
    return by_name(walk, value) if callable(value) and has_its_name(value) else walk.by_type(value)


CALLABLES: dict[type, Form] = {
    partial: _partial,
    types.FunctionType: _function,
    types.MethodType: _method,
    types.BuiltinFunctionType: _builtin,
    types.MethodWrapperType: _builtin,
    types.WrapperDescriptorType: by_name,
    types.MethodDescriptorType: by_name,
    types.ClassMethodDescriptorType: by_name,
    types.ModuleType: by_name,
    **({ALIAS: by_name} if ALIAS else {}),
}
"""By the exact type."""
