"""Which attributes a method assigns that makes an object, and of what they are made.

Rule: an attribute is *given* where it is a parameter as it is, and *made* where operators, conditions, f-strings and
pure functions make it of parameters alone; a `**mapping` that is assigned as it is, is *kept*. All else (an id, a port,
a counter) is another one on the next call. A base's `__init__` has its own default for what the method surely doesn't
hand it. It is read from the compiled code, as that is there without its source, and is what the process runs.
"""

from __future__ import annotations

import dis
import math
import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from types import CodeType
from typing import Any, Literal, NamedTuple

from flowfn.identity.code.compiled import VARARGS, VARKEYWORDS, parameters_of

__all__ = ["How", "Maker", "Step", "steps_of_maker"]

How = Literal["given", "made", "kept", ""]
"""What an attribute is assigned; empty: anything."""


class Maker:
    """A method that makes an object, such as `__init__`: what it assigns, and what it hands on."""

    def __init__(self, code: CodeType) -> None:
        self._steps = list(steps_of_maker(code))
        self._me, *parameters = parameters_of(code) or [""]
        self._places = code.co_argcount - 1
        self._texts = frozenset(_texts(code.co_consts))
        self._parameters = frozenset(parameters)
        self._catches = bool(code.co_exceptiontable)
        self.takes_any = bool(code.co_flags & VARKEYWORDS)
        """Whether it has a `**mapping`, which is its last parameter."""
        self._mapping = parameters[-1] if self.takes_any and parameters else ""
        self._rest = parameters[-1 - self.takes_any] if code.co_flags & VARARGS and parameters else ""
        self._known = self._made_of_parameters()

    def assigned(self) -> Iterator[tuple[str, How]]:
        """The attributes that it assigns, and what."""
        spread = self._spread()
        for at, step in enumerate(self._steps):
            if step.action == "STORE_ATTR" and self._is_me(at - 1):
                yield step.name, spread.get(at) or self._how(at - 1)
            elif step.action in ("STORE_ATTR", "DELETE_ATTR"):
                yield step.name, ""

    def named_alike(self) -> Iterator[str]:
        """The attributes that it assigns the variables of their names, as they are."""
        for at, step in enumerate(self._steps):
            is_of_variable = self._is_me(at - 1) and self._is_variable(at - 2)
            if step.action == "STORE_ATTR" and is_of_variable and self._steps[at - 2].name == step.name:
                yield step.name

    def leaves_to_its_base(self, parameter: str, place: float) -> bool:
        """Whether it calls `super().__init__`, once, and hands that nothing of its own for a parameter of that name and
        at that place among those by position; only what its caller gave it as `*args` and `**kwargs`."""
        steps = self._steps
        found = [at for at, step in enumerate(steps) if step.name == "__init__"]
        if len(found) != 1 or not self._is_of_super(found[0]) or parameter in self._parameters | self._texts:
            return False
        spreading = [at for at, step in enumerate(steps) if step.action == "CALL_FUNCTION_EX"]
        if spreading:
            return len(spreading) == 1 and self._hands_on_what_it_got(found[0] + 1, spreading[0], place)
        calls = [at for at, step in enumerate(steps) if step.action in ("CALL", "CALL_KW")]
        return all(
            self._by_position(at) <= place for at in calls
        )  # and so that one, wherever its arguments end

    def _is_of_super(self, at: int) -> bool:
        """Whether a step names an attribute of `super()`."""
        before = [(step.action, step.name) for step in self._steps[max(at - 3, 0) : at]]
        if self._steps[at].action == "LOAD_SUPER_ATTR":
            return ("LOAD_DEREF", "__class__") in before
        return before == [("LOAD_GLOBAL", "super"), ("PRECALL", 0), ("CALL", 0)]

    def _by_position(self, at: int) -> int:
        """How many arguments a call has by position."""
        call, before = self._steps[at], self._steps[at - 1]
        if before.action == "PRECALL":
            before = self._steps[at - 2]
        names = before.name if call.action == "CALL_KW" or before.action == "KW_NAMES" else ()
        return int(call.name - len(names))

    def _hands_on_what_it_got(self, begin: int, end: int, place: float) -> bool:
        """Whether the steps of a call's arguments have no other `*` and `**` than its own, as they are, and nothing at
        that place before them."""
        whole = [self._rest, self._mapping]
        used = [step.name for step in self._steps if step.action == "LOAD_FAST" and step.name in whole]
        told = "".join(map(self._kind_of_argument, self._steps[begin:end]))
        own = len(told) - len(told.lstrip("v"))
        is_as_it_was = len(used) == len(set(used)) and self._stored.isdisjoint(used)
        fits = own <= place and ("R" not in told or own <= self._places or place == math.inf)
        return is_as_it_was and fits and _HANDED_ON.fullmatch(told) is not None

    def _kind_of_argument(self, step: Step) -> str:
        if step.action == "LOAD_FAST" and step.name in (self._rest, self._mapping):
            return "R" if step.name == self._rest else "M"
        if step.action == "LOAD_CONST" and step.name == ():
            return "t"
        return _ARGUMENTS.get(step.action, "?")

    def _spread(self) -> dict[int, How]:
        """What is assigned at the steps of `self.host, self.port = host, port`, or `= address`."""
        steps, found = self._steps, dict[int, How]()
        for at, step in enumerate(steps):
            if step.action not in ("SWAP", "UNPACK_SEQUENCE"):
                continue
            packs = step.action == "UNPACK_SEQUENCE" and steps[at - 1].action == "BUILD_TUPLE"
            end = at - 1 if packs else at
            values = range(end - step.name, end)
            targets = range(at + 2, min(at + 2 + 2 * step.name, len(steps)), 2)
            if {steps[target].action for target in targets} != {"STORE_ATTR"}:
                continue
            one_by_one = (packs or step.action == "SWAP") and all(map(self._is_a_value, values))
            for target, value in zip(targets, values, strict=False):
                if not one_by_one:
                    used = self._made_of(end)
                    found[target] = "made" if used and used <= self._known else ""
                elif self._is_variable(value):
                    found[target] = self._how(value + 1)
        return found

    def _is_variable(self, at: int) -> bool:
        return self._steps[at].action == "LOAD_FAST"

    def _is_a_value(self, at: int) -> bool:
        """Whether a step alone is an expression: a variable, a constant, or `[]` or `{}`."""
        action, name, *_ = self._steps[at]
        return action in ("LOAD_FAST", "LOAD_CONST") or (action in ("BUILD_LIST", "BUILD_MAP") and name == 0)

    def hands_on_to(self, method: str) -> bool:
        """Whether it names a method of the object only to call it with what is made of its own parameters."""
        named = [at for at, step in enumerate(self._steps) if step.name == method]
        return all(self._is_me(at - 1) and self._calls_with_known(at + 1) for at in named)

    def _is_me(self, at: int) -> bool:
        return self._is_variable(at) and self._steps[at].name == self._me

    def _calls_with_known(self, begin: int) -> bool:
        for end in range(begin, len(self._steps)):
            step = self._steps[end]
            if step.action == "POP_TOP":
                return self._calls_only_what_is_pure(begin, end, besides=1)
            if not (step.name in self._known if step.action == "LOAD_FAST" else self._gives_the_same(end)):
                break
        return False

    def _how(self, end: int) -> How:
        used = self._used(end)
        if not used or not used <= self._known:
            return ""
        alone = self._steps[end - 1].action == "LOAD_FAST" and not self._steps[end].joins
        if not alone or not used <= self._parameters - self._stored:
            return "made"
        return "kept" if used == {self._mapping} else "given"

    @property
    def _stored(self) -> set[str]:
        return {step.name for step in self._steps if step.action == "STORE_FAST"}

    def _made_of_parameters(self) -> AbstractSet[str]:
        """The variables that hold nothing but what is made of the parameters.

        Where code branches on anything else, or catches errors, no variable that it assigns is one.
        """
        steps = self._steps
        made_of = [
            (step.name, self._used(at)) for at, step in enumerate(steps) if step.action == "STORE_FAST"
        ]
        known = self._parameters | {name for name, _ in made_of}
        while strangers := {name for name, used in made_of if used is None or not used <= known} & known:
            known -= strangers
        asked = [self._used(at) for at, step in enumerate(steps) if step.action.startswith(_BRANCHES)]
        if self._catches or any(used is None or not used <= known for used in asked):
            known = self._parameters - {name for name, _ in made_of}
        return known

    def _used(self, end: int) -> set[str] | None:
        """The variables that the expression which ends before a step is made of; None if it is made of more."""
        steps = self._steps
        if steps[end - 1].action == "LOAD_FAST" and not steps[end].joins:
            return {steps[end - 1].name}
        return self._made_of(end)

    def _made_of(self, end: int) -> set[str] | None:
        """The variables that a statement has used before a step; None if it has used more."""
        steps, used = self._steps, set[str]()
        for at in range(end - 1, -1, -1):
            if steps[at].action == "LOAD_FAST":
                used.add(steps[at].name)
            elif self._is_before(at, end):
                break
            elif not self._gives_the_same(at):
                return None
        return used if self._calls_only_what_is_pure(at, end) else None

    def _gives_the_same(self, at: int) -> bool:
        """Whether an instruction gives the same for the same operands, however often it runs."""
        action = self._steps[at].action
        return action.startswith(_OF_OPERANDS) or action in _CALLING or self._names_what_is_pure(at)

    def _names_what_is_pure(self, at: int) -> bool:
        action, name, *_ = self._steps[at]
        if action == "LOAD_GLOBAL":
            return name in _PURE_FUNCTIONS
        if action not in ("LOAD_METHOD", "LOAD_ATTR"):
            return False
        of_mapping = (self._steps[at - 1].action, self._steps[at - 1].name) == ("LOAD_FAST", self._mapping)
        return name in _PURE_METHODS or (of_mapping and name in ("get", "pop"))

    def _calls_only_what_is_pure(self, begin: int, end: int, besides: int = 0) -> bool:
        calls = sum(self._steps[at].action in ("CALL", "CALL_KW") for at in range(begin, end))
        return calls <= besides + sum(map(self._names_what_is_pure, range(begin, end)))

    def _is_before(self, at: int, end: int) -> bool:
        """Whether a step is of an earlier statement than the expression that ends there, or decides if that runs."""
        action, name = self._steps[at].action, self._steps[at].name
        before = self._steps[at - 1].action
        if action == "POP_TOP":  # of `a or b`, or of a statement that drops its value
            return not before.startswith(_BRANCHES)
        if action == "STORE_FAST":  # of `:=`, of an inlined comprehension, or of a statement
            return before not in ("COPY", "SWAP")
        if action.startswith(_BRANCHES):
            return bool(name > self._steps[end].offset)
        return action in _ENDS


