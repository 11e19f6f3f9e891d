"""The arguments of a branch in words, by which it is told from others (`recognising.py`).

Rule: what is data counts by its value, so far as it isn't too much, and what isn't by its type. What looks made anew
each time that the code runs (a deadline, an id), and what an object holds that others may change at any time, counts
apart from the rest. Nothing is called, and nobody's task fails since an object doesn't like to be looked at.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from gc import get_referents
from inspect import CORO_CREATED, getcoroutinestate
from itertools import chain, islice
from pathlib import PosixPath, PurePosixPath
from types import (
    BuiltinFunctionType,
    CoroutineType,
    FunctionType,
    GetSetDescriptorType,
    MethodType,
    ModuleType,
)
from typing import TYPE_CHECKING, Any
from uuid import UUID
from zlib import crc32

from flowfn.identity.code.compiled import VARKEYWORDS, parameters_of
from flowfn.identity.forms.attributes import attributes_of
from flowfn.identity.glance import is_ordinary_text
from flowfn.python.slots import held_in, slots_of

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["ATOMS", "arguments_of", "said_of_arguments"]

_NUMBERS = (bool, int, float, complex, Decimal, Fraction, range)
_TIMES = (date, datetime, time, timedelta)
ATOMS: frozenset[Any] = frozenset(
    (type(None), str, bytes, UUID, *_NUMBERS, *_TIMES, PurePosixPath, PosixPath)
)
"""The types of single values that can't change, and that are told by their `repr`."""


def arguments_of(frame: FrameType, parameters: Iterable[str]) -> list[Any]:
    """Those of the arguments of a call that has yet to begin, or is under way, which have these names."""
    found = frame.f_locals
    held = [found.get(name) for name in parameters]
    if frame.f_code.co_flags & VARKEYWORDS and held and type(held[-1]) is dict:  # its own, and nobody else's
        held[-1:] = chain.from_iterable(held[-1].items())
    return held


def said_of_arguments(arguments: Iterable[Any]) -> Sequence[str]:
    """What the arguments of a call say of it, the surest first: all; all but what objects hold; all but what looks made
    anew; and what is neither."""
    teller = _Teller()
    rest = teller.call(arguments)
    anew, held, held_anew = teller.anew, teller.held, teller.held_anew
    ways = ((*anew, *held, *held_anew), anew, held, ())
    return [f"{rest} {', '.join(apart)}" for apart in ways]


class _Teller:
    """Puts values into words."""

    def __init__(self, *, left: int = 0) -> None:
        self.anew: list[str] = []
        """What looks made anew each time."""
        self.held: list[str] = []
        """What objects hold at the time."""
        self.held_anew: list[str] = []
        """Of that, what looks made anew."""
        self._left = left
        """How many values it may tell yet."""
        self._looks = 0
        """At how many objects it may look: at none where it tells what one of them holds."""

    def call(self, arguments: Iterable[Any]) -> str:
        """What a call is given: of each argument so much, as one may be large that all have in common."""
        told = []
        for argument in arguments:
            self._left, self._looks = _MOST_TOLD, _MOST_LOOKS
            with suppress(Exception):  # where a thread changes it meanwhile, or its class refuses to be asked
                told.append(self._told(argument))
        return ", ".join(told)

    def tell(self, values: Iterable[Any]) -> str:
        told = []
        for value in values:
            if self._left <= 0:
                break
            told.append(self._told(value))
        return ", ".join(told)

    def _told(self, value: Any) -> str:
        kind = type(value)
        self._left -= 1
        if kind in ATOMS:
            return self._atom(kind, value)
        if kind in _SEQUENCES:
            return f"{kind.__name__}({self.tell(value)})"
        if kind is dict:
            return f"dict({self.tell(chain.from_iterable(value.items()))})"
        return f"{kind.__qualname__}({self._inside(kind, value)})"

    def _atom(self, base: Any, value: Any) -> str:
        if base in _TEXTS and len(value) > _LONGEST:
            return self._long(value)
        said = str(base.__repr__(value))
        if _looks_anew(value):
            self.anew.append(said)
            return str(base.__qualname__)
        return said

    def _long(self, text: str | bytes) -> str:
        """A long text: what is made anew in it is looked for at its ends alone, and may be in between."""
        self.anew.append(str(crc32(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)))
        return f"…{self.tell((text[:_LONGEST], text[-_LONGEST:]))}"

    def _inside(self, kind: type, value: Any) -> str:
        """What an object holds that is data, or what it calls."""
        if issubclass(kind, _SEQUENCES):
            return self.tell(next(base for base in _SEQUENCES if issubclass(kind, base)).__iter__(value))
        if issubclass(kind, dict):
            return self.tell(chain.from_iterable(dict.items(value)))
        if issubclass(kind, set | frozenset):
            return self._set(value)
        if issubclass(kind, Enum):
            return str(value.name)
        if issubclass(kind, type) or kind in _FUNCTIONS:
            return f"{value.__qualname__}{self._at_present(kind, value)}"
        if kind is MethodType:
            return self.tell((value.__func__, value.__self__))
        if kind is partial:
            return self.tell((value.func, value.args, value.keywords))
        if kind is CoroutineType and getcoroutinestate(value) == CORO_CREATED:
            code = value.cr_frame.f_code
            return f"{code.co_qualname}, {self.tell(arguments_of(value.cr_frame, parameters_of(code)))}"
        if hasattr(kind, "__dataclass_fields__") or hasattr(kind, "__pydantic_fields__"):
            return self.tell(chain.from_iterable(attributes_of(value).items()))
        atom = next((base for base in kind.__mro__ if base in ATOMS), None)
        return self._at_present(kind, value) if atom is None else self._atom(atom, value)

    def _set(self, values: Any) -> str:
        """All or none, as the first ones are others each time."""
        if len(values) > self._left:
            return ""
        before = [(apart, len(apart)) for apart in (self.anew, self.held, self.held_anew)]
        told = sorted(map(self._told, values))
        for apart, others in before:
            apart[others:] = sorted(apart[others:])
        return ", ".join(told)

    def _at_present(self, kind: type, value: Any) -> str:
        """Apart from the rest: the data that an object holds, which others may change at any time."""
        with suppress(Exception):  # what others' objects raise when looked at
            if self._looks > 0 and kind.__module__.partition(".")[0].lstrip("_") not in _SHARED:
                self._looks -= 1
                inner = _Teller(left=_MOST_HELD)
                held = islice(_held_by(kind, value), _MOST_TOLD)
                self.held.append(inner.tell(each for each in held if _is_little(each)))
                self.held_anew += inner.anew
        return ""


