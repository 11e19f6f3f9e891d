"""The programs, and how one is run on a library: as it stands, or with the prefix in its imports replaced.

The replacement is what graph_compat promises its users, so it's done literally: `langgraph` becomes
`graph_compat` in the import statements of the source, and nothing else changes.
"""

import ast
import asyncio
import functools
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from flowfn.identity.code.index import parse

from .trace import Trace, drive

LANGGRAPH = "langgraph"
GRAPH_COMPAT = "graph_compat"
CALLERS = ("blocking", "asyncio")
DIRECTORY = Path(__file__).parent / "programs"


class Name(NamedTuple):
    """A program: an `async def` at the top of `programs/AREA.py` without a leading underscore."""

    area: str
    program: str

    def __str__(self) -> str:
        return f"{self.area}::{self.program}"


def names() -> list[Name]:
    """Every program, read from the sources: an area that can't be imported still has its tests."""
    return [
        Name(path.stem, node.name)
        for path in sorted(DIRECTORY.glob("*.py"))
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.AsyncFunctionDef) and not node.name.startswith("_")
    ]


def run(name: Name, library: str, caller: str) -> str:
    """The program's masked trace."""
    program = getattr(load(name.area, library), name.program)
    trace = Trace(caller)
    if trace.asyncio:
        asyncio.run(program(trace))
    else:
        drive(program(trace))
    return trace.text


def mark(name: Name, decorator: str) -> str | None:
    """The reason given to `@differs` or `@differs_by_caller`; None for a program without it."""
    reason: str | None = getattr(load(name.area, LANGGRAPH), name.program).__dict__.get(decorator)
    return reason


@functools.cache
def load(area: str, library: str) -> ModuleType:
    """The area's module on a library, under a name of its own."""
    path = DIRECTORY / f"{area}.py"
    tree = parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            node.module = _prefixed(node.module or "", library)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                alias.name = _prefixed(alias.name, library)
    module = ModuleType(f"{__package__}.programs.{library}.{area}")
    module.__file__ = str(path)
    module.__package__ = f"{__package__}.programs"
    sys.modules[module.__name__] = module  # type hints are looked up there
    try:
        exec(compile(tree, path, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    return module


def _prefixed(module: str, library: str) -> str:
    if module == LANGGRAPH or module.startswith(f"{LANGGRAPH}."):
        return library + module.removeprefix(LANGGRAPH)
    return module
