"""What was looked at when code was read, and whether another look would find the same.

Rule: what is remembered of code holds as long as functions have the code that they had, classes the members, and names
mean what they meant. A notebook's cell that is run again, `importlib.reload` and IPython's autoreload, which gives old
functions new code, change that in the middle of a process. It holds nothing of what it knows: what a function names may
lead back to that function, and would live as long. A name that the code gives other values itself doesn't count, nor
does which instance of a class it means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dis import opmap
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, ref

from flowfn.identity.code.compiled import all_code, assigned_attributes, steps_of
from flowfn.identity.code.hints import TYPING
from flowfn.identity.code.unwrapping import functions_of, may_define
from flowfn.python.project import is_own, is_own_module
from flowfn.python.script import namespace_of

if TYPE_CHECKING:
    from flowfn.identity.code.scopes import Chain

__all__ = ["Seen"]

_Was = ReferenceType[Any]
"""What a name meant: code itself, or else the class of what it was."""

_Named = tuple[Any, Any, frozenset[tuple[str, ...]]]
"""A function or class, where it finds its names, and which names it has."""


class Seen:
    """The functions and classes that were read, and with `scopes` and `bodies` what their names meant."""

    def __init__(
        self, units: Iterable[Any], scopes: Iterable[_Named] = (), bodies: Iterable[_Named] = ()
    ) -> None:
        self._code: list[tuple[_Was, CodeType]] = []
        self._members: list[tuple[_Was, int, list[tuple[str, int]], list[tuple[str, Any]]]] = []
        """Of each class how many it has, the ids of its methods, and what else can be told by itself."""
        self._globals: list[tuple[_Was, list[tuple[str, _Was]]]] = []
        self._cells: list[tuple[_Was, int, _Was]] = []
        self._bodies: list[tuple[str, list[tuple[str, _Was]]]] = []
        """Of the bodies of classes: the module, and what names meant there."""
        self._attributes: dict[tuple[int, str], tuple[_Was, str, _Was]] = {}
        """What modules, classes and functions had under names that lead into them."""
        named = list(scopes)
        assigned = set(_assigned(named))
        attributes = {name for each, _, _ in named for name in assigned_attributes(each.__code__)}
        for each in units:
            if isinstance(each, type):
                self._look_at_class(each, attributes)
            else:
                self._look_at_function(each)
        for each, scope, chains in named:
            self._look_at_names(each, scope, chains, assigned, attributes)
        for cls, body, chains in bodies:
            meant = {root: _was(body.resolve((root,))) for root, *_ in chains}
            self._bodies.append((cls.__module__, list(meant.items())))
            self._follow(body, chains, attributes)

    @property
    def holds(self) -> bool:
        """Whether all of it is as it was; loops in place, as each run asks it of all code that it calls."""
        for function, code in self._code:
            own = function()
            if own is None or own.__code__ is not code:
                return False
        for each, count, methods, data in self._members:
            cls = each()
            if cls is None or len(members := vars(cls)) != count:
                return False
            for name, was_id in methods:
                if id(members.get(name)) != was_id:
                    return False
            for name, value in data:
                if members.get(name) is not value:
                    return False
        for function, meant in self._globals:
            own = function()
            if own is None or not _hold(own.__globals__, meant):
                return False
        for module, meant in self._bodies:
            if not _hold(namespace_of(module), meant):
                return False
        for function, index, was in self._cells:
            own = function()
            if own is None or not _is_still(_content(own.__closure__[index]), was()):
                return False
        for holder, name, was in self._attributes.values():
            if not _is_still(getattr(holder(), "__dict__", _NONE).get(name), was()):
                return False
        return True

    def _look_at_function(self, function: FunctionType) -> None:
        self._code.append((ref(function), function.__code__))
        if "__wrapped__" in vars(function):
            self._note(function, "__wrapped__")

    def _look_at_class(self, cls: type, assigned: set[str]) -> None:
        members, assigned = dict(vars(cls)), {*assigned}
        methods: dict[str, int] = {}
        for name, member in members.items():
            with suppress(Exception):  # a project's objects may raise anything when looked at
                for function in functions_of(member):
                    # What takes the place of a method may get its id, but has other functions then.
                    methods[name] = id(member)
                    self._code.append((ref(function), function.__code__))
                    assigned |= assigned_attributes(function.__code__)
        data = [
            (name, each) for name, each in members.items() if type(each) in _ATOMS and name not in assigned
        ]
        self._members.append((ref(cls), len(members), list(methods.items()), data))

    def _look_at_names(
        self,
        function: FunctionType,
        scope: Any,
        chains: Iterable[Chain],
        assigned: set[tuple[int, str]],
        attributes: set[str],
    ) -> None:
        """Note what the names of a function mean that aren't its own variables, and where they lead."""
        code, meant = function.__code__, dict[str, _Was]()
        counted = [chain for chain in chains if (id(scope.holder(chain[0])), chain[0]) not in assigned]
        for root in {chain[0] for chain in counted}:
            if root in code.co_freevars:
                index = code.co_freevars.index(root)
                self._cells.append((ref(function), index, _was(scope.resolve((root,)))))
            elif not scope.is_local(root):
                meant[root] = _was(scope.resolve((root,)))
        if meant:
            self._globals.append((ref(function), list(meant.items())))
        self._follow(scope, counted, attributes)

    def _follow(self, scope: Any, chains: Iterable[Chain], attributes: set[str]) -> None:
        for chain in chains:
            for depth in range(1, len(chain)):
                namespace = scope.namespace(chain[:depth])
                if namespace is None or not _is_entered(namespace) or chain[depth] in attributes:
                    break
                self._note(namespace, chain[depth])

    def _note(self, namespace: Any, name: str) -> None:
        """Note what an attribute is; of a class that of the one above it which has it."""
        above = namespace.__mro__ if isinstance(namespace, type) else ()
        holder = next((each for each in above if name in vars(each)), namespace)
        self._attributes[id(holder), name] = ref(holder), name, _was(vars(holder).get(name))


