"""What a branch runs, and with which arguments: what tells it from others.

Rule: as it is made, a branch is told by its function and by those arguments that are data. One that is met later is
told by the first function in it that isn't a library's, and by the arguments that can't have changed. Nothing of these
is called.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache, partial
from gc import get_referents
from inspect import CORO_CREATED, getcoroutinestate
from itertools import chain
from pathlib import PosixPath, PurePosixPath
from threading import get_ident
from types import CodeType, CoroutineType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID
from zlib import crc32

from flowfn.identity.code.compiled import VARKEYWORDS, parameters_of, steps_of
from flowfn.identity.forms.attributes import attributes_of
from flowfn.identity.glance import is_ordinary_text

if TYPE_CHECKING:
    from dis import Instruction
    from types import FrameType

__all__ = ["BranchCall", "call_of", "given_to", "is_own", "said_of", "waiting_in"]

_OURS = ("flowfn.", "graph_compat.", "checkpointers.")
_INSTALLED = tuple(os.sep.join(("", folder, "")) for folder in ("site-packages", "dist-packages"))
_PYTHONS = os.path.join(os.path.dirname(os.__file__), "")
"""Where code is a library's. Told by texts alone: to look at files would block the loop."""


def given_to(coro: Any) -> Any:
    """The project's coroutine that a library's was given, and that has yet to begin, as those of anyio's groups are."""
    for each in get_referents(coro):
        found: Iterable[Any] = ()
        if type(each) is CoroutineType:
            found = (each,)
        elif not issubclass(type(each), _NO_HANDLES):  # a task's is another branch's, and data may be large
            with suppress(Exception):  # a library's objects may raise anything when looked at
                found = attributes_of(each).values()
        for one in found:
            if type(one) is CoroutineType and getcoroutinestate(one) == CORO_CREATED and is_own(one.cr_frame):
                return one
    return None


_NO_HANDLES = (
    asyncio.Future,
    dict,
    list,
    tuple,
    set,
    frozenset,
    str,
    bytes,
    FunctionType,
    ModuleType,
    CodeType,
    type,
)


def is_own(frame: FrameType | None) -> bool:
    """Whether a function that is under way, or has yet to begin, is one of the project's."""
    return frame is not None and not _is_of_a_library(frame)


