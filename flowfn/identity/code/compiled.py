"""Compiled code, and all that is inside it: the functions, classes and comprehensions that it makes."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType

__all__ = [
    "MUTATING",
    "VARARGS",
    "VARKEYWORDS",
    "all_code",
    "all_names",
    "assigned_around",
    "assigned_attributes",
    "assigns_by_name",
    "changes_items",
    "code_inside",
    "locals_of",
    "parameters_of",
    "steps_of",
]


def code_inside(code: CodeType) -> Iterator[CodeType]:
    """The code that a function's makes functions of, not what is inside that."""
    return (each for each in code.co_consts if isinstance(each, CodeType))


def all_code(code: CodeType) -> Iterator[CodeType]:
    """The code itself, and all that is inside it."""
    yield code
    for each in code_inside(code):
        yield from all_code(each)


def parameters_of(code: CodeType) -> list[str]:
    """The names of a function's parameters, in the order of its variables; `*args` and `**kwargs` come last."""
    variadic = bool(code.co_flags & VARARGS) + bool(code.co_flags & VARKEYWORDS)
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + variadic])


VARARGS, VARKEYWORDS = 0x04, 0x08
"""The flags of code that takes `*args` and `**kwargs`."""


def steps_of(code: CodeType) -> Iterator[dis.Instruction]:
    """The instructions of code, and of all that is inside it."""
    for each in all_code(code):
        yield from dis.get_instructions(each)


def all_names(code: CodeType) -> set[str]:
    """The names of globals and attributes in code, and in code inside it."""
    return {name for each in all_code(code) for name in each.co_names}


# Kept: a factory's code is asked of all that it makes, and to read a long function's instructions takes milliseconds.
@lru_cache(maxsize=1024)
def assigned_attributes(code: CodeType) -> frozenset[str]:
    """The names of the attributes that code, or code inside it, assigns or deletes, of whatever."""
    if all(_OF_ATTRIBUTES.isdisjoint(each.co_code[::2]) for each in all_code(code)):
        return frozenset()  # most code: to read its instructions one by one takes long
    return frozenset(step.argval for step in steps_of(code) if step.opname in ("STORE_ATTR", "DELETE_ATTR"))


_OF_ATTRIBUTES = frozenset({dis.opmap["STORE_ATTR"], dis.opmap["DELETE_ATTR"]})


@lru_cache(maxsize=1024)
def assigned_around(code: CodeType) -> frozenset[str]:
    """The names that it, or a function inside it, assigns or deletes as another function's (`nonlocal`)."""
    return frozenset(
        step.argval
        for each in all_code(code)
        if each.co_freevars
        for step in dis.get_instructions(each)
        if step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in each.co_freevars
    )


@lru_cache(maxsize=4096)
def locals_of(code: CodeType) -> frozenset[str]:
    """The variables of a function, without those of comprehensions in it, which code has among them since Python 3.12:
    as their names mean something else outside, if it has them there."""
    variables = frozenset(code.co_varnames + code.co_cellvars)
    if variables.isdisjoint(all_names(code)):
        return variables
    return variables.difference(step.argval for step in steps_of(code) if step.opname == "LOAD_GLOBAL")


def assigns_by_name(code: CodeType) -> bool:
    """Whether it may assign attributes whose names it doesn't have, as `setattr` does."""
    names = frozenset(code.co_names)
    stores = "update" in names or any(map(_stores_an_item, dis.get_instructions(code)))
    return (stores and not names.isdisjoint({"__dict__", "vars"})) or not names.isdisjoint(
        {"setattr", "__setattr__"}
    )


@lru_cache(maxsize=1024)
def changes_items(code: CodeType) -> bool:
    """Whether it, or code inside it, may change what some mapping, list or set holds."""
    return not MUTATING.isdisjoint(all_names(code)) or any(map(_stores_an_item, steps_of(code)))


MUTATING = frozenset(
    {
        *("update", "pop", "popitem", "setdefault", "clear", "__setitem__", "__delitem__"),
        *("append", "appendleft", "extend", "insert", "remove", "popleft", "add", "discard"),
    }
)
"""The methods that change what a mapping, list or set holds."""


def _stores_an_item(step: dis.Instruction) -> bool:
    return step.opname in ("STORE_SUBSCR", "DELETE_SUBSCR")
