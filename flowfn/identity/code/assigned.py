"""What the source of a module gives a name: the code behind a value that can't count itself.

Rule: a table or a settings object may change in place, and is no input then; but whoever edits the line that makes it
edits code. What counts is that line, reduced as functions are, wherever the name was imported from, what is done to the
value below it, and what decides whether and how often; what the lines name is left to `texts`. A file that was changed
while the process ran needn't have the line that made the value: unless it spells it, it counts for this process alone.
A notebook or a prompt has cells for a file (`cells`). A value that nothing is seen to make counts by what it is when
it is first named.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib.util import resolve_name
from types import FunctionType, ModuleType
from typing import Any
from uuid import uuid4

from flowfn.identity.code.cells import Cells, spells
from flowfn.identity.code.index import Index, index_of
from flowfn.identity.digest import exact
from flowfn.python.project import is_own_module
from flowfn.python.script import MAIN, namespace_of

__all__ = [
    "absolute",
    "as_loaded",
    "calls_that_change",
    "line_changing",
    "lines_calling",
    "lines_making",
    "lines_on_imported",
    "source_of",
]

_MOST_IMPORTS = 16
"""How often a name may be imported on, before it's a circle."""

_THIS_PROCESS = uuid4().hex

_logger = logging.getLogger("flowfn")


def lines_making(namespace: Mapping[str, Any], name: str) -> list[tuple[Mapping[str, Any], str]]:
    """What modules of the project's assign to a name in a namespace, each with that of its module; the last is what
    makes the value, and what comes before is done to it."""
    found: list[tuple[Mapping[str, Any], str]] = []
    for _ in range(_MOST_IMPORTS):
        source = source_of(namespace)
        if source is None:
            break
        if (text := source.assigned(name)) is not None:
            found.append((namespace, as_loaded(text, source, namespace.get(name))))
            if source.makes(name):
                break
        place = _imported(source, namespace, name)
        if place is None:
            if not found and (text := _unseen(source, namespace, name)):
                found.append((namespace, text))
            break
        namespace, name = place
    return found


def lines_on_imported(
    namespace: Mapping[str, Any], is_named: Callable[[Any], bool]
) -> Iterator[tuple[str, str]]:
    """What the top of a project's module does to such values as it has from other modules, by the name that each has
    there; or has in a module that it imports (`conf.settings.configure(…)`)."""
    source = source_of(namespace)
    for name in source.imports if isinstance(source, Index) else ():
        if source is None or (text := source.assigned(name)) is None:
            continue
        value = namespace.get(name)
        is_module = isinstance(value, ModuleType) and is_own_module(value.__name__)
        if any(map(is_named, vars(value).values() if is_module else [value])):
            yield name, as_loaded(text, source, None)


def line_changing(namespace: Mapping[str, Any], name: str) -> str:
    """What a module of the project's gives parts of a function, class or module that has a name there; empty where it
    gives none."""
    source = source_of(namespace)
    text = None if source is None else source.changed(name)
    return as_loaded(text, source, None) if source is not None and text else ""


def calls_that_change(namespace: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], set[str]]]:
    """What the top of a project's module calls of its other ones that changes what these have: by which name, the
    namespace of the other module, and the names there whose values it changes."""
    source = source_of(namespace)
    for called in source.calls if isinstance(source, Index) else ():
        root, *parts = called.split(".")
        function: Any = namespace.get(root)
        for part in parts:
            function = vars(function).get(part) if isinstance(function, ModuleType) else None
        if type(function) is FunctionType and function.__globals__ is not namespace:
            there = source_of(function.__globals__)
            changed = there.changed_by(function.__name__) if isinstance(there, Index) else None
            if changed:
                yield called, function.__globals__, changed


def lines_calling(namespace: Mapping[str, Any], names: Collection[str]) -> str:
    """The lines at the top of a project's module that call these."""
    source = source_of(namespace)
    return as_loaded(source.calling(names), source, None) if isinstance(source, Index) else ""


def as_loaded(text: str, source: Index | Cells, value: Any) -> str:
    """A text that gave a value; of a file that was changed meanwhile one of this process alone, unless it spells it."""
    if source.is_older or spells(text, value):
        return text
    return f"{text}  # in process {_THIS_PROCESS}"


def _imported(
    source: Index | Cells, namespace: Mapping[str, Any], name: str
) -> tuple[Mapping[str, Any], str] | None:
    """The module that a name is imported from, and its name there: of several the last one that has what it means."""
    package, value = namespace.get("__package__"), namespace.get(name)
    imports = [*((module, name) for module in source.stars), *source.imports.get(name, ())]
    places = [(namespace_of(absolute(module, package)), original) for module, original in imports]
    same = [(there, original) for there, original in places if original in there and there[original] is value]
    if same:
        return same[-1]
    return places[-1] if name in source.imports else None


def _unseen(source: Index | Cells, namespace: Mapping[str, Any], name: str) -> str:
    """What a value counts by that no line of its module is seen to give a name: `globals()[name] = …` in a loop, say.
    In a file one that only its type tells from others counts for nothing: a connection that another module sets."""
    if isinstance(source, Cells):
        return _unknown(namespace, name)
    is_given = name in namespace and not (name.startswith("__") and name.endswith("__"))
    return _unknown(namespace, name) if is_given and not exact({name: namespace[name]}).weak else ""


def _unknown(namespace: Mapping[str, Any], name: str) -> str:
    """What a value that nothing is seen to make counts by: what it is, at first; of one that only its type tells, the
    same for as long as the name has that very value."""
    place, value = (id(namespace), name), namespace.get(name)
    known = _unknowns.get(place)
    if known is None or known[0] is not value:
        digest = exact({name: value})
        if digest.weak:
            _logger.warning(
                "nothing is seen to make %s in __main__, which is no file: cached results of tasks that name it are "
                "kept for this process alone; assign it in a cell, or say what counts with CachePolicy(key=…) or "
                "version=…",
                name,
            )
        text = f"# {uuid4().hex} in process {_THIS_PROCESS}" if digest.weak else f"# {digest.exact.hex()}"
        known = _unknowns[place] = (value, text)
    return known[1]


_unknowns: dict[tuple[int, str], tuple[Any, str]] = {}
"""By namespace and name: the value, held so that no other one gets its id, and what it counts by."""


def source_of(namespace: Mapping[str, Any]) -> Index | Cells | None:
    """What the file of a module of the project's says of its names, or the cells of a notebook."""
    name, file = namespace.get("__name__"), namespace.get("__file__")
    if name in MAIN and (file is None or str(file).startswith("<")):  # `<stdin>`
        return Cells(namespace)
    if not (isinstance(name, str) and isinstance(file, str) and is_own_module(name)):
        return None
    return index_of(file)


def absolute(module: str, package: Any) -> str:
    """The full name of a module that may be named from within a package; empty where there is none."""
    try:
        return resolve_name(module, package if isinstance(package, str) else None)
    except ImportError:
        return ""
