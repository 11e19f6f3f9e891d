"""What a function's code is, so that an edit is seen and nothing else is.

Rule: the fingerprint covers the function's reduced source (see `source`) and that of the project's own
functions and classes that it names, be it by an object of the class, and theirs; no values, and not what
containers hold, so that a mutable closure or global never makes code look changed. Tasks and workflows
have versions of their own: they count by name. Libraries don't count: an upgrade changes no project.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from types import CellType, FunctionType, MappingProxyType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from flowfn.identity.code.classes import declares_fields, is_made_of_fields, methods_of_body
from flowfn.identity.code.compiled import locals_of
from flowfn.identity.code.held import CONTAINERS, MOST_HELD, values_in
from flowfn.identity.code.hints import parts_of
from flowfn.identity.code.unwrapping import (
    attribute,
    can_be_looked_at,
    content_of,
    definition_of,
    functions_of,
    is_definition,
    layers_of,
    may_define,
    unwrapped,
)
from flowfn.identity.code.watch import Graph, View, Walked
from flowfn.identity.forms.attributes import attributes_of
from flowfn.identity.made_with.given import given_by
from flowfn.identity.names import qualified_name
from flowfn.python.annotations import annotations_of
from flowfn.python.project import is_own, is_own_module
from flowfn.python.script import namespace_of

if TYPE_CHECKING:
    from flowfn.identity.code.scopes import Chain
    from flowfn.identity.code.source import Unit

__all__ = [
    "Fingerprint",
    "fingerprint",
    "is_project_code",
    "reached",
    "read",
    "resolver",
]


class Fingerprint(NamedTuple):
    """The version of a function's code.

    `digest` has 32 hexadecimal digits; `source` is the reduced source of the function itself, None where
    there is none; `helpers` names the other functions and classes that the digest covers, sorted. `units` are
    the names and texts that it was taken of, the function's own, which has no name there, first.
    """

    digest: str
    source: str | None
    helpers: tuple[str, ...]
    units: tuple[tuple[str, str], ...] = ()


_known: WeakKeyDictionary[Any, tuple[Fingerprint, View]] = WeakKeyDictionary()


def fingerprint(function: Callable[..., Any]) -> Fingerprint:
    """The fingerprint of any callable, computed once per function as long as its code isn't edited. Never raises."""
    root = function if type(function) is FunctionType else definition_of(function)
    if not is_definition(root):
        return Fingerprint(_digest([qualified_name(root)]), None, ())
    known = _known.get(root)
    if known is None or not known[1].holds:
        with _graph.lock:
            known = _known.get(root)
            if known is None or not known[1].holds:  # another thread may have looked meanwhile
                known = _known[root] = _compute(root)
    return known[0]


def read(function: Callable[..., Any]) -> tuple[_Walk, str]:
    """All code that a call runs, as it is now, and its digest: also that of the tasks and workflows that it names, and
    of the functions in containers."""
    with _graph.lock:  # Python's cache of source lines is not for several threads at once
        layers = list(layers_of(definition_of(function)))
        walk = _Walk(opens=True)
        if is_definition(layers[-1]):
            walk.add(layers[-1])
        for wrapper in layers[:-1]:
            walk.follow(wrapper)
        walk.run()
        return walk, walk.digest(layers)


def reached(function: Callable[..., Any]) -> frozenset[Any]:
    """The functions and classes of the project's that its code leads to: by names, and in containers that it names."""
    walk, _ = read(function)
    return frozenset(walk.units)


def is_project_code(value: Any) -> bool:
    """Whether a value is a function of the project's, or wraps one."""
    if not may_define(value):
        return False
    function = unwrapped(value)
    return type(function) is FunctionType and is_own(function)


def resolver(function: FunctionType) -> Callable[[Chain], Any]:
    """What gives the value of a dotted name in a function's code, or None; it runs no code of the project's."""
    return _Scope(function).resolve


def _digest(texts: list[str]) -> str:
    return sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _is_opaque(value: Any) -> bool:
    return attribute(value, "__flowfn__") in ("task", "workflow")


def _compute(root: Any) -> tuple[Fingerprint, View]:
    *wrappers, innermost = layers = list(layers_of(root))
    walk = _Walk()
    walk.add(innermost)
    for wrapper in wrappers:
        walk.follow(wrapper)
    walk.run()
    unit = walk.units[innermost]
    source = unit.text if unit is not None and unit.is_source else None
    helpers = {qualified_name(each) for each in walk.units if each not in layers}
    names = tuple(sorted(helpers | walk.opaque))
    found = Fingerprint(walk.digest(layers), source, names, walk.texts(layers))
    return found, _graph.view_of(walk.walked, layers)


