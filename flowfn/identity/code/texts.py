"""The texts behind names, as files of the project have them: what gives a name its value, and what that names in turn.

Rule: where no value can tell, the text does: of what a table is made (`RATES = load(BASE)`), and of what the body of a
function imports, which may not be loaded yet. Nothing is imported for that. A name is followed into the file that it
is imported from; a module that is a value counts whole. Libraries' files count for nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pkgutil import iter_modules
from types import FunctionType
from typing import Any

from flowfn.identity.code.assigned import absolute, as_loaded, source_of
from flowfn.identity.code.cells import Cells
from flowfn.identity.code.index import Index, index_of, parse
from flowfn.identity.code.scopes import Chain, imports_in, names_in
from flowfn.identity.code.source import function_unit
from flowfn.python.project import is_own_file
from flowfn.python.script import namespace_of

__all__ = ["Place", "Texts", "imported_by", "named_by"]

Place = tuple[str, Chain]
"""A module, and a dotted name in it; an empty one is all of it."""


def named_by(text: str, module: str) -> Iterator[Place]:
    """What code at the top of a module names."""
    return ((module, chain) for chain in _names(text))


def imported_by(function: FunctionType) -> Iterator[Place]:
    """What a function imports in its body: of each import that of it which the function names."""
    unit, package = function_unit(function), function.__globals__.get("__package__")
    if unit.is_source and "import " in unit.text:
        for name, module, original in imports_in(parse(unit.text)):
            rests = [chain[1:] for chain in unit.names if chain[0] == name] or [()]
            yield from _imported(module, original, package, rests)


class Texts:
    """The texts behind names; `namespaces` are modules of which code holds what needn't be loaded under the name now.

    `found` has the texts that give these names their values, and those of all that they name, by module and name.
    """

    def __init__(self, places: Iterable[Place], namespaces: Mapping[str, Mapping[str, Any]]) -> None:
        self.found: dict[Place, str] = {}
        self._namespaces = namespaces
        waiting, met = [*places], set[Place]()
        for place in waiting:
            if place not in met:
                met.add(place)
                waiting += self._follow(*place)

    def _follow(self, module: str, chain: Chain) -> Iterator[Place]:
        """Note what a module gives a name, and say where that leads."""
        namespace = self._namespaces.get(module) or namespace_of(module)
        source, package, path = _read(module, namespace)
        if source is not None and not chain:
            yield from ((module, (name,)) for name in source.given)
        elif (module, chain[:1]) in self.found:
            pass  # it was followed for another part of the same: a table may name thousands of an enum's members
        elif source is not None and (text := source.assigned(chain[0])) is not None:
            self.found[module, chain[:1]] = as_loaded(text, source, namespace.get(chain[0]))
            yield from named_by(text, module)
            yield from _imported_in(text, package)
        elif chain:
            if path:
                yield f"{module}.{chain[0]}", chain[1:]
            if source is not None and "__getattr__" in source.given:
                # That may give what any module of a package has.
                yield module, ("__getattr__",)
                yield from ((f"{module}.{each.name}", ()) for each in iter_modules(path))
        if source is not None and chain:
            yield from _imports_of(source, package, chain)


def _imported_in(text: str, package: Any) -> Iterator[Place]:
    """What functions in code at the top of a module import."""
    if "import " in text:
        for _, module, original in imports_in(_tree(text)):
            yield from _imported(module, original, package, [()])


def _imports_of(source: Index | Cells, package: Any, chain: Chain) -> Iterator[Place]:
    """Where a module may have a name from: of the modules of which it has all names any may give it."""
    named = source.imports.get(chain[0], ())
    for module, original in named:
        yield from _imported(module, original, package, [chain[1:]])
    for star in source.stars if not named else ():
        yield from _imported(star, "", package, [chain])


def _imported(module: str, original: str, package: Any, rests: Iterable[Chain]) -> Iterator[Place]:
    """Where an import leads, by what its name is followed by."""
    if module := absolute(module, package):
        yield from ((module, (original, *rest) if original else rest) for rest in rests)


def _read(module: str, namespace: Mapping[str, Any]) -> tuple[Index | Cells | None, Any, list[str]]:
    """What a module of the project says of its names, its package, and where the modules are that are in it; it needn't
    be loaded."""
    if namespace:
        source = source_of(namespace)
        file, package, path = (namespace.get(each) for each in ("__file__", "__package__", "__path__"))
    else:
        spec = _spec_of(module)
        if spec is None:
            return None, None, []
        file, package, path = spec.origin, spec.parent, spec.submodule_search_locations
        source = index_of(file) if file is not None and is_own_file(file) else None
    return source, package, [*path] if path is not None and (source is not None or file is None) else []


def _spec_of(module: str) -> ModuleSpec | None:
    """Where a module is that isn't loaded."""
    name, path, spec = "", None, None
    for part in module.split("."):
        if name and path is None:  # no package
            return None
        name = f"{name}.{part}" if name else part
        spec = PathFinder.find_spec(name, path)
        if spec is None:
            return None
        path = spec.submodule_search_locations
    return spec


@lru_cache(maxsize=4096)
def _names(text: str) -> frozenset[Chain]:
    return names_in(_tree(text))


def _tree(text: str) -> ast.AST:
    try:
        return parse(text)
    except SyntaxError:  # a long table as it stands in a block
        return ast.Module([], [])