def _held_by(kind: type, value: Any) -> Iterable[Any]:
    """What an object holds itself: what a function has from around it, attributes, the bytes of an array or of a number
    of numpy's, or what an object of C's leads to, such as a row of a database."""
    if kind is FunctionType:
        return (*(value.__defaults__ or ()), *(cell.cell_contents for cell in value.__closure__ or ()))
    if issubclass(kind, type | ModuleType | BuiltinFunctionType):
        return ()
    if attributes := _attributes(kind, value):
        return attributes.values()
    if kind is bytearray:  # copied in one step: while there is a view of it, no thread can have it grow
        return len(value), bytes(value[:_MOST_BYTES])
    with suppress(TypeError, ValueError, BufferError):
        view = memoryview(value)
        if not _holds_addresses(view.format):
            return view.format, view.shape, view.tobytes() if view.nbytes <= _MOST_BYTES else view.nbytes
    return get_referents(value)


def _attributes(kind: Any, value: Any) -> dict[str, Any]:
    """Those that are told without code of its class: what stands for something else might go and get that."""
    if kind.__getattribute__ is not object.__getattribute__:
        return {}
    members = (vars(base)["__dict__"] for base in kind.__mro__ if "__dict__" in vars(base))
    member = next(members, None)
    if member is None:
        return held_in(slots_of(kind), value)
    return attributes_of(value) if type(member) is GetSetDescriptorType else {}


def _holds_addresses(form: str) -> bool:
    """Whether an array is one of objects or of pointers, whose bytes say where these happen to be."""
    return not _ADDRESSES.isdisjoint(_NAMES_OF_FIELDS.sub("", form))


def _is_little(value: Any) -> bool:
    """Whether what an object holds is looked at: data, and not much, as it may be told with each branch anew."""
    kind = type(value)
    if kind in _TEXTS:
        return len(value) <= _MOST_BYTES
    return kind in ATOMS or (kind in _COLLECTIONS and len(value) <= _MOST_HELD)


_TEXTS = frozenset((str, bytes))
_SEQUENCES = (tuple, list, deque)
_COLLECTIONS = frozenset((*_SEQUENCES, dict, set, frozenset))
_FUNCTIONS = (FunctionType, BuiltinFunctionType)
_ADDRESSES = frozenset("OPXZz&")
_NAMES_OF_FIELDS = re.compile(":[^:]*:")
_SHARED = frozenset(
    ("anyio", "asyncio", "concurrent", "flowfn", "logging", "mmap", "queue", "thread", "threading")
)
"""Whose objects are what branches share, and no items. A file that is mapped is also read by looking, and the process
dies where that has become shorter."""

_MOST_HELD = 20
"""Values that an object holds that tell a branch from others, the first ones."""
_MOST_LOOKS = 20
"""Objects of an argument that are looked at, the first ones: one may be a list that all branches have in common."""
_MOST_BYTES = 100_000
"""Of an array, or a text that an object holds: a larger one is told by its size, or not at all."""
_MOST_TOLD = 100
"""Values of an argument that tell a branch from others, the first ones."""
_LONGEST = 500
"""Characters of a text, from which on only so many of its beginning and of its end are looked at."""


def _looks_anew(value: Any) -> bool:
    """Whether a value looks made anew each time."""
    if isinstance(value, str | bytes):
        return not is_ordinary_text(value if isinstance(value, str) else value.decode("latin-1"))
    if isinstance(value, int):
        return abs(value) >= _TIME
    return isinstance(value, float | UUID | date | time | timedelta)


_TIME = 10**9
"""From which on a number may be seconds since the epoch."""