class Step(NamedTuple):
    """An instruction, by its name and argument."""

    action: str
    name: Any
    offset: int
    joins: bool
    """Whether code jumps to it."""


_ARGUMENTS = {
    "PUSH_NULL": "", "LOAD_FAST": "v", "LOAD_CONST": "v", "BUILD_TUPLE": "t", "BUILD_LIST": "l", "LIST_EXTEND": "e",
    "LIST_TO_TUPLE": "t", "CALL_INTRINSIC_1": "t", "BUILD_MAP": "m", "BUILD_CONST_KEY_MAP": "m", "DICT_MERGE": "u",
}  # fmt: skip
"""Instructions that make the arguments of a call with `*` or `**`, each by a letter."""

_HANDED_ON = re.compile("(?:R|v*t|v*lRet)(?:v*m(?:Mu)?)?")
"""Variables and constants, the rest as it was given, some by name, and the mapping as it was given."""

_BRANCHES = ("POP_JUMP", "JUMP_IF")
_OF_OPERANDS = (
    *_BRANCHES, "JUMP_FORWARD", "LOAD_CONST", "LOAD_SMALL_INT", "FORMAT_", "CONVERT_VALUE", "BUILD_STRING",
    "BUILD_TUPLE", "BINARY_OP", "BINARY_SUBSCR", "COMPARE_OP", "IS_OP", "CONTAINS_OP", "UNARY_", "TO_BOOL", "COPY",
    "POP_TOP", "NOP",
)  # fmt: skip
"""How instructions begin that give the same for the same operands, however often they run."""