def _walked_from(unit: Any, known: Container[Any]) -> Walked:
    walk = _Walk(known=known)
    walk.enter(unit)
    walk.run()
    return walk.walked


_graph = Graph(_walked_from)


class _Walk:
    """Collects the units of a function and of all that it names; `opens`: those of tasks and workflows too. What is
    `known` isn't entered."""

    def __init__(self, *, opens: bool = False, known: Container[Any] = ()) -> None:
        self.units: dict[Any, Unit | None] = {}
        self.opaque: set[str] = set()
        self.scopes: list[tuple[FunctionType, _Scope, frozenset[Chain]]] = []
        """Of each function: where it finds its names, and which names it has."""
        self.methods: list[tuple[FunctionType, _Scope, frozenset[Chain]]] = []
        """Likewise of the methods of each class, if tasks and workflows are opened: its text has theirs."""
        self.bodies: list[tuple[type, _Body, frozenset[Chain]]] = []
        """Likewise of the body of each class."""
        self.opened: dict[int, Any] = {}
        """The containers that were looked through, by their ids."""
        self.hints: dict[str, Any] = {}
        """What libraries make code of, if all code counts: the annotations of functions in their wrappers, with what
        these mean that are text, and the function that `singledispatch` has for each type."""
        self._leads: dict[Any, list[Any]] = {}
        """Of each unit those that it leads to."""
        self._found: list[Any] = []
        """Those of the unit that is visited."""
        self._waiting: list[Any] = []
        self._opens = opens
        self._known = known

    @property
    def walked(self) -> Walked:
        """What leads to what, and where each unit finds its names."""
        named = {each: (scope, names) for each, scope, names in (*self.scopes, *self.bodies)}
        return Walked(self._leads, named)

    def digest(self, layers: list[Any]) -> str:
        """The digest of all units, whatever the order in which they were found.

        Helpers count with their names, the function itself without: a move changes no code.
        """
        texts = {f"{name}:{text}" for name, text in self.texts(layers)}
        return _digest([*sorted(texts), *sorted(self.opaque)])

    def texts(self, layers: list[Any]) -> tuple[tuple[str, str], ...]:
        """The name and the text of each unit, sorted."""
        names = {each: "" if each in layers else qualified_name(each) for each in self.units}
        return tuple(sorted({(names[each], unit.text if unit else "") for each, unit in self.units.items()}))

    def add(self, definition: Any) -> None:
        """Note a function or class, wherever it comes from."""
        self._found.append(definition)
        if definition not in self._known:
            self.enter(definition)

    def enter(self, definition: Any) -> None:
        """Have a function or class visited, once."""
        if definition not in self.units:
            self.units[definition] = None
            self._waiting.append(definition)

    def follow(self, value: Any) -> None:
        """Note what a name stands for, if that is the project's code or wraps it."""
        if isinstance(value, property):
            for each in (value.fget, value.fset, value.fdel):
                self.follow(each)
        elif _is_opaque(value) and not self._enters(value):
            self.opaque.add(qualified_name(value))
        elif may_define(value):
            self._look_into_registry(value)
            definition = definition_of(value)
            if is_definition(definition) and is_own(definition):
                self.add(definition)
            elif type(definition) is FunctionType:  # a library's wrapper of a function of the project
                wrapped = attribute(definition, "__wrapped__")
                self.follow(wrapped)
                if self._opens and type(wrapped) is FunctionType:
                    self._look_into_annotations(wrapped)
            if self._opens:  # the function of the project's that `wrapt` calls in place of this one
                self.follow(attribute(value, "_self_wrapper"))

    def _look_into(self, value: Any) -> None:
        """Note the code behind a value: the class of an instance, what a type hint names, and, where all code counts,
        what a container of functions and instances holds, and an instance was given: what is in one may change at any
        time, and changes no code.
        """
        waiting, left, met = [value], MOST_HELD, set[int]()
        while waiting:
            each = waiting.pop()
            if isinstance(each, CONTAINERS):
                if self._opens and len(each) <= left:
                    left -= len(each)
                    self.opened[id(each)] = each
                    held = values_in(each)
                    waiting.extend(held)
                    for one in held:
                        self.follow(one)
            elif isinstance(each, ModuleType) and each is not value:
                self._look_into_module(each)
            elif (parts := parts_of(each)) and len(parts) <= left:
                left -= len(parts)
                waiting.extend(parts)
                for one in parts:
                    self.follow(one)
            if not (may_define(each) or isinstance(each, ModuleType) or _is_opaque(each)):
                self.follow(type(each))
                if self._opens and id(each) not in met:
                    met.add(id(each))
                    given = _given_to(each)
                    if len(given) <= left:
                        left -= len(given)
                        waiting.extend(given)
                        for one in given:
                            self.follow(one)

    def _look_into_module(self, module: ModuleType) -> None:
        """Where all code counts, note all that a module of the project defines: code that has it as a value may call
        any of it."""
        if self._opens and is_own_module(module.__name__):
            for each in list(vars(module).values()):
                if getattr(each, "__module__", None) == module.__name__:
                    self.follow(each)

    def _look_into_annotations(self, function: FunctionType) -> None:
        """Note what a library's wrapper may make of a function's annotations, as pydantic's `validate_call` does."""
        from flowfn.identity.code.scopes import names_in_text

        resolve = _Scope(function).resolve
        for name, hint in annotations_of(function).items():
            chains = sorted(names_in_text(hint)) if isinstance(hint, str) else []
            self.hints[f"{qualified_name(function)}({name})"] = [hint, *map(resolve, chains)]
            for chain in chains:
                self._follow_name(chain, resolve)
            self.follow(hint)
            self._look_into(hint)

    def _look_into_registry(self, value: Any) -> None:
        """Where all code counts, note what a function of `singledispatch` may lead to."""
        registry = attribute(value, "registry") if self._opens else None
        if type(registry) is MappingProxyType:
            found = {qualified_name(kind): qualified_name(each) for kind, each in [*registry.items()]}
            self.hints[f"{qualified_name(value)}.registry"] = sorted(found.items())
            self._look_into(registry)

    def _enters(self, value: Any) -> bool:
        """Whether a task's or workflow's own code counts: not if its author gave it a version."""
        definition = attribute(value, "_self_definition") if self._opens else None
        if definition is not None and definition.version is not None:
            self.opaque.add(f"{qualified_name(value)} version {definition.version}")
            return False
        return definition is not None

    def run(self) -> None:
        """Visit what was noted, and what that names, until nothing new comes."""
        while self._waiting:
            each = self._waiting.pop()
            self._found = self._leads[each] = []
            visit = self._class if isinstance(each, type) else self._function
            try:
                visit(each)
            except Exception:  # a project's objects may raise anything when looked at
                continue

    def _function(self, function: FunctionType) -> None:
        from flowfn.identity.code.source import function_unit

        unit = self.units[function] = function_unit(function)
        scope = _Scope(function)
        self.scopes.append((function, scope, unit.names))
        for chain in unit.names:
            self._follow_name(chain, scope.resolve)
        self.follow(attribute(function, "__wrapped__"))

    def _follow_name(self, chain: Chain, resolve: Callable[[Chain], Any]) -> None:
        """Note what a dotted name stands for, and each object on the way there, with the code behind it."""
        with suppress(Exception):  # a project's objects may raise anything when looked at
            for length in range(1, len(chain) + 1):
                found = resolve(chain[:length])
                self.follow(found)
                self._look_into(found)
            if self._opens and isinstance(found, ModuleType):
                self._look_into_module(found)

    def _class(self, cls: type) -> None:
        from flowfn.identity.code.source import class_unit, function_unit

        self._note_module(cls)
        members = vars(cls)
        unit = self.units[cls] = class_unit(
            cls, lambda name: not self._opens and _is_opaque(members.get(name))
        )
        for base in cls.__bases__:
            self.follow(base)
        if self._opens:
            for method in self._methods(cls):
                self.methods.append((method, _Scope(method, cls), function_unit(method).names))
        if unit is None:
            for name, member in list(members.items()):
                if not any(is_made_of_fields(cls, name, each) for each in functions_of(member)):
                    self.follow(member)
            return
        for name, function in methods_of_body(cls):
            is_in_text = function.__code__.co_qualname.startswith(f"{cls.__qualname__}.")
            if not is_in_text and not _is_opaque(members[name]):  # a decorator of the project's made it
                self.add(function)
        body = _Body(namespace_of(cls.__module__))
        self.bodies.append((cls, body, unit.names))
        for chain in unit.names:
            self._follow_name(chain, body.resolve)

    def _note_module(self, cls: type) -> None:
        """Note where the text of a class stands."""
        module = sys.modules.get(cls.__module__)
        if isinstance(module, ModuleType):
            self._found.append(module)

    def _methods(self, cls: type) -> Iterator[FunctionType]:
        """The project's own methods of a class, inherited ones too; not those that a library made of its fields."""
        for base in filter(is_own, cls.__mro__):
            for name, member in list(vars(base).items()):
                if not _is_opaque(member) or self._enters(member):
                    found = filter(is_own, functions_of(member))
                    yield from (each for each in found if not is_made_of_fields(base, name, each))