_ATOMS = (type(None), bool, int, float, complex, str, bytes)
_NONE: dict[str, Any] = {}


def _was(value: Any) -> _Was:
    """What is known of what a name means: code, of which each counts by itself, and else only the class."""
    if may_define(value) or isinstance(value, ModuleType) or type(value).__module__ in TYPING:
        with suppress(TypeError):  # some of Python's own have no weak references
            return ref(value)
    return ref(type(value))


def _hold(namespace: Any, meant: list[tuple[str, _Was]]) -> bool:
    """Whether names still mean what they did."""
    for name, was in meant:
        now, before = namespace.get(name), was()
        if before is None or (now is not before and type(now) is not before):
            return False
    return True


def _is_still(now: Any, before: Any) -> bool:
    return before is not None and (now is before or type(now) is before)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _is_entered(namespace: Any) -> bool:
    """Whether names are followed into it: libraries' code doesn't count."""
    return is_own_module(namespace.__name__) if isinstance(namespace, ModuleType) else is_own(namespace)


def _assigned(scopes: Iterable[_Named]) -> Iterator[tuple[int, str]]:
    """The names that the code gives other values itself, by what holds them."""
    for each, scope, _ in scopes:
        for name in _names_assigned(each.__code__):
            yield id(scope.holder(name)), name


_ASSIGNING = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF")
_OPCODES = frozenset(opmap[name] for name in _ASSIGNING)


@lru_cache(maxsize=1024)
def _names_assigned(code: CodeType) -> frozenset[str]:
    """The globals and the variables shared with other functions that code assigns."""
    if all(_OPCODES.isdisjoint(each.co_code[::2]) for each in all_code(code)):
        return frozenset()  # most code: to read its instructions one by one takes long
    return frozenset(step.argval for step in steps_of(code) if step.opname in _ASSIGNING)
