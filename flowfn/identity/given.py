"""What an object was given when it was made, as far as it keeps that.

Rule: of an object without fields and equality an attribute counts that `__init__` sets to an argument of its own, as it
is (`self.name = name`), while nothing else in the class assigns it. What is made on the way (an id, a port, a counter)
is another one on the next attempt or after the next call, and says nothing of which object it is. Of libraries' classes
nothing counts, as an upgrade may change what they keep.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from flowfn.identity.attributes import attributes_of
from flowfn.identity.constant import is_constant
from flowfn.identity.fingerprint import function_of as unwrapped
from flowfn.identity.project import is_own

__all__ = ["assigned_attributes", "code_of", "given_to", "given_to_owner"]

_LOCAL = re.compile("(?:LOAD|STORE)_FAST")


def given_to_owner(function: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What tells the object that a method is called on from others of its class, by `self.name`; empty for all else.

    So of other arguments that are of this class.
    """
    method = unwrapped(function)
    if type(method) is not FunctionType:
        return {}
    given: dict[str, Any] = {}
    for argument, value in arguments.items():
        with suppress(Exception):  # objects run their authors' code when looked at
            if method.__code__ in _methods_of(type(value)).codes:
                given |= {f"{argument}.{name}": each for name, each in given_to(value).items()}
    return given


def given_to(value: Any) -> dict[str, Any]:
    """What an object was given, by attribute. Objects run their authors' code when looked at, which may raise."""
    names = _methods_of(type(value)).given
    found = attributes_of(value) if names else {}
    return {name: found[name] for name in names if name in found and is_constant(found[name])}


class _Methods(NamedTuple):
    """The code of a class's methods, and the attributes that hold what its instances were given, sorted."""

    codes: frozenset[CodeType]
    given: tuple[str, ...]


_known: WeakKeyDictionary[type, _Methods] = WeakKeyDictionary()


def _methods_of(cls: type) -> _Methods:
    known = _known.get(cls)
    if known is None:
        members = [(name, member) for base in cls.__mro__ for name, member in vars(base).items()]
        makers = [code for name, member in members if name == "__init__" for code in code_of(member)]
        others = [code for name, member in members if name != "__init__" for code in code_of(member)]
        given = _given(makers, others) if is_own(cls) else ()
        known = _known[cls] = _Methods(frozenset(others), given)
    return known


def _given(makers: list[CodeType], others: list[CodeType]) -> tuple[str, ...]:
    if any(map(_assigns_by_name, (*makers, *others))):
        return ()
    kept = [each for code in makers for each in _assigned_by(code)]
    given = {name for name, is_given in kept if is_given} - {name for name, is_given in kept if not is_given}
    return tuple(sorted(given.difference(*map(assigned_attributes, others))))


def code_of(member: Any) -> Iterator[CodeType]:
    """The code of a class's member: of a method of any kind and under any wrapper, of a property its functions'."""
    faces: tuple[Any, ...] = (member,)
    if isinstance(member, property):
        faces = (member.fget, member.fset, member.fdel)
    for function in map(unwrapped, faces):
        if type(function) is FunctionType:
            yield function.__code__


def assigned_attributes(code: CodeType) -> Iterator[str]:
    """The names of the attributes that code, or code inside it, assigns or deletes, of whatever."""
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_ATTR", "DELETE_ATTR"):
            yield step.argval
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from assigned_attributes(each)


def _assigns_by_name(code: CodeType) -> bool:
    """Whether it may assign attributes whose names it doesn't have, as `setattr` does."""
    names = frozenset(code.co_names)
    by_mapping = not names.isdisjoint({"__dict__", "vars"}) and (
        "update" in names or any(step.opname == "STORE_SUBSCR" for step in dis.get_instructions(code))
    )
    return by_mapping or not names.isdisjoint({"setattr", "__setattr__"})


def _assigned_by(maker: CodeType) -> Iterator[tuple[str, bool]]:
    """The attributes that an `__init__` assigns, and whether each time to one of its arguments, as that was given."""
    steps = list(_steps(maker))
    me, *parameters = maker.co_varnames[: maker.co_argcount + maker.co_kwonlyargcount] or ("",)
    as_given = set(parameters) - {name for action, name in steps if action == "STORE_FAST"}
    before = [("", ""), ("", ""), *steps]
    for value, target, (action, name) in zip(before, before[1:], steps, strict=False):
        if action in ("STORE_ATTR", "DELETE_ATTR"):
            loaded = value[0] == target[0] == "LOAD_FAST" and target[1] == me
            yield name, action == "STORE_ATTR" and loaded and value[1] in as_given


def _steps(code: CodeType) -> Iterator[tuple[str, Any]]:
    """The instructions of code, by name and argument; those that Python 3.13 joins, one by one."""
    for step in dis.get_instructions(code):
        if step.opname.count("_FAST") > 1:
            yield from zip(_LOCAL.findall(step.opname), step.argval, strict=True)
        else:
            yield step.opname, step.argval
