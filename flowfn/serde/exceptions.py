"""Exceptions: type, arguments, attributes, notes, causes and the text of the traceback.

Rule: recording a failure never fails. An argument or attribute that cannot be stored is stored as
its repr, and an exception whose type is not there when it is read becomes a `RecordedError`.
An exception that is another's argument or attribute, such as the `reason` of a `URLError`, is stored without causes
and traceback: those of a chain lead through the same few exceptions, and would be there once per way.
Neither `__init__` nor `__new__` of a class written in Python runs; the C base's do, which is how
`errno` or `value` come back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowfn.errors import RECORDED_AS, CorruptDataError, RecordedError, UntrustedTypeError
from flowfn.serde import invalid
from flowfn.serde.containers import Builder
from flowfn.serde.format import Kind, mark
from flowfn.serde.names import Names, reference
from flowfn.serde.objects import set_state, solid_base, state_of

_EXCEPTION = mark(Kind.EXCEPTION)
_LONGEST_CHAIN = 16  # causes beyond are left out: a chain may be as long as a run was, or a circle
_TRACEBACK = "recorded_traceback"
_SCALARS = (str, int, float, bool, bytes, type(None))
_NATIVE_ATTRIBUTES = {ImportError: ("name", "path"), NameError: ("name",), AttributeError: ("name",)}

Chain = frozenset[int]
"""The ids of the exceptions that one belongs to."""
Pack = Callable[[Any, Chain], Any]
"""The stored form of an argument or attribute; raises where it has none."""


def encode(error: BaseException, pack: Pack, chain: Chain = frozenset(), *, whole: bool = True) -> list[Any]:
    """The array of an exception; `whole` is with what it came from."""
    chain = chain | {id(error)}
    exact = True

    def part(value: Any) -> Any:
        nonlocal exact
        if type(value) in _SCALARS:
            return value
        try:
            return pack(value, chain)
        except Exception:
            exact = False
            return _safely(repr, value)

    def linked(other: BaseException | None) -> Any:
        if other is None or id(other) in chain or len(chain) >= _LONGEST_CHAIN:
            return None
        return encode(other, pack, chain, whole=whole)

    args = _arguments(error)
    parts = [part(arg) for arg in args]
    return [
        _EXCEPTION,
        reference(type(error)),
        _safely(str, error if exact else _told(error, args, parts)),
        parts,
        [linked(member) for member in error.exceptions] if isinstance(error, BaseExceptionGroup) else None,
        {name: part(item) for name, item in _attributes(error, whole=whole).items()},
        linked(error.__cause__) if whole else None,
        linked(error.__context__) if whole and not error.__suppress_context__ else None,
        error.__suppress_context__,
    ]


def _told(error: BaseException, args: tuple[Any, ...], parts: list[Any]) -> BaseException:
    """What says what an exception of these parts will say: those that were stored as their repr are texts."""
    shown = [part if type(part) is str else arg for arg, part in zip(args, parts, strict=True)]
    return invalid.build(type(error), shown) if invalid.is_invalid(type(error)) else Exception(*shown)


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
    if invalid.is_invalid(type(error)):  # its `args` are empty
        return invalid.arguments(error)
    return error.args


def _attributes(error: BaseException, *, whole: bool) -> dict[str, Any]:
    found = dict(state_of(error))
    found.pop(RECORDED_AS, None)
    for cls, names in _NATIVE_ATTRIBUTES.items():
        if isinstance(error, cls):
            found |= {name: value for name in names if (value := getattr(error, name)) is not None}
    text = found.pop(_TRACEBACK, None) or _traceback_text(error)
    return {**found, _TRACEBACK: text} if text and whole else found


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
        error = _made(cls, args) if members is None else _empty(cls, (*args, members))
    except (UntrustedTypeError, TypeError, ValueError):
        if not isinstance(name, str) or not isinstance(text, str):
            raise CorruptDataError("A stored exception has no type name") from None
        return _stand_in(name, text)
    return error


def _made(cls: Any, args: list[Any]) -> BaseException:
    return invalid.build(cls, args) if invalid.is_invalid(cls) else _empty(cls, tuple(args))


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
