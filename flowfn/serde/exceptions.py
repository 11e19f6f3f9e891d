"""Exceptions: type, arguments, attributes, notes, causes and the text of the traceback.

Rule: recording a failure never fails. An argument or attribute that cannot be stored is stored as
its repr, and an exception whose type is not there when it is read becomes a `RecordedError`. Showing one never fails.
An exception that is another's argument or attribute, such as the `reason` of a `URLError`, is stored without causes
and traceback: those of a chain lead through the same few exceptions, and would be there once per way.
One that holds itself in an attribute does so again (see `itself`).
Neither `__init__` nor `__new__` of a class written in Python runs; the C base's do, which is how
`errno` or `value` come back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from flowfn.errors import RECORDED_AS, RECORDED_TRACEBACK, CorruptDataError, RecordedError, UntrustedTypeError
from flowfn.python.traceback import of_user_code
from flowfn.serde import invalid, itself
from flowfn.serde.containers import Builder
from flowfn.serde.format import Kind, mark
from flowfn.serde.mute import muted, own_class
from flowfn.serde.names import Names, reference
from flowfn.serde.objects.kinds import solid_base
from flowfn.serde.objects.state import set_state, state_of

_EXCEPTION = mark(Kind.EXCEPTION)
_LONGEST_CHAIN = 16  # causes beyond are left out: a chain may be as long as a run was, or a circle
_FRAMES = 32
"""Of a traceback, so many at each end are kept."""
_LONGEST_TEXT = 100_000
"""Characters: what an error says is kept beside its arguments, and of 200 MB of bytes it would be 800 MB more."""
_SCALARS = (str, int, float, bool, bytes, type(None))
_NATIVE_ATTRIBUTES = {ImportError: ("name", "path"), NameError: ("name",), AttributeError: ("name",)}

Chain = frozenset[int]
"""The ids of the exceptions that one belongs to."""
Pack = Callable[[Any, Chain], Any]
"""The stored form of an argument or attribute; raises where it has none."""


def encode(error: BaseException, pack: Pack, chain: Chain = frozenset(), *, whole: bool = True) -> list[Any]:
    """The array of an exception; `whole` is with what it came from."""
    chain = chain | {id(error)}
    shown: dict[int, str] = {}  # what stands for a part that can't be stored, by its id
    held: list[itself.Path] = []  # the attribute, and the way from there

    def part(value: Any) -> Any:
        if type(value) in _SCALARS:
            return value
        try:
            return pack(value, chain)
        except Exception:
            return shown.setdefault(id(value), _safely(repr, value))

    def attribute(name: str, value: Any) -> Any:
        if type(value) not in (list, dict, type(error)):
            return part(value)
        try:
            return pack(value, chain)
        except Exception:
            rest, paths = itself.without(value, error)
        with suppress(Exception):
            if paths:
                stored = pack(rest, chain)
                held.extend([name, *path] for path in paths)
                return stored
        return shown.setdefault(id(value), _safely(repr, value))

    def linked(other: BaseException | None) -> Any:
        if other is None or id(other) in chain or len(chain) >= _LONGEST_CHAIN:
            return None
        return encode(other, pack, chain, whole=whole)

    args, attributes = _arguments(error), _attributes(error, whole=whole)
    parts = [part(arg) for arg in args]
    more = {name: attribute(name, item) for name, item in attributes.items()}
    kept = [shown.get(id(arg), arg) for arg in args]
    mute = _is_mute(error, kept, {name: shown.get(id(item), item) for name, item in attributes.items()})
    return [
        _EXCEPTION,
        reference(own_class(error)),
        _short(_safely(str, _told(error, kept) if shown and not mute else error)),
        parts,
        [linked(member) for member in error.exceptions] if isinstance(error, BaseExceptionGroup) else None,
        more,
        linked(error.__cause__) if whole else None,
        linked(error.__context__) if whole and not error.__suppress_context__ else None,
        error.__suppress_context__,
        *([mute, held] if held else [True] if mute else []),
    ]


def _told(error: BaseException, args: Sequence[Any]) -> BaseException:
    """What says what an exception of these arguments will say."""
    return invalid.build(type(error), args) if invalid.is_invalid(type(error)) else Exception(*args)


def _is_mute(error: BaseException, args: Sequence[Any], attributes: dict[str, Any]) -> bool:
    """Whether an exception would raise where somebody shows it, once it is restored of this."""
    cls = own_class(error)
    try:
        again = _made(cls, args, error.exceptions if isinstance(error, BaseExceptionGroup) else None)
        _dress(again, attributes)
    except Exception:
        return False
    try:
        str(again), repr(again)
    except Exception:
        return True
    return False


def _safely(render: Callable[[Any], str], value: Any) -> str:
    try:
        return str.__str__(render(value))
    except Exception:
        return object.__repr__(value)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"


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
    text = found.pop(RECORDED_TRACEBACK, None) or _traceback_text(error)
    return {**found, RECORDED_TRACEBACK: text} if text and whole else found


def _traceback_text(error: BaseException) -> str:
    """Its outermost and its innermost frames: each task that an error passes on its way up records what is below it,
    and of tasks that call each other deeply that would be all of it each time."""
    entries = of_user_code(error)
    if entries is None:
        return ""
    import traceback

    frames = [*traceback.walk_tb(entries)]
    if len(frames) <= 2 * _FRAMES:
        return "".join(traceback.format_tb(entries))
    outer, inner = (
        "".join(traceback.StackSummary.extract(some).format())
        for some in (frames[:_FRAMES], frames[-_FRAMES:])
    )
    return f"{outer}  [{len(frames) - 2 * _FRAMES} frames are left out]\n{inner}"


def is_exception(cls: type) -> bool:
    """Whether a class is one of exceptions, signals included."""
    return issubclass(cls, BaseException)


def _build(items: list[Any], names: Names) -> BaseException:
    _, name, text, args, members, attributes, cause, context, suppress, *more = items
    error = _instance(name, text, args, members, names, mute=bool(more and more[0]))
    for path in more[1] if len(more) > 1 else ():
        itself.put(error, attributes, path)
    _dress(error, attributes)
    _set(error, "__cause__", cause)
    _set(error, "__context__", context)
    _set(error, "__suppress_context__", bool(suppress))
    return error


def _dress(error: BaseException, attributes: Any) -> None:
    """Give an exception its attributes."""
    native = _native_names(error)
    if native and type(attributes) is dict:
        for key in native:
            if key in attributes:
                _set(error, key, attributes[key])
        attributes = {key: value for key, value in attributes.items() if key not in native}
    set_state(error, attributes)


def _set(error: BaseException, name: str, value: Any) -> None:
    """Set an attribute that its C base has, past every `__setattr__` and frozen flag."""
    object.__setattr__(error, name, value)


def _native_names(error: BaseException) -> list[str]:
    return [name for cls, names in _NATIVE_ATTRIBUTES.items() if isinstance(error, cls) for name in names]


def _instance(
    name: str, text: str, args: list[Any], members: Any, names: Names, *, mute: bool
) -> BaseException:
    try:
        cls = names.find(name, is_exception)
        error = _made(muted(cls, text) if mute else cls, args, members)
    except (UntrustedTypeError, TypeError, ValueError):
        if not isinstance(name, str) or not isinstance(text, str):
            raise CorruptDataError("A stored exception has no type name") from None
        return _stand_in(name, text)
    return error


def _made(cls: Any, args: Sequence[Any], members: Any) -> BaseException:
    """An exception of these arguments; `members` are those of a group, None of another."""
    if members is not None:
        return made_of(cls, (*args, members))
    return invalid.build(cls, args) if invalid.is_invalid(cls) else made_of(cls, tuple(args))


def made_of(cls: Any, args: tuple[Any, ...]) -> BaseException:
    """An exception of these arguments, without a call of what its class has in Python."""
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
