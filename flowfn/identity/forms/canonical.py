"""One form for all values that mean the same: what a digest is taken of.

Rule: a form depends on the value alone: not on insertion order, addresses, the process or the version
of Python; and a value has the form of what a faithful serializer restores from it. Forms are plain
msgpack (`None`, bools, numbers, texts, bytes, lists, maps with text keys) and, for all else,
extensions, which no argument can imitate. A value of no known form counts by its type alone, and the
walk is *weak*.

Here are the walk and the choice of a form. The forms themselves are in `leaves`, `containers`, `callables`,
`exceptions`, `objects`, `arrays` and `frames`.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import EnumMeta
from logging import Logger
from operator import attrgetter, itemgetter, methodcaller
from pathlib import PurePath
from types import BuiltinFunctionType
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from flowfn.errors import STANDS_FOR
from flowfn.identity.forms.callables import CALLABLES, called_form, class_form, wrapper_form, wraps_a_function
from flowfn.identity.forms.containers import CONTAINERS, row_form
from flowfn.identity.forms.exceptions import exception_form
from flowfn.identity.forms.leaves import LEAVES, text_form
from flowfn.identity.forms.notation import Form, tagged
from flowfn.identity.forms.objects import (
    enum_form,
    estimator_form,
    form_of_record,
    future_form,
    is_estimator,
    path_form,
    reduced_form,
    subclass_form,
    with_additions,
)
from flowfn.identity.made_with.captured import class_made_with, given_to
from flowfn.identity.names import qualified_name
from flowfn.identity.volatile import Detector
from flowfn.python.plain import PLAIN

__all__ = ["Walk"]

_MAX_DEPTH = 100
"""Levels. Deeper values, and those that hold themselves, count by type from there on."""

_OFTEN = 16
"""Ways on which a value is walked that has another form on each."""


class Walk:
    """Gives the form of one value, and notes what the caller must know about it.

    `weak`: the class of some part that counts by its type alone, empty where none does. `suspect`: some leaf could be
    volatile, as far as a glance tells. `size`: how many items the containers hold together.
    """

    __slots__ = ("_active", "_cuts", "_met", "enums", "size", "suspect", "weak")

    def __init__(self, enums: dict[type, str] | None = None) -> None:
        self.enums: dict[type, str] = {} if enums is None else enums
        """What enumerations are called whose members it has met; another walk through the same values is given it."""
        self.weak = ""
        self.suspect = False
        self.size = 0
        self._active: set[int] = set()
        self._cuts = 0
        """How often a form depended on the way to its value: that held itself, or was too deep."""
        self._met: dict[int, _Met] = {}

    def walk(self, value: Any, step: Any) -> Any:
        """The form of a value; `step` leads to it from the value around it."""
        kind = type(value)
        form = LEAVES.get(kind)
        if form is not None:
            return form(self, value)
        active, identity = self._active, id(value)
        if identity in active or len(active) >= _MAX_DEPTH:
            self._cuts += 1
            return self.by_type(value)
        form = _COMPOUNDS.get(kind) or _resolve(kind)
        active.add(identity)
        try:
            return self._in_graph(value, form) if self._cuts else form(self, value)
        finally:
            active.discard(identity)

    def _in_graph(self, value: Any, form: Form) -> Any:
        """The form of a value beside which some lead back to themselves, so that there may be many ways to it.

        It is made once, if it is the same on every way. Else, as there are soon more ways than anybody can walk, the
        value is told after some of them by how many were met before it.
        """
        met = self._met.get(id(value))
        if met is None:
            met = self._met[id(value)] = _Met(value, len(self._met))
        elif met.form is not None:
            self.size += met.size
            return met.form
        met.times += 1
        if met.times > _OFTEN:
            return tagged("again", qualified_name(type(value)), met.number)
        before, size = self.circumstances(), self.size
        made = form(self, value)
        if self.circumstances() == before:
            met.form, met.size = made, self.size - size
        return made

    def circumstances(self) -> int:
        """Grows with what a form depends on, or tells of, besides its value."""
        return self._cuts

    def is_in(self, value: Any) -> bool:
        """Whether it has come here through that value: whoever asks has another form on another way."""
        found = id(value) in self._active
        self._cuts += found
        return found

    def of_keys(self) -> Walk:
        """A walk for the keys of a mapping that it has come to: nothing in them stands for another value."""
        keys = Walk()
        keys._active = self._active
        return keys

    def sequence(self, value: Iterable[Any]) -> list[Any]:
        """The forms of items, with their indices as steps."""
        return [self.walk(item, index) for index, item in enumerate(value)]

    def mapping(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """The forms of items, with their keys as steps."""
        return {key: self.walk(item, key) for key, item in value.items()}

    def text(self, value: str) -> Any:
        """The form of a text that a glance could not clear."""
        self.suspect = True
        return text_form(value)

    def enum(self, cls: type) -> str:
        """What an enumeration is called."""
        found = self.enums.get(cls)
        if found is None:
            found = self.enums[cls] = qualified_name(cls)
        return found

    def beside(self, member: Any) -> list[bytes]:
        """What is told of an enum's member beside its name, by which alone it counts."""
        return []

    def leaf(self, value: Any, form: Any, detect: Detector) -> Any:
        """The form of a leaf that may be volatile; `detect` decides."""
        self.suspect = True
        return form

    def by_type(self, value: Any, *, is_part: bool = False) -> Any:
        """All that is known of a value without value semantics: a connection, a lock, a generator.

        Of one that is part of an argument, what it was given as well; of an argument itself that is one more argument.
        """
        self.weak = name = qualified_name(type(value))
        given = given_to(value) if is_part or len(self._active) > 1 else {}
        return tagged("object", name, self.mapping(given)) if given else tagged("object", name)


