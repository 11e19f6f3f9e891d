"""What was looked at in a function or a class when it was read, and whether another look would find the same.

Rule: it was edited if it has other code, as IPython's autoreload gives to old functions, or a name in it has (see
`meaning`). The data of a class are values: what was edited there is told by that its module ran again. So is a method
that another function takes the place of, as in a test. It holds nothing of what it looks at.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import ReferenceType, ref

from flowfn.identity.code.meaning import Change, Meaning, is_replaced
from flowfn.identity.code.unwrapping import content_of, functions_of
from flowfn.python.project import is_own, is_own_module
from flowfn.python.script import namespace_of

if TYPE_CHECKING:
    from flowfn.identity.code.scopes import Chain

__all__ = ["Seen", "seen"]

T = TypeVar("T")

_Meanings = list[tuple[str, Meaning]]
_Attribute = tuple[ReferenceType[Any], str]
"""What has it, and its name."""


def seen(unit: Any, scope: Any = None, chains: Iterable[Chain] = ()) -> Seen:
    """Look at a function, class or module; with the scope where it finds its names, at what these mean as well."""
    if isinstance(unit, ModuleType):
        return _Module(unit)
    return (_Class if isinstance(unit, type) else _Function)(unit, scope, [*chains])


class Seen(Protocol):
    """A function, class or module as it was."""

    @property
    def change(self) -> Change:
        """What has changed since. Each run asks it of all code that it may lead to."""


class _Module:
    """A module: what tells one run of it from the next."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = ref(module), vars(module).get("__spec__")

    @property
    def change(self) -> Change:
        module = self._module()
        if module is None:
            return Change.GONE
        return Change.NONE if vars(module).get("__spec__") is self._spec else Change.EDIT


class _Names:
    """What names meant, and the attributes of modules, classes and functions that lead on from there."""

    def __init__(self, scope: Any, chains: Iterable[Chain]) -> None:
        self._attributes: dict[tuple[int, str], tuple[_Attribute, Meaning]] = {}
        for chain in chains:
            with suppress(Exception):  # a project's objects may raise anything when looked at
                self._follow(scope, chain)

    def _follow(self, scope: Any, chain: Chain) -> None:
        for depth in range(1, len(chain)):
            namespace = scope.namespace(chain[:depth])
            if namespace is None or not _is_entered(namespace):
                break
            self._note(namespace, chain[depth])

    def _note(self, namespace: Any, name: str) -> None:
        """Note what an attribute is; of a class that of the one above it which has it."""
        above = namespace.__mro__ if isinstance(namespace, type) else ()
        holder = next((each for each in above if name in vars(each)), namespace)
        meaning = Meaning(vars(holder).get(name))
        if meaning.may_lead:
            self._attributes[id(holder), name] = (ref(holder), name), meaning


class _Function(_Names):
    """A function: its code, what it is around, its globals and the variables that it shares with others."""

    def __init__(self, function: FunctionType, scope: Any, chains: list[Chain]) -> None:
        super().__init__(scope, chains)
        self._function, self._code = ref(function), function.__code__
        self._globals: _Meanings = []
        self._cells: list[tuple[int, Meaning]] = []
        shared = function.__code__.co_freevars
        for root, meaning in _meanings(scope, chains):
            if root in shared:
                self._cells.append((shared.index(root), meaning))
            elif not scope.is_local(root):
                self._globals.append((root, meaning))
        if "__wrapped__" in vars(function):
            self._note(function, "__wrapped__")

    @property
    def change(self) -> Change:
        function = self._function()
        if function is None:
            return Change.GONE
        if function.__code__ is not self._code:
            return Change.EDIT
        found = _change(self._globals, function.__globals__.get)
        if self._cells:
            closure = function.__closure__ or ()
            found = max(found, _change(self._cells, lambda index: content_of(closure[index])))
        return max(found, _change(self._attributes.values(), _held)) if self._attributes else found


