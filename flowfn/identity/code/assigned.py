"""What the source of a module gives a name: the code behind a value that can't count itself.

Rule: a table or a settings object may change in place, and is no input then; but whoever edits the line that makes it
edits code. What counts is that line alone, reduced as functions are, wherever the name was imported from. A file that
was changed while the process ran needn't have the line that made the value: unless it spells it, it counts for this
process alone. A notebook or a prompt has cells for a file (`cells`); a value that nothing there is seen to make counts
for this process, and for as long as it is there.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.util import resolve_name
from typing import Any
from uuid import uuid4

from flowfn.identity.code.cells import Cells, spells
from flowfn.identity.code.source import Index, index_of
from flowfn.python.project import is_own_module
from flowfn.python.script import MAIN, namespace_of

__all__ = ["assignment"]

_MOST_IMPORTS = 16
"""How often a name may be imported on, before it's a circle."""

_THIS_PROCESS = uuid4().hex

_logger = logging.getLogger("flowfn")


def assignment(namespace: Mapping[str, Any], name: str) -> str | None:
    """The source of what a module of the project's assigns to a name in its namespace; None where that isn't known."""
    for _ in range(_MOST_IMPORTS):
        source = _source_of(namespace)
        if source is None:
            return None
        if (text := source.assigned(name)) is not None:
            is_as_loaded = source.is_older or spells(text, namespace.get(name))
            return text if is_as_loaded else f"{text}  # in process {_THIS_PROCESS}"
        found = _imported(source, namespace, name)
        if found is None:
            return _unknown(namespace, name) if isinstance(source, Cells) else None
        namespace, name = found
    return None


def _imported(
    source: Index | Cells, namespace: Mapping[str, Any], name: str
) -> tuple[Mapping[str, Any], str] | None:
    """The module that a name is imported from, and its name there; of `*` the last one that has what it means."""
    package = namespace.get("__package__")
    if name in source.imports:
        module, name = source.imports[name]
        return namespace_of(_absolute(module, package)), name
    for module in reversed(source.stars):
        there = namespace_of(_absolute(module, package))
        if name in there and there[name] is namespace.get(name):
            return there, name
    return None


def _unknown(namespace: Mapping[str, Any], name: str) -> str:
    """What a value that nothing is seen to make counts by: the same for as long as the name has that very value."""
    place, value = (id(namespace), name), namespace.get(name)
    known = _unknowns.get(place)
    if known is None or known[0] is not value:
        _logger.warning(
            "nothing is seen to make %s in __main__, which is no file: cached results of tasks that name it are kept "
            "for this process alone; assign it in a cell, or say what counts with CachePolicy(key=…) or version=…",
            name,
        )
        known = _unknowns[place] = (value, f"# {uuid4().hex} in process {_THIS_PROCESS}")
    return known[1]


_unknowns: dict[tuple[int, str], tuple[Any, str]] = {}
"""By namespace and name: the value, held so that no other one gets its id, and what it counts by."""


def _source_of(namespace: Mapping[str, Any]) -> Index | Cells | None:
    name, file = namespace.get("__name__"), namespace.get("__file__")
    if name in MAIN and file is None:
        return Cells(namespace)
    if not (isinstance(name, str) and isinstance(file, str) and is_own_module(name)):
        return None
    return index_of(file)


def _absolute(module: str, package: Any) -> str:
    """The full name of a module that may be named from within a package."""
    try:
        return resolve_name(module, package if isinstance(package, str) else None)
    except ImportError:
        return ""
