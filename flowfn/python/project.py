"""Whose code it is: the project's own, or else Python's, an installed library's or flowfn's.

Rule: it is told by the file that the code came from. Many a project is installed where it runs: so an installed package
is the project's if it has tasks or workflows, or was installed from a folder and not from an index. Code that has no
file, such as a notebook's, is the project's, unless its module has the name of one of Python's.
"""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
from contextlib import suppress
from functools import lru_cache
from types import FrameType, FunctionType
from typing import Any

from flowfn.python.script import namespace_of

__all__ = ["is_own", "is_own_file", "is_own_module", "note_project"]


def is_own(definition: Any) -> bool:
    """Whether a function or class is the project's."""
    if type(definition) is FunctionType:
        filename = definition.__code__.co_filename
        if not filename.startswith("<"):
            return is_own_file(filename)
    return is_own_module(str(definition.__module__))


def is_own_module(name: str) -> bool:
    """Whether the module of a name is the project's."""
    file = namespace_of(name).get("__file__")
    if file:
        return is_own_file(file)
    return name.partition(".")[0] not in sys.stdlib_module_names or name == "__main__"


def note_project(function: Any) -> None:
    """Note that a function becomes a task or a workflow; to be called before it is looked at.

    Where its own module does that, the package is the project's; `task(requests.get)` says nothing of `requests`.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    file = "" if code is None else code.co_filename
    if any(name in file for name in _INSTALLED) and file not in _written and _is_running(file):
        _written.add(file)
        is_own_file.cache_clear()


def _is_running(file: str) -> bool:
    """Whether code of a file has called this."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    return frame is not None


_written: set[str] = set()
"""Installed files with tasks or workflows."""


@lru_cache(maxsize=4096)
def is_own_file(filename: str) -> bool:
    """Whether a file is of the project."""
    path = os.path.realpath(filename)
    if path.startswith(_flowfns_folders()):
        return False
    package = _package(path)
    if package is None:
        return not path.startswith(_library_folders())
    is_written = any(package == _package(os.path.realpath(each)) for each in set(_written))
    return is_written or os.path.basename(package) in _installed_from_folders(os.path.dirname(package))


def _package(path: str) -> str | None:
    """The folder, or the file, of the installed package that a file is of; None where it isn't installed."""
    folders = path.split(os.sep)
    places = [place for place, name in enumerate(folders) if name in _INSTALLED]
    return os.sep.join(folders[: places[-1] + 2]) if places else None


_INSTALLED = ("site-packages", "dist-packages")


@lru_cache(maxsize=64)
def _installed_from_folders(site: str) -> frozenset[str]:
    """The packages there that `pip install ./folder` or such put there, as installers note it (PEP 610).

    Nothing is imported for that: it is asked about types that untrusted data names.
    """
    found = set[str]()
    with suppress(OSError):
        for name in os.listdir(site):
            if name.endswith(".dist-info"):
                found |= _from_a_folder(os.path.join(site, name))
    return frozenset(found)


def _from_a_folder(notes: str) -> set[str]:
    """What a distribution brought, if it was installed from a folder."""
    with suppress(OSError, ValueError):
        with open(os.path.join(notes, "direct_url.json"), encoding="utf-8") as file:
            if '"dir_info"' not in file.read():
                return set()
        with open(os.path.join(notes, "RECORD"), encoding="utf-8") as record:
            return {line.partition(",")[0].partition("/")[0] for line in record}
    return set()


@lru_cache(maxsize=1)
def _flowfns_folders() -> tuple[str, ...]:
    """The packages of this distribution."""
    flowfn = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    siblings = (os.path.join(os.path.dirname(flowfn), name) for name in ("checkpointers", "graph_compat"))
    return tuple(os.path.join(folder, "") for folder in (flowfn, *siblings))


@lru_cache(maxsize=1)
def _library_folders() -> tuple[str, ...]:
    """Python's own library; packages may be installed below it."""
    return tuple(
        os.path.join(os.path.realpath(sysconfig.get_path(name)), "") for name in ("stdlib", "platstdlib")
    )
