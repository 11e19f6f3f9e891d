"""What variables held at first that a function shares with others inside the same one: a memo, a counter in a dict.

Rule: a list, dict or set that the function around it makes of constants alone, and leaves to the functions inside it,
holds what these have put there since. Of one that changes such things itself, that is its state, another one on each
attempt, and nothing that it was given. What the function around puts in, or hands on, may be what tells two apart, and
so may what another function inside puts in, unless that becomes an attribute and no more, as `f.clear` does. It is read
from the compiled code, as that is there without its source.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import dropwhile, islice, pairwise
from types import CodeType, FunctionType
from typing import Any

from flowfn.identity.code.around import code_around
from flowfn.identity.code.compiled import changes_items, code_inside
from flowfn.identity.made_with.assignments import Step, steps_of_maker
from flowfn.values import MISSING

__all__ = ["CONTAINERS", "as_begun"]

CONTAINERS = frozenset({list, dict, set, deque, defaultdict, Counter, OrderedDict})
"""What memos and counters are kept in."""

_EMPTY: Mapping[str, Any] = {
    each.__name__: [] if each in (list, deque) else {} if issubclass(each, dict) else set()
    for each in CONTAINERS
}


def as_begun(function: FunctionType) -> Mapping[str, Any]:
    """What the variables in its closure held at first that are a state, by name."""
    if not function.__closure__ or not changes_items(function.__code__):
        return {}
    held = zip(function.__code__.co_freevars, function.__closure__, strict=True)
    names = [name for name, cell in held if _holds_a_container(cell)]
    if not names:
        return {}
    module = sys.modules.get(str(function.__globals__.get("__name__")))
    path = (*code_around(module, function.__code__.co_qualname), function.__code__)
    found = ((name, _begun(path, name)) for name in names)
    return {name: value for name, value in found if value is not MISSING}


def _holds_a_container(cell: Any) -> bool:
    try:
        return type(cell.cell_contents) in CONTAINERS
    except ValueError:  # not assigned yet
        return False


@lru_cache(maxsize=1024)
def _begun(path: tuple[CodeType, ...], name: str) -> Any:
    """What a variable of one of the functions around the last one, the outermost first, holds at first, if nothing but
    what is inside all of them changes that; else `MISSING`."""
    owners = [place for place, code in enumerate(path[:-1]) if name in code.co_cellvars]
    if not owners:
        return MISSING
    path = path[owners[-1] :]
    owner, *between = steps = [list(steps_of_maker(code)) for code in path[:-1]]
    stored = [at for at, step in enumerate(owner) if (step.action, step.name) == ("STORE_DEREF", name)]
    if len(stored) != 1 or owner[stored[0]].joins:
        return MISSING
    if any(_hands_on(steps[at], beside) for at, beside in _changing_beside(path, name)):
        return MISSING
    rest = [owner[: stored[0]], owner[stored[0] + 1 :], *between]
    return MISSING if any(_uses(steps, name) for steps in rest) else _value_before(owner, stored[0])


def _changing_beside(path: tuple[CodeType, ...], name: str) -> Iterator[tuple[int, CodeType]]:
    """The functions beside those on the way to the last one that may change what a variable holds, and the place of
    each one's maker there."""
    for at, (code, inner) in enumerate(pairwise(path)):
        for each in code_inside(code):
            if each != inner and name in each.co_freevars and changes_items(each):
                yield at, each


def _hands_on(steps: list[Step], function: CodeType) -> bool:
    """Whether code does anything with a function that it makes but to make it an attribute."""
    after = dropwhile(lambda at: steps[at].name is not function, range(len(steps)))
    end = next((at for at in islice(after, 1, None) if steps[at].action not in _MAKING_FUNCTIONS), None)
    if end is None or _becomes_an_attribute(steps, end - 1):
        return False
    return steps[end].action not in ("STORE_FAST", "STORE_DEREF") or any(
        step.name == steps[end].name and step.action.startswith("LOAD_")
        for at, step in enumerate(steps)
        if not _becomes_an_attribute(steps, at)
    )


_MAKING_FUNCTIONS = ("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE")


def _uses(steps: list[Step], name: str) -> bool:
    """Whether code does anything with a variable but to make it an attribute, as `f.known = known`."""
    return any(
        step.name == name and "_DEREF" in step.action and not _becomes_an_attribute(steps, at)
        for at, step in enumerate(steps)
    )


def _becomes_an_attribute(steps: list[Step], at: int) -> bool:
    """Whether the variable that a step loads becomes an attribute, which the code doesn't load again."""
    following = steps[at + 1 : at + 3]
    if [step.action[:5] for step in following] != ["LOAD_", "STORE"] or following[1].action != "STORE_ATTR":
        return False
    return all(step.name != following[1].name or step.action not in _LOADS_OF for step in steps)


_LOADS_OF = ("LOAD_ATTR", "LOAD_METHOD")


class _NoConstant(Exception):
    """A step makes something of more than constants."""


def _value_before(steps: list[Step], end: int) -> Any:
    """The value of the expression that ends before a step, if it is made of constants alone; else `MISSING`."""
    backwards = (step for step in reversed(steps[:end]) if step.action not in _IDLE)
    try:
        return _value(backwards)
    except (_NoConstant, TypeError):  # such a constant can't be a key
        return MISSING


_IDLE = ("PRECALL", "NOP")


def _value(backwards: Iterator[Step]) -> Any:
    """What a step makes, and those before it that it needs, which it takes."""
    action, name, _, joins = next(backwards, _NOTHING)
    if joins:
        raise _NoConstant
    if action in ("LOAD_CONST", "LOAD_SMALL_INT"):
        return name
    if action == "CALL":
        return _empty(backwards, name)
    if action in ("LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE"):
        added, container = _value(backwards), _value(backwards)
        return type(container)([*container, *added]) if action != "DICT_UPDATE" else container | added
    if action == "BUILD_CONST_KEY_MAP":
        return dict(zip(_value(backwards), _values(backwards, name), strict=True))
    if action == "BUILD_MAP":
        flat = _values(backwards, 2 * name)
        return dict(zip(flat[::2], flat[1::2], strict=True))
    if action not in _BUILDS:
        raise _NoConstant
    return _BUILDS[action](_values(backwards, name))


_NOTHING = Step("", None, 0, False)
_BUILDS: Mapping[str, Any] = {"BUILD_LIST": list, "BUILD_SET": set, "BUILD_TUPLE": tuple}


def _values(backwards: Iterator[Step], count: int) -> list[Any]:
    return [_value(backwards) for _ in range(count)][::-1]


def _empty(backwards: Iterator[Step], arguments: int) -> Any:
    """What a call of a class of containers makes: an empty one, also where a `defaultdict` is given a class."""
    given = [next(backwards, _NOTHING) for _ in range(arguments)]
    callee = next(backwards, _NOTHING)
    if callee.action == "PUSH_NULL":
        callee = next(backwards, _NOTHING)
    fits = all(each.action == "LOAD_GLOBAL" for each in given) and (not given or callee.name == "defaultdict")
    if callee.name not in _EMPTY or not fits:
        raise _NoConstant
    return _EMPTY[callee.name]