def _given_to(value: Any) -> list[Any]:
    """What an object of the project's was given, or a namespace holds: functions, it may be, or objects that were. What
    it put into containers may have been given as well."""
    cls = type(value)
    if cls is SimpleNamespace:
        return [*vars(value).values()]
    if not is_own(cls):
        return []
    how, is_record = given_by(cls).how, declares_fields(cls)
    return [
        held
        for name, held in attributes_of(value).items()
        if is_record or isinstance(held, CONTAINERS) or how(name) == "given"
    ]


class _Body:
    """Where the body of a class finds the values of its names: in its module."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._globals = namespace

    def holder(self, name: str) -> Mapping[str, Any] | CellType | None:
        """What holds the value of a name; None for a built-in."""
        return self._globals if name in self._globals else None

    def place(self, name: str) -> Mapping[str, Any] | CellType | None:
        """What holds the value of a name, or will once it has one; None for a built-in."""
        return self.holder(name) or (None if hasattr(builtins, name) else self._globals)

    def namespace(self, chain: Chain) -> Any:
        """The module, class or function that a dotted name means, or None."""
        return _as_namespace(self.resolve(chain))

    def resolve(self, chain: Chain) -> Any:
        """The value of a dotted name, or None."""
        return _resolve(self._globals.get(chain[0]), chain[1:])


class _Scope(_Body):
    """Where a function finds the values of its names."""

    def __init__(self, function: FunctionType, owner: type | None = None) -> None:
        super().__init__(function.__globals__)
        self.code = code = function.__code__
        self._cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=False))
        self._locals = locals_of(code)
        self._self = code.co_varnames[0] if code.co_argcount else None
        self._owner = (owner or self._class_of(function.__qualname__)) if self._self else None

    def is_local(self, name: str) -> bool:
        """Whether it is a variable of the function's own."""
        return name in self._locals

    def _class_of(self, qualname: str) -> Any:
        """The class whose body defines the function, where the module still shows it."""
        path = qualname.split(".")[:-1]
        return _resolve(self._globals.get(path[0]), tuple(path[1:])) if path else None

    def holder(self, name: str) -> Mapping[str, Any] | CellType | None:
        """What holds the value of a name of its own or of its module's; None for a local and for a built-in."""
        if name in self._cells:
            return self._cells[name]
        return None if name in self._locals else super().holder(name)

    def place(self, name: str) -> Mapping[str, Any] | CellType | None:
        """Likewise; None for a local, too."""
        return None if self.is_local(name) else super().place(name)

    def namespace(self, chain: Chain) -> Any:
        """The module, class or function that a dotted name means, or None; a method's object stands for its class."""
        return _as_namespace(self._owner if chain == (self._self,) else self.resolve(chain))

    def resolve(self, chain: Chain) -> Any:
        """The value of a dotted name, or None; a method's own object stands for its class."""
        root, rest = chain[0], chain[1:]
        if root in self._cells:
            return _resolve(content_of(self._cells[root]), rest)
        if root == self._self:
            return _resolve(self._owner, rest) if rest and isinstance(self._owner, type) else None
        return None if root in self._locals else super().resolve(chain)


def _resolve(value: Any, attributes: Chain) -> Any:
    """Follow attributes through the project's modules, classes and functions, running no code of theirs."""
    for name in attributes:
        if not can_be_looked_at(value):
            return None
        if isinstance(value, ModuleType):
            value = vars(value).get(name) if is_own_module(value.__name__) else None
        elif isinstance(value, type) and is_own(value):
            value = next((vars(base)[name] for base in value.__mro__ if name in vars(base)), None)
        else:
            function = _function_behind(value)
            value = None if function is None else vars(function).get(name)
    return value


def _as_namespace(value: Any) -> Any:
    if not can_be_looked_at(value):
        return None
    return value if isinstance(value, ModuleType | type) else _function_behind(value)


def _function_behind(value: Any) -> FunctionType | None:
    """A function of the project's, or the one that a task or another wrapper is around and has the attributes of."""
    found = value if type(value) is FunctionType else attribute(value, "__wrapped__")
    return found if type(found) is FunctionType and is_own(found) else None
