"""Whose code it is: the project's own, or else Python's, an installed library's or flowfn's.

Rule: it is told by the file that the code came from. Code that has none, such as a notebook's, is the project's, unless
its module has the name of one of Python's.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from types import FunctionType
from typing import Any

from flowfn.python.script import namespace_of

__all__ = ["is_own", "is_own_module"]


def is_own(definition: Any) -> bool:
    """Whether a function or class is the project's."""
    if type(definition) is FunctionType:
        filename = definition.__code__.co_filename
        if not filename.startswith("<"):
            return _is_own_file(filename)
    return is_own_module(str(definition.__module__))


def is_own_module(name: str) -> bool:
    """Whether the module of a name is the project's."""
    file = namespace_of(name).get("__file__")
    if file:
        return _is_own_file(file)
    return name.partition(".")[0] not in sys.stdlib_module_names or name == "__main__"


@lru_cache(maxsize=4096)
def _is_own_file(filename: str) -> bool:
    path = os.path.realpath(filename)
    if {"site-packages", "dist-packages"} & set(path.split(os.sep)):
        return False
    return not path.startswith(_foreign_folders())


@lru_cache(maxsize=1)
def _foreign_folders() -> tuple[str, ...]:
    """Python's own library, and the packages of this distribution."""
    flowfn = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    siblings = (os.path.join(os.path.dirname(flowfn), name) for name in ("checkpointers", "graph_compat"))
    library = (os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
    return tuple(os.path.join(folder, "") for folder in (flowfn, *siblings, *library))
