"""What a function was made with, besides its code: the values of its closure, and its defaults, as they were when it
was decorated. So of a class that a function made: what its methods captured, and its own constants.

Rule: functions of one name may differ in nothing else (`[task(lambda x, k=k: x * k) for k in …]`, a factory's), and
then their records must not be mixed up. What cannot change in place counts by its value; lists, dicts, dataclasses and
models by what was in them then, so that what is done to them later changes nothing; functions, methods, tasks,
workflows and classes by what those were made with in turn; other objects by their type and what they were given. One
that was made alone under its name may have been made with something else, and is still the same function.
"""

from __future__ import annotations

from collections import UserDict, UserList, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from types import FunctionType, MethodType, SimpleNamespace, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin
from weakref import WeakKeyDictionary

from flowfn.identity.code.classes import (
    declares_fields,
    fields_of,
    is_made_by_a_function,
    members_of,
    methods_of_body,
)
from flowfn.identity.code.compiled import assigned_around, changes_items
from flowfn.identity.code.fingerprint import fingerprint
from flowfn.identity.code.functions import (
    function_of,
    goes_by_its_name,
    is_local,
    values_of,
)
from flowfn.identity.code.marked import attributes_of_function
from flowfn.identity.constant import is_constant
from flowfn.identity.forms.attributes import attributes_of
from flowfn.identity.made_with.given import given_by
from flowfn.identity.made_with.states import CONTAINERS, states_of
from flowfn.identity.names import name_of_code, qualified_name
from flowfn.python.parametrised import option
from flowfn.python.plain import PLAIN
from flowfn.python.project import is_own

__all__ = [
    "captured",
    "class_made_with",
    "given_to",
    "given_to_arguments",
    "kept_attributes",
    "untold",
]

_MAX_PARTS = 1000
"""Values in all that a container holds; what holds more is data rather than what tells two functions apart."""

_MAX_DEPTH = 20

_ATOMS = frozenset({type(None), bool, int, float, str, bytes})


class _TooLarge(Exception):
    """A container holds more than what is looked at."""


def captured(function: Any, ours: Iterable[str] = ()) -> dict[str, Any]:
    """What a function was made with, by name; containers are copied, as nested lists and dicts.

    `ours` are names that the engine fills: under them a closure has what belongs to one run.
    """
    target = function_of(function)
    if target is None:
        return {}
    return {name: _kept(value) for name, value in values_of(target) if name not in ours}


def kept_attributes(function: Any) -> dict[str, Any]:
    """The attributes that a function was given (`f.limit = 3`) and doesn't assign itself, by `.name`; after `@task` has
    decorated it, too, so that they are looked at when it is first called."""
    target = function_of(function)
    if target is None or not vars(target):
        return {}
    return {name: _kept(value) for name, value in attributes_of_function(target)}


def untold(function: Any) -> list[Any]:
    """The objects that a function captured of which no more than their types is known, in their order."""
    target = function_of(function)
    look = _Look()
    if target is not None:
        with suppress(_TooLarge):
            look.by_name(dict(values_of(target)))
    return look.untold


def _kept(value: Any) -> Any:
    try:
        return _Look().at(value)
    except _TooLarge:
        return qualified_name(type(value))