def _is_of_a_library(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return (
        file.startswith(_PYTHONS)
        or any(folder in file for folder in _INSTALLED)
        or str(frame.f_globals.get("__name__", "")).startswith(_OURS)
    )


_NUMBERS = (bool, int, float, complex, Decimal, Fraction, range)
_TIMES = (date, datetime, time, timedelta)
_ATOMS = frozenset((type(None), str, bytes, UUID, *_NUMBERS, *_TIMES, PurePosixPath, PosixPath))


def said_of(task: asyncio.Task[Any], thread: int) -> str | None:
    """What tells a task from others of its frame: its name, unless that is a number, and the first function in it that
    isn't a library's, with those of its arguments that can't change; None where it has none. `thread` is the loop's."""
    name = "" if task.get_name().startswith("Task-") else task.get_name()
    coro: Any = task.get_coro()
    for _ in range(_MOST_LOOKS):
        runs, first = _running(getattr(coro, "cr_frame", None), thread)
        first = (
            first if runs else next((each for each in waiting_in(coro) if not _is_of_a_library(each)), None)
        )
        if first is not None:
            return f"{name} {_shown_call(first, _kept_parameters(first.f_code), shown)}"
        if runs or not getattr(coro, "cr_running", False):
            break
    return None


_MOST_LOOKS = 100
"""Of another thread, at a task that may begin to wait just between the two ways to look."""


def _running(began: FrameType | None, thread: int) -> tuple[bool, FrameType | None]:
    """Whether a task runs at present, and the first function of the project's in it, from where it began."""
    first = None
    each = sys._getframe(1) if thread == get_ident() else sys._current_frames().get(thread)
    while each is not None:
        first = first if _is_of_a_library(each) else each
        if each is began:
            return True, first
        each = each.f_back
    return False, None


def waiting_in(coro: Any) -> Iterator[FrameType]:
    """What a task waits in, from where it began; of one that runs only that."""
    while (frame := getattr(coro, "cr_frame", None)) is not None:
        yield frame
        coro = coro.cr_await


def _shown_call(frame: FrameType, parameters: Iterable[str], show: Callable[[Any], str]) -> str:
    """A call of a function, with those of its arguments that can't change."""
    return f"{frame.f_code.co_qualname}({', '.join(map(show, _arguments(frame, parameters)))})"


def _arguments(frame: FrameType, parameters: Iterable[str]) -> list[Any]:
    found = frame.f_locals
    held = [found.get(name) for name in parameters]
    if frame.f_code.co_flags & VARKEYWORDS and held and type(held[-1]) is dict:  # its own, and nobody else's
        held[-1:] = chain.from_iterable(held[-1].items())
    return held


@lru_cache(maxsize=1024)
def _kept_parameters(code: CodeType) -> tuple[str, ...]:
    """The parameters to which a function's code, and what is inside it, sets nothing else."""
    stored = {name for step in steps_of(code) for name in _stored(step)}
    return tuple(name for name in parameters_of(code) if name not in stored)


def _stored(step: Instruction) -> tuple[str, ...]:
    if not step.opname.startswith(("STORE_FAST", "STORE_DEREF")):
        return ()
    names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    return names[:1] if step.opname == "STORE_FAST_LOAD_FAST" else names  # two in one, since Python 3.13


def shown(value: Any) -> str:
    """A value that tells one call from another, if it can't change; else its type."""
    if type(value) is tuple:
        return f"({', '.join(map(shown, value))})"
    if isinstance(value, Enum):
        return f"{type(value).__qualname__}.{value.name}"
    return repr(value) if type(value) in _ATOMS else type(value).__qualname__


class BranchCall(NamedTuple):
    """What a coroutine runs that has yet to begin."""

    function: str
    exact: str
    """Its arguments, as far as they are data."""
    steady: str | None
    """The same without what looks made anew each time: a deadline, an id; None if nothing does."""


def call_of(coro: Any) -> BranchCall:
    """What a coroutine runs that has yet to begin: nothing can have changed its arguments since it was made."""
    frame = getattr(coro, "cr_frame", None)
    if frame is None:
        return BranchCall(type(coro).__qualname__, "", None)
    exact, steady, teller = "", None, _Teller()
    with suppress(Exception):  # what objects raise when looked at, or where a thread changes them meanwhile
        arguments = _arguments(frame, parameters_of(frame.f_code))
        exact = teller.call(arguments)
        steady = _Teller(steady=True).call(arguments) if teller.met_anew else None
    return BranchCall(frame.f_code.co_qualname, exact, steady)


class _Teller:
    """Puts arguments into words, as far as they are data, and not too much of it."""

    def __init__(self, *, steady: bool = False) -> None:
        self._steady = steady
        """Whether what looks made anew each time is told by its type."""
        self.met_anew = False
        """Whether there was any."""
        self._left = 0

    def call(self, arguments: Iterable[Any]) -> str:
        """What a call is given: of each argument so much, as one may be large that all have in common."""
        told = []
        for argument in arguments:
            self._left = _MOST_TOLD
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
        if kind in _TEXTS and len(value) > _LONGEST:
            return self._long(value)
        if kind in _ATOMS:
            return self._atom(value)
        if kind in _SEQUENCES:
            return f"{kind.__name__}({self.tell(value)})"
        if issubclass(kind, tuple):  # a named one
            return f"{kind.__qualname__}({self.tell(tuple.__iter__(value))})"
        if kind in _SETS and len(value) <= self._left:  # else the first ones are others each time
            return f"{kind.__name__}({', '.join(sorted(map(self._told, value)))})"
        if kind is dict:
            return f"dict({self.tell(chain.from_iterable(value.items()))})"
        if issubclass(kind, Enum):
            return f"{kind.__qualname__}.{value.name}"
        return f"{kind.__qualname__}({self._inside(kind, value)})"

    def _long(self, text: str | bytes) -> str:
        """A long text: what is made anew in it is looked for at its ends alone."""
        self.met_anew = True  # perhaps in between
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        whole = () if self._steady else (crc32(data),)
        return f"…{self.tell((text[:_LONGEST], *whole, text[-_LONGEST:]))}"

    def _atom(self, value: Any) -> str:
        if _looks_anew(value):
            self.met_anew = True
            if self._steady:
                return type(value).__qualname__
        return repr(value)

    def _inside(self, kind: type, value: Any) -> str:
        """What an object holds that is data, or what it calls."""
        if kind is CoroutineType and getcoroutinestate(value) == CORO_CREATED:
            code = value.cr_frame.f_code
            return f"{code.co_qualname}, {self.tell(_arguments(value.cr_frame, parameters_of(code)))}"
        if kind in (FunctionType, MethodType):
            return str(value.__qualname__)
        if kind is partial:
            return self.tell((value.func, value.args, value.keywords))
        if hasattr(kind, "__dataclass_fields__") or hasattr(kind, "__pydantic_fields__"):
            return self.tell(chain.from_iterable(attributes_of(value).items()))
        return ""


_TEXTS = frozenset((str, bytes))
_SEQUENCES = frozenset((tuple, list, deque))
_SETS = frozenset((set, frozenset))

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
