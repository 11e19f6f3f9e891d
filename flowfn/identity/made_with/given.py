"""Which attributes of an object hold what it was given when it was made.

Rule: of an object without fields and equality an attribute counts that `__init__` sets to an argument of its own
(`self.name = name`), or to what it makes of them alone (`self.url = f"https://{host}"`, `kwargs["name"]`), while
nothing else in the class assigns it. So does one that a private method sets which only `__init__` calls, with nothing
else, and one that is set by its name in `**kwargs`. Of libraries' classes nothing counts, as an upgrade may change what
they keep.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from flowfn.identity.code.compiled import (
    all_names,
    assigned_attributes,
    assigns_by_name,
    changes_items,
    parameters_of,
)
from flowfn.identity.code.unwrapping import code_of
from flowfn.identity.constant import is_constant
from flowfn.identity.made_with.assignments import How, Maker
from flowfn.python.project import is_own

__all__ = ["Given", "given_by", "given_by_default"]


class Given(NamedTuple):
    """What is read of the code of a class's methods: which attributes of its instances were given, and how.

    `others` are the attributes besides those that were given by their names, where the class is one that sets such.
    `changed` are the attributes, of whatever object, that its other code assigns; None where that may change items.
    """

    given: Mapping[str, How] = {}
    others: frozenset[str] | None = None
    changed: frozenset[str] | None = None

    def how(self, attribute: str) -> How:
        """Whether, and how, an attribute was given."""
        if attribute in self.given:
            return self.given[attribute]
        return "" if self.others is None or attribute in self.others else "given"


_known: WeakKeyDictionary[type, Given] = WeakKeyDictionary()


def given_by(cls: type) -> Given:
    """What is read of a class's code, once."""
    known = _known.get(cls)
    if known is None:
        members = [(name, member) for base in cls.__mro__ for name, member in vars(base).items()]
        named = [(name, code) for name, member in members for code in code_of(member)]
        known = _known[cls] = _read(named) if is_own(cls) else Given()
    return known


def given_by_default(cls: type) -> Iterator[tuple[str, Any]]:
    """The attributes that hold an argument of their names, where it has a default that can't change, and that.

    The default of a base's `__init__` is none where that is handed something else, or isn't called at all.
    """
    known, below = given_by(cls), list[Maker]()
    for init in (vars(base)["__init__"] for base in cls.__mro__ if "__init__" in vars(base)):
        if type(init) is not FunctionType:
            return
        positional = parameters_of(init.__code__)[: init.__code__.co_argcount]
        defaults = dict(zip(reversed(positional), reversed(init.__defaults__ or ()), strict=False))
        defaults |= init.__kwdefaults__ or {}
        maker = Maker(init.__code__)
        for name in maker.named_alike():
            place = positional.index(name) - 1 if name in positional else math.inf
            is_left_out = all(each.leaves_to_its_base(name, place) for each in below)
            is_given = is_left_out and name in defaults and known.how(name) == "given"
            if is_given and is_constant(defaults[name]):
                yield name, defaults[name]
        below.append(maker)


def _read(named: list[tuple[str, CodeType]]) -> Given:
    making = _names_of_makers(named)
    makers = {code: Maker(code) for name, code in named if name in making}
    others = [code for name, code in named if name not in making]
    by_name = [maker for code, maker in makers.items() if assigns_by_name(code)]
    if any(map(assigns_by_name, others)) or not all(maker.takes_any for maker in by_name):
        return Given()
    assigned = [each for maker in makers.values() for each in maker.assigned()]
    elsewhere = frozenset[str]().union(*map(assigned_attributes, others))
    changes = any(map(changes_items, others))
    strange = {name for name, how in assigned if not how or (how == "kept" and changes)}
    given = {name: how for name, how in sorted(assigned) if name not in elsewhere | strange}
    given |= {name: "made" for name, how in assigned if name in given and how == "made"}
    return Given(given, elsewhere | strange if by_name else None, None if changes else elsewhere)


def _names_of_makers(named: list[tuple[str, CodeType]]) -> set[str]:
    """`__init__`, and the private methods that nobody but it calls, with nothing but what it was given."""
    making = {"__init__"}
    private = {name for name, _ in named if name.startswith("_") and not name.startswith("__")}
    naming = {name: [each for each in named if name in all_names(each[1])] for name in private}
    while found := {
        name for name in private - making if naming[name] and _is_handed(name, naming[name], making)
    }:
        making |= found
    return making


def _is_handed(name: str, by: list[tuple[str, CodeType]], making: set[str]) -> bool:
    return all(caller in making and Maker(code).hands_on_to(name) for caller, code in by)