_CALLING = ("PUSH_NULL", "PRECALL", "KW_NAMES", "CALL", "CALL_KW")
"""Instructions of a call, besides what names the callee."""

_PURE_METHODS = frozenset({
    "strip", "lstrip", "rstrip", "lower", "upper", "title", "casefold", "removeprefix", "removesuffix", "replace",
    "encode", "decode",
})  # fmt: skip
"""Of texts; no `join`, as a set has another order in each process."""

_PURE_FUNCTIONS = frozenset({
    "str", "int", "float", "bool", "bytes", "len", "abs", "round", "isinstance", "Path", "PurePath", "Decimal",
})  # fmt: skip

_ENDS = {
    "RESUME", "STORE_ATTR", "DELETE_ATTR", "DELETE_FAST", "STORE_SUBSCR", "STORE_GLOBAL", "STORE_DEREF",
    "RAISE_VARARGS", "RETURN_VALUE", "RETURN_CONST", "COPY_FREE_VARS", "MAKE_CELL",
}  # fmt: skip
"""Instructions that end a statement."""

_LOCAL = re.compile("(?:LOAD|STORE)_FAST")


def _texts(constants: Iterable[Any]) -> Iterator[str]:
    """The texts among constants, and in tuples of them."""
    for each in constants:
        if isinstance(each, str):
            yield each
        elif isinstance(each, tuple):
            yield from _texts(each)


def steps_of_maker(code: CodeType) -> Iterator[Step]:
    """The instructions of code; those that Python 3.13 joins, one by one, and without what Python 3.14 notes of how it
    runs them: whom a value is borrowed from, and that a branch wasn't taken."""
    for step in dis.get_instructions(code):
        if step.opname.count("_FAST") > 1:
            for action, name in zip(_LOCAL.findall(step.opname), step.argval, strict=True):
                yield Step(action, name, step.offset, step.is_jump_target)
        elif step.opname != "NOT_TAKEN":
            is_of_names = step.opname == "KW_NAMES"  # which Python 3.11 doesn't look up
            argument = code.co_consts[step.arg or 0] if is_of_names else step.argval
            action = "LOAD_FAST" if step.opname == "LOAD_FAST_BORROW" else step.opname
            yield Step(action, argument, step.offset, step.is_jump_target)
