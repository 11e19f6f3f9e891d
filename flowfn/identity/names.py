"""What a function, class or module is called, in every process alike.

Rule: a script's module has one name, whether it is started or imported (`flowfn/python/script.py`). A generic model
that was given its types has the name by which it is stored.
"""

from __future__ import annotations

import re
import sys
import typing
from types import FunctionType
from typing import Any

from flowfn.python.parametrised import full_name, origin_of
from flowfn.python.published import published
from flowfn.python.script import MAIN, learn_from, named_in, namespace_of, script_name

__all__ = ["ALIAS", "has_its_name", "module_name", "name_of_code", "named", "qualified_name"]

ALIAS: Any = getattr(typing, "TypeAliasType", ())
"""What a `type` statement makes, since Python 3.12."""

_INLINED = re.compile(r"<(?:list|set|dict)comp>\.")
"""What Python before 3.12 has in the names of functions made in a comprehension: a run outlives an upgrade."""


def qualified_name(obj: Any) -> str:
    """Module and qualified name of a function, method, class or module; of anything else, its type's."""
    qualname = getattr(obj, "__qualname__", None)
    if not isinstance(qualname, str):
        if isinstance(obj, ALIAS):
            return f"{module_name(obj.__module__)}.{obj.__name__}"
        if isinstance(obj, type(sys)):
            return module_name(obj.__name__)
        return qualified_name(type(obj))
    module = getattr(obj, "__module__", None)
    if not isinstance(module, str):  # a method of a built-in type, or of an instance of one
        owner = getattr(obj, "__objclass__", None) or type(getattr(obj, "__self__", None))
        module = str(owner.__module__)
    if "[" in qualname and (origin := origin_of(obj)) is not None:
        module, qualname = origin.__module__, full_name(obj)
    if module in MAIN:
        learn_from(obj)
    return _qualified(module, qualname)


def name_of_code(function: FunctionType) -> str:
    """Module and qualified name under which a function's code was written, whatever the function is called since."""
    module = function.__globals__.get("__name__")
    return _qualified(str(module), function.__code__.co_qualname)


def _qualified(module: str, qualname: str) -> str:
    if "comp>" in qualname:
        qualname = _INLINED.sub("", qualname)
    return ".".join(published(module_name(module), qualname))


def module_name(module: str) -> str:
    """What a module is called in every process."""
    return script_name() if module in MAIN else module


def named(module: str, qualname: str) -> Any:
    """What a qualified name leads to in a module that is loaded, through classes; None where it leads nowhere."""
    found = named_in(namespace_of(module), qualname)
    if found is None and module == script_name():
        return named_in(namespace_of("__main__"), qualname)
    return found


def has_its_name(value: Any) -> bool:
    """Whether the name that a value says it has leads to it, as those of numpy's functions and typing's forms do."""
    try:
        name, module = getattr(value, "__qualname__", None), getattr(value, "__module__", None)
    except Exception:  # a proxy has nothing behind it now
        return False
    return isinstance(name, str) and isinstance(module, str) and named(module, name) is value