class _Met:
    """A container or an object that a walk has come to; held, so that no other one gets its id meanwhile."""

    __slots__ = ("form", "number", "size", "times", "value")

    def __init__(self, value: Any, number: int) -> None:
        self.value = value
        self.number = number
        self.times = 0
        self.form: Any = None
        """Its form, where that is the same on every way."""
        self.size = 0


# -- which form a class's instances have -----------------------------------------------------------

_COMPOUNDS: dict[type, Form] = {**CONTAINERS, **CALLABLES}

_resolved: WeakKeyDictionary[type, Form] = WeakKeyDictionary()


def _resolve(cls: type) -> Form:
    """The form of a class's instances, found once per class."""
    form = _resolved.get(cls)
    if form is None:
        form = _resolved[cls] = _cautious(_of_class(vars(cls).get(STANDS_FOR, cls), _form_of(cls)))
    return form


def _of_class(cls: type, form: Form) -> Form:
    """The form of a class's instances, with what tells it from others of its name."""
    told = class_made_with(cls).members

    def of_class(walk: Walk, value: Any) -> Any:
        return tagged("of", form(walk, value), walk.mapping(told))

    return of_class if told else form


def _cautious(form: Form) -> Form:
    """Objects run their authors' code when looked at: where that fails, they count by type."""

    def cautious(walk: Walk, value: Any) -> Any:
        try:
            return form(walk, value)
        except Exception:
            return walk.by_type(value)

    return cautious


def _form_of(cls: type) -> Form:
    """The form of a class's instances, by what the class is."""
    if issubclass(cls, type):
        return class_form
    if isinstance(cls, EnumMeta):
        return enum_form
    if issubclass(cls, BaseException):  # a dataclass may be one, and is stored as an error
        return exception_form
    known = form_of_record(cls) or _form_of_array(cls)
    if known is not None:
        return known
    for base, form in _BASES:
        if issubclass(cls, base):
            return with_additions(cls, base, form) if base in _WITHOUT_THEIR_ADDITIONS else form
    if wraps_a_function(cls):
        return wrapper_form
    if issubclass(cls, Future):
        return future_form
    if _is_mock(cls):
        return Walk.by_type
    if _is_row(cls):
        return row_form
    if cls.__eq__ is not object.__eq__ or issubclass(cls, _MADE_BY_A_CALL):
        return reduced_form
    return estimator_form if is_estimator(cls) else called_form


_MADE_BY_A_CALL = (attrgetter, itemgetter, methodcaller, Logger)
"""Classes without equality whose instances are what they were made with, and stay so."""


def _is_mock(cls: type) -> bool:
    """Whether a class is of `unittest.mock`: its equality is that of objects, and its state the calls that it had."""
    base = getattr(sys.modules.get("unittest.mock"), "NonCallableMock", None)
    return base is not None and issubclass(cls, base)


def _is_row(cls: type) -> bool:
    """Whether a class's instances are rows of a query of `sqlite3`, which can't be pickled, and so tell no state."""
    row = getattr(sys.modules.get("sqlite3"), "Row", None)
    return row is not None and issubclass(cls, row)


def _form_of_array(cls: type) -> Form | None:
    """Arrays and frames: where nobody has loaded numpy, which pandas loads too, there can be none."""
    if "numpy" not in sys.modules:
        return None
    from flowfn.identity.forms import arrays, frames

    return arrays.form_of(cls) or frames.form_of(cls)


_BASES: tuple[tuple[type, Form], ...] = (
    (BuiltinFunctionType, CALLABLES[BuiltinFunctionType]),
    (OrderedDict, subclass_form(OrderedDict)),
    (PurePath, path_form),
    (tzinfo, reduced_form),
    *((base, subclass_form(base)) for base in PLAIN if base is not OrderedDict),
    *((base, LEAVES[base]) for base in (datetime, date, time, timedelta, Decimal, UUID)),
)
"""The first base that a class has: an `OrderedDict` is a dict too, and a datetime a date."""

_WITHOUT_THEIR_ADDITIONS = (PurePath, datetime, date, time, timedelta, Decimal, UUID)
"""Those of them whose form says nothing of what a class that extends them adds."""