class _Look:
    """A look at one value and at what it is made of, as far as that may tell it from others.

    `contents`: whether lists and dicts count by what they hold at present. `code`: whether lambdas do by their code;
    those that a function captured are told by the function's own.
    """

    def __init__(self, *, contents: bool = True, code: bool = False) -> None:
        self._contents = contents
        self._code = code
        self._left = _MAX_PARTS
        self._depth = 0
        self._states: dict[int, Any] = {}
        """The states that functions share, by their ids."""
        self._inside: list[Any] = []
        """The classes and objects that are being looked at: what leads back to them is told by a name."""
        self.untold: list[Any] = []
        """The objects of which no more than their types was found."""

    def at(self, value: Any) -> Any:
        """The value itself where it can't change; of what can, a copy of what it holds, or its type."""
        self._left -= 1
        if self._left < 0:
            raise _TooLarge
        if type(value) in _ATOMS:
            return value
        if self._depth >= _MAX_DEPTH or id(value) in self._states:
            return qualified_name(type(value))
        self._depth += 1
        try:
            return self._at_compound(value)
        except _TooLarge:
            raise
        except Exception:  # objects run their authors' code when looked at
            return self._by_type(value)
        finally:
            self._depth -= 1

    def _by_type(self, value: Any) -> str:
        self.untold.append(value)
        return qualified_name(type(value))

    def _at_compound(self, value: Any) -> Any:
        kind = type(value)
        if issubclass(kind, Mapping) and kind.__module__ in ("builtins", "collections", "types"):
            return self.by_name(value) if self._contents else qualified_name(kind)
        if kind is SimpleNamespace and self._contents:
            return {qualified_name(kind): self.by_name(vars(value))}
        if kind in (list, tuple, deque):
            return (
                list(map(self.at, tuple(value))) if self._contents or kind is tuple else qualified_name(kind)
            )
        if kind in (set, frozenset):
            counts = self._contents or kind is frozenset
            return sorted(map(self._words_of, tuple(value))) if counts else qualified_name(kind)
        if kind is FunctionType:
            held = self._told_of(value)
            return {qualified_name(value): held} if held else qualified_name(value)
        if kind is MethodType:
            return {qualified_name(value.__func__): self.at(value.__self__)}
        if arguments := get_args(value):  # a type such as `list[Row]`
            return {_name_of_generic(value): list(map(self.at, arguments))}
        if issubclass(kind, type):
            made = self.made_with(value)
            return {qualified_name(value): made.all} if made.all else qualified_name(value)
        wrapped = getattr(value, "__wrapped__", None)
        if type(wrapped) in (FunctionType, MethodType, partial):  # a task, a workflow, what a cache is around
            return self.at(wrapped)
        return self._at_object(value)

    def _told_of(self, function: FunctionType) -> dict[str, Any]:
        """What tells a function from others of its name: nothing of one to which the name leads."""
        if is_local(function):
            held = self.by_name(self._held_by(function))
            is_told_by_code = self._code and function.__name__ == "<lambda>"
            return {**held, "code": fingerprint(function).source} if is_told_by_code else held
        if goes_by_its_name(function):
            return {}
        if not is_own(function):
            return dict(self._handed_to_library(function))
        state, written_as = assigned_around(function.__code__), name_of_code(function)
        held = self.by_name(
            {name: value for name, value in self._held_by(function).items() if name not in state}
        )
        return held if written_as == qualified_name(function) else {**held, "written as": written_as}

    def _held_by(self, function: FunctionType) -> dict[str, Any]:
        """What a function inside another one was made with, and was given since; its state, which others may share,
        counts by its type."""
        held = dict(values_of(function))
        self._states.update((id(held[name]), held[name]) for name in states_of(function))
        return held | dict(attributes_of_function(function))

    def _handed_to_library(self, function: FunctionType) -> Iterator[tuple[str, Any]]:
        """What a library's function captured that tells it from others. Its attributes don't, nor what it keeps in
        containers, and of an object of a library's class no more than a value: the next version may keep others."""
        code = function.__code__
        states = assigned_around(code)
        keeps = CONTAINERS if changes_items(code) else ()
        for name, value in values_of(function):
            if name in states or value is function or type(value) in keeps:
                continue
            before, part = len(self.untold), self.at(value)
            is_code = isinstance(value, FunctionType | MethodType | partial)
            if len(self.untold) == before or is_code or is_own(type(value)):
                yield name, part

    def by_name(self, values: Mapping[Any, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, item in tuple(values.items()):
            name = key if type(key) is str else self._name_of_key(key)
            found[name if name not in found else f"{name} {len(found)}"] = self.at(item)
        return found

    def _name_of_key(self, key: Any) -> str:
        shown, is_class = repr(key), isinstance(key, type) and is_own(key)  # of a script, or imported from it
        return self._words_of(key) if is_class or _shows_an_object(shown) else shown

    def _words_of(self, value: Any) -> str:
        """A value in words that are the same in every process, and tell it from others."""
        part = self.at(value)
        shown = repr(part)
        return option(part) if _shows_an_object(shown) and type(value) not in _ATOMS else shown

    def _at_object(self, value: Any) -> Any:
        cls = type(value)
        if self._is_inside(cls):
            return qualified_name(cls)
        if is_constant(value):
            return value
        if cls is partial:
            return self.at([value.func, value.args, value.keywords])
        told = [part for part in (self.given_to(value), self.made_with(cls).members) if part]
        if told:
            return {qualified_name(cls): told[0] if len(told) == 1 else told}
        if hasattr(value, "__qualname__"):
            return qualified_name(value)
        held = _contents_of(value) if self._contents else []
        return {qualified_name(cls): self.at(held)} if held else self._by_type(value)

    def given_to(self, value: Any) -> dict[str, Any]:
        """What an object was given; the fields of one whose class declares them, if contents count."""
        if self._is_inside(value):
            return {}
        self._inside.append(value)
        try:
            if not declares_fields(type(value)):
                changed = given_by(type(value)).changed
                return {name: self._at_given(item, changed) for name, item in _given(value)}
            return self.by_name(attributes_of(value)) if self._contents else {}
        finally:
            self._inside.pop()

    def _at_given(self, value: Any, changed: frozenset[str] | None) -> Any:
        """What an object was given, by what it holds at present, unless code of the object's class may change that."""
        if self._contents or changed is None or not changed.isdisjoint(attributes_of(value)):
            return self.at(value)
        whole = _Look(code=True)
        whole._inside, whole._depth = self._inside, self._depth
        try:
            return whole.at(value)
        except _TooLarge:
            return self.at(value)

    def _is_inside(self, value: Any) -> bool:
        return any(each is value for each in self._inside)

    def made_with(self, cls: type) -> MadeWith:
        """What a class was made with; nothing of one that no function made, which counts by its name."""
        found = MadeWith({}, {})
        if self._is_inside(cls):
            return found
        self._inside.append(cls)
        try:
            for each in filter(is_made_by_a_function, [*cls.__mro__, *type.mro(type(cls))]):
                name = each.__qualname__
                found.members.update(self._telling(members_of(each), f"{name}."))
                for method, function in methods_of_body(each):
                    found.members.update(self._held(each, f"{name}.{method}", function))
                found.fields.update(self._telling(fields_of(each), f"{name}."))
        finally:
            self._inside.pop()
        return found

    def _held(self, cls: type, where: str, function: FunctionType) -> Iterator[tuple[str, Any]]:
        """What a method was made with, and which function it is, if that wasn't defined in the class."""
        if not function.__qualname__.startswith(cls.__qualname__):
            yield where, qualified_name(function)
        for name, value in self._held_by(function).items():
            if not _is_called(value, name) and not self._is_inside(value):
                yield f"{where}.{name}", self.at(value)

    def _telling(self, values: Iterable[tuple[str, Any]], where: str) -> Iterator[tuple[str, Any]]:
        """Those that tell more than their types; `where` is put before their names."""
        for name, value in values:
            part, is_value = self.at(value), is_constant(value)
            is_named = (
                isinstance(part, str) and hasattr(value, "__qualname__") and not _is_called(value, name)
            )
            if is_value or is_named or (part and not isinstance(part, str)):
                yield f"{where}{name}", part


def _contents_of(value: Any) -> list[Any]:
    """What a container holds that is of no class of Python's own, or what another value that may change in place does,
    as containers of Python's hold it; nothing of what only its type tells."""
    cls = type(value)
    for base, plain in PLAIN.items():
        if issubclass(cls, base):
            return [bytes(value) if base is bytearray else plain(value)]
    if issubclass(cls, UserDict | UserList):
        return [value.data]
    if issubclass(cls, BaseException):
        return [value.args, attributes_of(value)]
    if issubclass(cls, memoryview):
        return [value.tobytes()]
    if cls.__module__ == "array":
        return [value.tolist()]
    return _cells_of(value) if cls.__module__.partition(".")[0] in ("numpy", "pandas") else []


def _cells_of(value: Any) -> list[Any]:
    """What an array or a frame holds, of which types, and under which labels."""
    if value.size > _MAX_PARTS:
        raise _TooLarge
    labels = [getattr(value, name).tolist() for name in ("index", "columns") if hasattr(value, name)]
    types = str(value.dtypes.tolist() if hasattr(value, "columns") else value.dtype)
    cells = value.to_numpy().tolist() if labels else value.tolist()
    return [types, list(value.shape), cells, *labels]


def _name_of_generic(value: Any) -> str:
    """What a type with arguments is called: `int | None` as `Optional[int]`."""
    origin = get_origin(value)
    return "union" if origin in (Union, UnionType) else qualified_name(origin)


def _is_called(value: Any, name: str) -> bool:
    """Whether a function or class has that name: what is defined beside the code that names it tells nothing."""
    return getattr(value, "__name__", None) == name


# -- objects --------------------------------------------------------------------------------------


def given_to(value: Any) -> dict[str, Any]:
    """What an object was given that tells it from others of its class, by attribute: what can't change in place, or
    holds what no code of the class changes, and what other objects were given in turn."""
    try:
        return {} if declares_fields(type(value)) else _Look(contents=False, code=True).given_to(value)
    except Exception:  # objects run their authors' code when looked at
        return {}


def given_to_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What tells objects among arguments from others of their classes, by `argument.attribute`."""
    given = ((name, given_to(value)) for name, value in arguments.items())
    return {f"{name}.{attribute}": each for name, found in given for attribute, each in found.items()}


def _given(value: Any) -> Iterator[tuple[str, Any]]:
    """The attributes that hold what an object was given."""
    known = given_by(type(value))
    found = attributes_of(value) if known.given or known.others is not None else {}
    for name in sorted(found):
        how, attribute = known.how(name), found[name]
        if how == "given" or (how == "made" and is_constant(attribute) and not _shows_an_object(attribute)):
            yield name, attribute
        elif how == "kept" and isinstance(attribute, dict):
            yield from ((f"{name}.{key}", item) for key, item in sorted(attribute.items()))


def _shows_an_object(value: Any) -> bool:
    """Whether a text may show where an object lies in memory, or the order of a set: another one in each process."""
    return isinstance(value, str) and (" at 0x" in value or "{" in value)


# -- classes that functions made ------------------------------------------------------------------


class MadeWith(NamedTuple):
    """What a class was made with, by name: its constants and what its methods captured, and its fields, which tell
    classes but no instances."""

    members: dict[str, Any]
    fields: dict[str, Any]

    @property
    def all(self) -> dict[str, Any]:
        """What tells the class from others of its name."""
        return self.members | self.fields


_known: WeakKeyDictionary[type, MadeWith] = WeakKeyDictionary()


def class_made_with(cls: type) -> MadeWith:
    """What a class was made with that can't change in place, as it was when it was first looked at."""
    known = _known.get(cls)
    if known is None:
        known = _known[cls] = _looked_at(cls)
    return known


def _looked_at(cls: type) -> MadeWith:
    try:
        return _Look(contents=False, code=True).made_with(cls)
    except Exception:  # it is too large, or its author's code fails when it is looked at
        return MadeWith({}, {})
