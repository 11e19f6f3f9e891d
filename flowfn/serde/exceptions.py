"""Exceptions: type, arguments, attributes, notes, causes and the text of the traceback.

Rule: recording a failure never fails. An argument or attribute that cannot be stored is stored as
its repr, and an exception whose type is not there when it is read becomes a `RecordedError`.
Neither `__init__` nor `__new__` of a class written in Python runs; the C base's do, which is how
`errno` or `value` come back.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any

from flowfn.errors import RECORDED_AS, CorruptDataError, RecordedError, UntrustedTypeError
from flowfn.serde.containers import Builder
from flowfn.serde.format import Kind, mark
from flowfn.serde.names import Names, reference
from flowfn.serde.objects import set_state, solid_base, state_of

_EXCEPTION = mark(Kind.EXCEPTION)
_LONGEST_CHAIN = 16  # causes beyond are left out: a chain may be as long as a run was, or a circle
_TRACEBACK = "recorded_traceback"
_SCALARS = (str, int, float, bool, bytes, type(None))
_NATIVE_ATTRIBUTES = {ImportError: ("name", "path"), NameError: ("name",), AttributeError: ("name",)}

Storable = Callable[[Any], bool]


def encode(error: BaseException, storable: Storable, chain: frozenset[int] = frozenset()) -> list[Any]:
    """The array of an exception; `storable` tells what can be stored as it is."""
    chain = chain | {id(error)}

    def part(value: Any) -> Any:
        return value if type(value) in _SCALARS or storable(value) else _safely(repr, value)

    def linked(other: BaseException | None) -> Any:
        if other is None or id(other) in chain or len(chain) >= _LONGEST_CHAIN:
            return None
        return encode(other, storable, chain)

    args = _arguments(error)
    parts = [part(arg) for arg in args]
    same = all(map(is_, parts, args))
    return [
        _EXCEPTION,
        reference(type(error)),
        _safely(str, error if same else Exception(*parts)),
        parts,
        [linked(member) for member in error.exceptions] if isinstance(error, BaseExceptionGroup) else None,
        {name: part(item) for name, item in _attributes(error).items()},
        linked(error.__cause__),
        None if error.__suppress_context__ else linked(error.__context__),
        error.__suppress_context__,
    ]


def _safely(render: Callable[[Any], str], value: Any) -> str:
    try:
        return str.__str__(render(value))
    except Exception:
        return object.__repr__(value)


def _arguments(error: BaseException) -> tuple[Any, ...]:
    if isinstance(error, BaseExceptionGroup):
        return (error.message,)
    if isinstance(error, OSError):  # its `args` leave the file names out
        return tuple(OSError.__reduce__(error)[1])
    return error.args


def _attributes(error: BaseException) -> dict[str, Any]:
    found = dict(state_of(error))
    found.pop(RECORDED_AS, None)
    for cls, names in _NATIVE_ATTRIBUTES.items():
        if isinstance(error, cls):
            found |= {name: value for name in names if (value := getattr(error, name)) is not None}
    text = found.pop(_TRACEBACK, None) or _traceback_text(error)
    return {**found, _TRACEBACK: text} if text else found


def _traceback_text(error: BaseException) -> str:
    if error.__traceback__ is None:
        return ""
    import traceback

    return "".join(traceback.format_tb(error.__traceback__))


def is_exception(cls: type) -> bool:
    """Whether a class is one of exceptions, signals included."""
    return issubclass(cls, BaseException)


def _build(items: list[Any], names: Names) -> BaseException:
    _, name, text, args, members, attributes, cause, context, suppress = items
    error = _instance(name, text, args, members, names)
    native = {key: attributes.pop(key) for key in _native_names(error) if key in attributes}
    for key, value in native.items():
        _set(error, key, value)
    set_state(error, attributes)
    _set(error, "__cause__", cause)
    _set(error, "__context__", context)
    _set(error, "__suppress_context__", bool(suppress))
    return error


def _set(error: BaseException, name: str, value: Any) -> None:
    """Set an attribute that its C base has, past every `__setattr__` and frozen flag."""
    object.__setattr__(error, name, value)


def _native_names(error: BaseException) -> list[str]:
    return [name for cls, names in _NATIVE_ATTRIBUTES.items() if isinstance(error, cls) for name in names]


def _instance(name: str, text: str, args: list[Any], members: Any, names: Names) -> BaseException:
    try:
        cls: Any = names.find(name, is_exception)
        error = _empty(cls, tuple(args) if members is None else (*args, members))
    except (UntrustedTypeError, TypeError, ValueError):
        if not isinstance(name, str) or not isinstance(text, str):
            raise CorruptDataError("A stored exception has no type name") from None
        return _stand_in(name, text)
    return error


def _empty(cls: Any, args: tuple[Any, ...]) -> BaseException:
    base: Any = solid_base(cls)
    error: BaseException = base.__new__(cls, *args)
    try:
        base.__init__(error, *args)
    except (TypeError, ValueError):
        _set(error, "args", args)  # a subclass whose arguments are not what its C base takes
    if not isinstance(error, OSError | BaseExceptionGroup):
        _set(error, "args", args)
    return error


def _stand_in(name: str, text: str) -> RecordedError:
    shown = name.partition(":")[2] or name
    error = RecordedError(f"{shown}: {text}" if text else shown)
    error.type_name = name
    return error


BUILDERS: dict[Kind, Builder] = {Kind.EXCEPTION: _build}
