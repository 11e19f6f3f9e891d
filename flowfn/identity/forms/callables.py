"""The forms of functions, methods, classes and modules.

Rule: they count by name, and so stay the same value when their code is edited. Where functions share a name (lambdas,
and functions made in functions), their code and what they were made with tell them apart.
"""

from __future__ import annotations

import types
from functools import partial
from typing import TYPE_CHECKING, Any

from flowfn.identity.code.functions import attributes_of_function
from flowfn.identity.code.unwrapping import definition_of, layers_of
from flowfn.identity.constant import is_constant
from flowfn.identity.forms.leaves import LEAVES
from flowfn.identity.forms.notation import Field, Form, tagged
from flowfn.identity.made_with.captured import class_made_with
from flowfn.identity.names import ALIAS, has_its_name, named, qualified_name

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
    """The function of a method: by name, but for a local one that was bound to its object by hand."""
    function, owner = method.__func__, method.__self__
    bases = (owner if isinstance(owner, type) else type(owner)).__mro__
    if type(function) is not types.FunctionType or walk.is_in(function) or "<" not in function.__qualname__:
        return qualified_name(function)
    at_home = any(function is _inside(held) for base in bases for held in vars(base).values())
    return qualified_name(function) if at_home else _function(walk, function)


def _inside(held: Any) -> Any:
    """What a class has under a name, without a descriptor around it; nothing else of it is looked at."""
    return held.__func__ if type(held) in (classmethod, staticmethod) else held


def _builtin(walk: Walk, value: Any) -> Any:
    """A built-in function or method: of a module, or bound to a value."""
    owner = value.__self__
    if owner is None or isinstance(owner, types.ModuleType):
        return by_name(walk, value)
    return tagged("builtin", value.__qualname__, walk.walk(owner, Field(".__self__")))


def _function(walk: Walk, value: types.FunctionType) -> Any:
    """By name; local functions and lambdas, which share names, also by code and closure."""
    if "<" not in value.__qualname__:
        return _named_function(walk, value)
    from flowfn.identity.code.fingerprint import fingerprint

    captured = [_captured(walk, cell) for cell in value.__closure__ or ()]
    positional = [_constant(walk, each) for each in value.__defaults__ or ()]
    named = {name: _constant(walk, each) for name, each in (value.__kwdefaults__ or {}).items()}
    attributes = {name: _constant(walk, each) for name, each in attributes_of_function(value)}
    more = [attributes] if attributes else []
    defaults = [[positional, named, *more]] if positional or named or attributes else []
    code = fingerprint(value)
    return tagged("function", qualified_name(value), code.source or code.digest, captured, *defaults)


def _named_function(walk: Walk, value: types.FunctionType) -> Any:
    """By name; what a decorator put around a method or an object, and gave its name, by that, and what shares the name
    of another function by what the decorator was given, where that is told from others of its type."""
    wrapped = vars(value).get("__wrapped__", value)
    is_around = type(wrapped) is not types.FunctionType and not walk.is_in(wrapped)
    cells = [cell for cell in value.__closure__ or () if not _holds(cell, wrapped)]
    if not is_around and (not cells or _has_its_name(value)):
        return by_name(walk, value)
    inner = walk.walk(wrapped, Field(".__wrapped__")) if is_around else by_name(walk, value)
    given = []
    for cell in cells:
        weak, form = walk.weak, _captured(walk, cell)
        given += [form] if walk.weak == weak else []
        walk.weak = weak
    return tagged("around", inner, *given) if is_around or given else inner


def _has_its_name(function: types.FunctionType) -> bool:
    """Whether its name leads to nothing but it and what is around it: nowhere, where it came along by value."""
    found = named(function.__module__, function.__qualname__)
    return found is None or any(each is function for each in (found, *layers_of(definition_of(found))))


def _holds(cell: types.CellType, value: Any) -> bool:
    try:
        return cell.cell_contents is value
    except ValueError:  # not assigned yet
        return False


def _captured(walk: Walk, cell: types.CellType) -> Any:
    """What a closure holds."""
    try:
        value = cell.cell_contents
    except ValueError:  # not assigned yet
        return None
    return _constant(walk, value)


def _constant(walk: Walk, value: Any) -> Any:
    """A constant that a local function was made with; what can change under it counts by type and what it was given."""
    if type(value) in LEAVES or (type(value) is types.FunctionType and not walk.is_in(value)):
        return walk.walk(value, Field("()"))
    kind = type(value)
    if isinstance(value, type) and class_made_with(value).all:
        return class_form(walk, value)
    if isinstance(value, types.FunctionType | type) or walk.is_in(value):  # one that calls itself, by name
        return qualified_name(value)
    if kind is types.MethodType:
        return tagged("method", _bound(walk, value), _constant(walk, value.__self__))
    if kind is partial:
        named = {name: _constant(walk, each) for name, each in value.keywords.items()}
        return tagged("partial", *(_constant(walk, each) for each in (value.func, *value.args)), named)
    if wraps_a_function(kind) and not walk.is_in(wrapped := getattr(value, "__wrapped__", value)):
        is_bound = wrapped is not value and type(wrapped) is not types.FunctionType
        return _constant(walk, wrapped) if is_bound else walk.walk(value, Field("()"))
    if is_constant(value):
        return walk.walk(value, Field("()"))
    return walk.by_type(value, is_part=True)


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
