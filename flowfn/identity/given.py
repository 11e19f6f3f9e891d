"""Which attributes of an object hold what it was given when it was made.

Rule: of an object without fields and equality an attribute counts that `__init__` sets to an argument of its own
(`self.name = name`), or to what operators, conditions and f-strings make of them (`self.url = f"https://{host}"`),
while nothing else in the class assigns it. What anything else makes (an id, a port, a counter) is another one on the
next attempt or after the next call, and says nothing of which object it is. Of libraries' classes
nothing counts, as an upgrade may change what they keep.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from flowfn.identity.fingerprint import function_of as unwrapped
from flowfn.identity.project import is_own

__all__ = ["Methods", "assigned_attributes", "code_of", "methods_of"]

_LOCAL = re.compile("(?:LOAD|STORE)_FAST")


class Methods(NamedTuple):
    """The code of a class's methods, and the attributes that tell what its instances were given: whether as it was."""

    codes: frozenset[CodeType]
    given: dict[str, bool]


_known: WeakKeyDictionary[type, Methods] = WeakKeyDictionary()


def methods_of(cls: type) -> Methods:
    """What is read of a class's code, once."""
    known = _known.get(cls)
    if known is None:
        members = [(name, member) for base in cls.__mro__ for name, member in vars(base).items()]
        makers = [code for name, member in members if name == "__init__" for code in code_of(member)]
        others = [code for name, member in members if name != "__init__" for code in code_of(member)]
        given = _given(makers, others) if is_own(cls) else {}
        known = _known[cls] = Methods(frozenset(others), given)
    return known


def _given(makers: list[CodeType], others: list[CodeType]) -> dict[str, bool]:
    if any(map(_assigns_by_name, (*makers, *others))):
        return {}
    kept = [each for code in makers for each in _assigned_by(code)]
    given = {name for name, how in kept if how} - {name for name, how in kept if not how}
    given.difference_update(*map(assigned_attributes, others))
    return {name: (name, "made") not in kept for name in sorted(given)}


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


def _assigned_by(maker: CodeType) -> Iterator[tuple[str, str]]:
    """The attributes that an `__init__` assigns, and to what: `"given"`, `"made"` of arguments alone, or `""`, else."""
    steps = list(_steps(maker))
    me, *parameters = maker.co_varnames[: maker.co_argcount + maker.co_kwonlyargcount] or ("",)
    as_given = set(parameters) - {step.name for step in steps if step.action == "STORE_FAST"}
    known = _made_of(parameters, steps, maker)
    for at, step in enumerate(steps):
        if step.action in ("STORE_ATTR", "DELETE_ATTR"):
            of_me = (steps[at - 1].action, steps[at - 1].name) == ("LOAD_FAST", me)
            used = _used(steps, at - 1) if of_me and step.action == "STORE_ATTR" else None
            if not used or not used <= known:
                yield step.name, ""
            else:
                alone = steps[at - 2].action == "LOAD_FAST" and not steps[at - 1].joins
                yield step.name, "given" if alone and used <= as_given else "made"


def _made_of(parameters: list[str], steps: list[_Step], maker: CodeType) -> set[str]:
    """The variables that hold nothing but what is made of the parameters.

    Where code branches on anything else, or catches errors, no variable that it assigns is one.
    """
    assigned = [(step.name, _used(steps, at)) for at, step in enumerate(steps) if step.action == "STORE_FAST"]
    known = {*parameters, *(name for name, _ in assigned)}
    while strangers := {name for name, used in assigned if used is None or not used <= known} & known:
        known -= strangers
    asked = [_used(steps, at) for at, step in enumerate(steps) if step.action.startswith(_BRANCHES)]
    if maker.co_exceptiontable or any(used is None or not used <= known for used in asked):
        known = set(parameters) - {name for name, _ in assigned}
    return known


def _used(steps: list[_Step], end: int) -> set[str] | None:
    """The variables that the expression which ends before a step is made of; None if it is made of more."""
    if steps[end - 1].action == "LOAD_FAST" and not steps[end].joins:
        return {steps[end - 1].name}
    used = set()
    for at in range(end - 1, -1, -1):
        step = steps[at]
        if step.action == "LOAD_FAST":
            used.add(step.name)
        elif _is_before(steps, at, end):
            break
        elif not step.action.startswith(_OF_OPERANDS):
            return None
    return used


def _is_before(steps: list[_Step], at: int, end: int) -> bool:
    """Whether a step is of an earlier statement than the expression that ends there, or decides whether that runs."""
    action, name, *_ = steps[at]
    if action == "POP_TOP":  # of `a or b`, or of a statement that drops its value
        return not steps[at - 1].action.startswith(_BRANCHES)
    if action == "STORE_FAST":  # of `:=`, of an inlined comprehension, or of a statement
        return steps[at - 1].action not in ("COPY", "SWAP")
    if action.startswith(_BRANCHES):
        return bool(name > steps[end].offset)
    return action in _ENDS


class _Step(NamedTuple):
    action: str
    name: Any
    offset: int
    joins: bool
    """Whether code jumps to it."""


_BRANCHES = ("POP_JUMP", "JUMP_IF")
_OF_OPERANDS = (
    *_BRANCHES, "JUMP_FORWARD", "LOAD_CONST", "LOAD_SMALL_INT", "FORMAT_", "CONVERT_VALUE", "BUILD_STRING",
    "BUILD_TUPLE", "BINARY_OP", "COMPARE_OP", "IS_OP", "CONTAINS_OP", "UNARY_", "TO_BOOL", "COPY", "POP_TOP", "NOP",
    "NOT_TAKEN",
)  # fmt: skip
"""How instructions begin that give the same for the same operands, however often they run."""

_ENDS = {
    "RESUME", "STORE_ATTR", "DELETE_ATTR", "DELETE_FAST", "STORE_SUBSCR", "STORE_GLOBAL", "STORE_DEREF",
    "RAISE_VARARGS", "RETURN_VALUE", "RETURN_CONST", "COPY_FREE_VARS", "MAKE_CELL",
}  # fmt: skip
"""Instructions that end a statement."""


def _steps(code: CodeType) -> Iterator[_Step]:
    """The instructions of code, by name and argument; those that Python 3.13 joins, one by one."""
    for step in dis.get_instructions(code):
        if step.opname.count("_FAST") > 1:
            for action, name in zip(_LOCAL.findall(step.opname), step.argval, strict=True):
                yield _Step(action, name, step.offset, step.is_jump_target)
        else:
            yield _Step(step.opname, step.argval, step.offset, step.is_jump_target)
