"""Which variables are a state that a function shares with others inside the same one: a memo, a counter in a dict.

Rule: a list, dict or set that the function around it makes of constants alone, and leaves to the functions inside it,
holds what these have put there since. Of one that changes such things itself, that is its state, another one on each
attempt, and nothing that it was given. What the function around puts in, or hands on, may be what tells two apart, and
so may what another function inside puts in, unless that becomes an attribute and no more, as `f.clear` does. It is read
from the compiled code, as that is there without its source.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from functools import lru_cache
from itertools import dropwhile, islice, pairwise
from types import CodeType, FunctionType

from flowfn.identity.code.around import code_around
from flowfn.identity.code.compiled import changes_items, code_inside
from flowfn.identity.code.unwrapping import content_of
from flowfn.identity.made_with.assignments import Step, steps_of_maker

__all__ = ["CONTAINERS", "states_of"]

CONTAINERS = frozenset({list, dict, set, deque, defaultdict, Counter, OrderedDict})
"""What memos and counters are kept in."""


def states_of(function: FunctionType) -> frozenset[str]:
    """The variables in its closure that are a state."""
    if not function.__closure__ or not changes_items(function.__code__):
        return frozenset()
    held = zip(function.__code__.co_freevars, function.__closure__, strict=True)
    names = [name for name, cell in held if type(content_of(cell)) in CONTAINERS]
    if not names:
        return frozenset()
    module = sys.modules.get(str(function.__globals__.get("__name__")))
    path = (*code_around(module, function.__code__.co_qualname), function.__code__)
    return frozenset(name for name in names if _is_a_state(path, name))


@lru_cache(maxsize=1024)
def _is_a_state(path: tuple[CodeType, ...], name: str) -> bool:
    """Whether a variable of one of the functions around the last one, the outermost first, is made of constants there,
    and nothing but what is inside all of them changes it."""
    owners = [place for place, code in enumerate(path[:-1]) if name in code.co_cellvars]
    if not owners:
        return False
    path = path[owners[-1] :]
    owner, *between = steps = [list(steps_of_maker(code)) for code in path[:-1]]
    stored = [at for at, step in enumerate(owner) if (step.action, step.name) == ("STORE_DEREF", name)]
    if len(stored) != 1 or owner[stored[0]].joins or not _is_of_constants(owner[: stored[0]]):
        return False
    if any(_hands_on(steps[at], beside) for at, beside in _changing_beside(path, name)):
        return False
    rest = [owner[: stored[0]], owner[stored[0] + 1 :], *between]
    return not any(_uses(steps, name) for steps in rest)


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


def _is_of_constants(steps: list[Step]) -> bool:
    """Whether the expression that ends with the steps is made of constants alone."""
    wanted = 1
    for step in reversed(steps):
        if step.action not in _IDLE:
            operands = _operands_of(step)
            if operands is None or step.joins:
                return False
            wanted += operands - 1
            if not wanted:
                return True
    return False


_IDLE = ("PRECALL", "PUSH_NULL", "NOP")


def _operands_of(step: Step) -> int | None:
    """How many values a step makes one of; None of one that may make it of more than constants."""
    match step.action:
        case "LOAD_CONST" | "LOAD_SMALL_INT":
            return 0
        case "LOAD_GLOBAL":
            return 0 if step.name in _CLASSES else None
        case "BUILD_LIST" | "BUILD_SET" | "BUILD_TUPLE":
            return int(step.name)
        case "BUILD_MAP":
            return 2 * int(step.name)
        case "BUILD_CONST_KEY_MAP" | "CALL":
            return 1 + int(step.name)
        case "LIST_EXTEND" | "SET_UPDATE" | "DICT_UPDATE":
            return 2
    return None


_CLASSES = frozenset({each.__name__ for each in (*CONTAINERS, int, float, bool, str)})
"""What makes a container, or is what a `defaultdict` makes."""