class _Class(_Names):
    """A class: its methods, and what the names in its body mean."""

    def __init__(self, cls: type, scope: Any, chains: list[Chain]) -> None:
        super().__init__(scope, chains)
        self._class, self._module = ref(cls), cls.__module__
        self._globals = [*_meanings(scope, chains)]
        self._methods = [*_methods_of(vars(cls))]
        self._ids = [(name, member) for name, member, _ in self._methods]
        self._codes = [(function, code) for _, _, found in self._methods for function, code, _ in found]
        self._size = len(vars(cls))

    @property
    def change(self) -> Change:
        cls = self._class()
        if cls is None:
            return Change.GONE
        members, is_same = vars(cls), True
        for name, member in self._ids:
            is_same = is_same and id(members.get(name)) == member
        for function, code in self._codes:
            # What takes the place of a method may get its id, but has other functions then.
            own = function()
            is_same = is_same and own is not None and own.__code__ is code
        if not is_same and self._has_edited_methods(cls):
            return Change.EDIT
        found = Change.NONE if is_same and not self._has_more_methods(members) else Change.MORE
        if self._globals:
            found = max(found, _change(self._globals, namespace_of(self._module).get))
        return max(found, _change(self._attributes.values(), _held)) if self._attributes else found

    def _has_edited_methods(self, cls: type) -> bool:
        """Whether members have other functions of the same names, or the same functions other code."""
        return any(_is_edited(vars(cls).get(name), functions) for name, _, functions in self._methods)

    def _has_more_methods(self, members: Mapping[str, Any]) -> bool:
        """Whether there are methods that weren't; looked for only if there are more members at all."""
        before, self._size = self._size, len(members)
        return len(members) > before and len([*_methods_of(members)]) > len(self._methods)


_Functions = list[tuple[ReferenceType[Any], CodeType, str]]
"""The functions of a method, or of a property, with the code and the name of each."""

_NOTHING: dict[str, Any] = {}


def _change(meanings: Iterable[tuple[T, Meaning]], now_of: Callable[[T], Any]) -> Change:
    """What has changed of what these meant. Each run looks at all names, so that most are passed over right here."""
    found = Change.NONE
    for name, meaning in meanings:
        now, before = now_of(name), meaning.was()
        if before is None or (now is not before and type(now) is not before):
            found = max(found, meaning.change(now))
    return found


def _held(attribute: _Attribute) -> Any:
    holder, name = attribute
    return getattr(holder(), "__dict__", _NOTHING).get(name)


def _meanings(scope: Any, chains: list[Chain]) -> Iterator[tuple[str, Meaning]]:
    """What names mean that may lead to code, but for those of Python's own functions."""
    for root in {chain[0] for chain in chains}:
        value = scope.resolve((root,))
        if value is not None or not hasattr(builtins, root):
            meaning = Meaning(value)
            if meaning.may_lead:
                yield root, meaning


def _methods_of(members: Mapping[str, Any]) -> Iterator[tuple[str, int, _Functions]]:
    """Of each member that has functions: its name, its id, and these."""
    for name, member in list(members.items()):
        with suppress(Exception):  # a project's objects may raise anything when looked at
            found = [(ref(each), each.__code__, each.__qualname__) for each in functions_of(member)]
            if found:
                yield name, id(member), found


def _is_edited(member: Any, before: _Functions) -> bool:
    """Whether a member has other functions of the same names."""
    try:
        now = [*functions_of(member)]
    except Exception:
        return False
    if [each.__qualname__ for each in now] != [name for _, _, name in before]:
        return False
    found = zip(now, before, strict=True)
    return any(
        each.__code__ is not code or (each is not was() and is_replaced(each, code))
        for each, (was, code, _) in found
    )


def _is_entered(namespace: Any) -> bool:
    """Whether names are followed into it: libraries' code doesn't count."""
    return is_own_module(namespace.__name__) if isinstance(namespace, ModuleType) else is_own(namespace)
