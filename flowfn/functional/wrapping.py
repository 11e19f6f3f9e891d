"""What a decorated function becomes: a wrapper that has its name and signature, and can be copied and shipped.

Rule: a wrapper is called by its own `__call__`, never by wrapt's; it goes to another process as a reference to where it
is, or as the parts that it is rebuilt of.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import deepcopy
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import wrapt

from flowfn.context import current_frame
from flowfn.definition import Definition, define
from flowfn.identity.made_with.together import join
from flowfn.options import attribute_here
from flowfn.python.project import note_project
from flowfn.python.script import MAIN

P = ParamSpec("P")
R = TypeVar("R")

if TYPE_CHECKING:

    class Wrapper(Generic[P, R]):
        __wrapped__: Callable[P, Any]

        def __init__(self, wrapped: Any, wrapper: Any) -> None: ...

    class BoundWrapper(Wrapper[P, R]):
        _self_parent: Any
        _self_instance: Any
else:

    class _Generic:
        __slots__ = ()  # or a task would not have its function's attributes, by which `functools.wraps` goes

        def __class_getitem__(cls, item):
            return cls

    @lru_cache(256)
    def _here(kind, asked):
        public = [name for name in dir(kind) if not name.startswith("_")]
        return attribute_here(kind.__flowfn__, asked, public)

    def _attribute(wrapper, asked):
        """An attribute of the function; one that it lacks, and other libraries have, or that is misspelt, is refused
        with what is here. Private ones are what others look for, and don't miss."""
        try:
            return wrapt.ObjectProxy.__getattr__(wrapper, asked)
        except AttributeError:
            if asked.startswith("_") or not (here := _here(type(wrapper), asked)):
                raise
        name = wrapper._self_definition.name
        said = f"{wrapper.__flowfn__} {name!r} has no attribute {asked!r}: write {here.format(name=name)}"
        raise AttributeError(said, name=asked, obj=wrapper)

    def _names(wrapper):
        """What completion and mocks go by: the names of a task or a workflow, and of its function."""
        return {name for name in dir(type(wrapper)) if not name.startswith("_self_")}.union(
            dir(wrapper.__wrapped__)
        )

    class Wrapper(wrapt.FunctionWrapper, _Generic):
        __getattr__ = _attribute
        __dir__ = _names

        def __copy__(self):
            return self  # as functions do

        def __deepcopy__(self, memo):
            return self

    class BoundWrapper(wrapt.BoundFunctionWrapper, _Generic):
        __getattr__ = _attribute
        __dir__ = _names

        def __copy__(self):
            return self

        def __deepcopy__(self, memo):
            if self._self_instance is None:
                return self
            owner = deepcopy(self._self_instance, memo)
            return self._self_parent.__get__(owner, type(owner))


def unused(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """What wrapt would call."""
    raise AssertionError("a wrapper is called through its own __call__")


def defined(function: Any, **options: Any) -> Definition:
    """A function's definition, ready to be called. One that is made inside a run is made anew on each attempt: what it
    captured counts like arguments of its calls."""
    note_project(function)
    definition = define(function, **options)
    if current_frame.get() is None:
        made = join(definition.qualified, function, definition.made_with)
        definition = definition.with_options(made=made)
    elif definition.made_with:
        definition = definition.with_options(held={**definition.made_with, **definition.held})
    return runnable(definition, function)


def runnable(definition: Definition, function: Any) -> Definition:
    """The definition of `function`, or of what calls it: to collect a generator's items, or in a transaction."""
    called = function
    if definition.is_generator:
        from flowfn.functional.generators import collecting

        called = collecting(called)
    if definition.transaction is not None:
        from flowfn.functional.transacting import transacting

        called = transacting(called, definition.transaction, definition.name, definition.is_async)
    return definition.with_options(function=called, stands_for=None if called is function else function)


def plain(function: Any) -> Any:
    """The function inside a `staticmethod` or `classmethod`, or itself."""
    return function.__func__ if isinstance(function, staticmethod | classmethod) else function


def is_class_method(wrapper: Any, owner: type) -> bool:
    """Whether a class has the wrapper inside a `classmethod`, which since Python 3.13 passes the class as an argument
    instead of binding what is inside it."""
    held = (each for base in owner.__mro__ for each in vars(base).values())
    return any(isinstance(each, classmethod) and each.__func__ is wrapper for each in held)


def undecorated(function: Any) -> Any:
    """The plain function that is to be decorated.

    Raises:
        TypeError: it is a task, whose calls give futures, which are no results.
    """
    found = plain(function)
    called = found.func if isinstance(found, partial) else found
    if getattr(type(called), "__flowfn__", None) == "task":
        raise TypeError(
            f"{called!r} is a task already: for other options write {called.__name__}.with_options(timeout=5), and to "
            f"decorate its function, {called.__name__}.func"
        )
    return found


# -- shipping and copying -------------------------------------------------------------------------


def reference(wrapper: Any, kind: type, *parts: Any) -> tuple[Any, ...]:
    """How to find or rebuild a wrapper elsewhere: by its name where that leads back to it, else by parts.

    Without this, cloudpickle would ship the bare function and drop retries and durability without a word. What a
    script defines is found by name where its functions are: in the processes of a pool, which have run it as well.
    """
    function = plain(wrapper.__wrapped__)
    module, qualname = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if module in MAIN:
        module = None if _ships_scripts() else MAIN[0]
    if module and qualname and _at(module, qualname) is wrapper:
        return (None, module, qualname)
    return (kind, *parts)


_SHIP_SCRIPTS = ("cloudpickle", "dill")
"""Picklers that send what a script defines as code, to who hasn't run it; other libraries bring copies of them."""


def _ships_scripts() -> bool:
    """Whether one of them is at work; an object isn't told which pickler asks how to pickle it."""
    frame: Any = sys._getframe()
    while frame is not None:
        if not {*str(frame.f_globals.get("__name__")).split(".")}.isdisjoint(_SHIP_SCRIPTS):
            return True
        frame = frame.f_back
    return False


def rebuild(kind: Any, *parts: Any) -> Any:
    """The inverse of `reference`."""
    if kind is None:
        import importlib

        module, qualname = parts
        importlib.import_module(module)
        return _at(module, qualname)
    return kind(*parts)


def _at(module: str, qualname: str) -> Any:
    found: Any = sys.modules.get(module)
    for name in qualname.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return found.__func__ if isinstance(found, staticmethod) else found
