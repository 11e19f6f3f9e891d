"""What differs between the arguments of two calls: where inside them, and both values.

Rule: two forms (see `forms.canonical`) are walked side by side, and nothing but plain values is made of them: no
class of the program's is looked for, so that records are compared without the program that wrote them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from itertools import islice, zip_longest
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import ormsgpack

from flowfn.rendering import render_value
from flowfn.report import Change

__all__ = ["changes", "decoded"]

_MOST = 5
"""Changes that are told of one call: who reads them needs the first."""


class Record:
    """An object that declares its fields."""

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        self.name = name
        self.fields = fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and (self.name, self.fields) == (other.name, other.fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={render_value(value)}" for name, value in self.fields.items())
        return f"{_short(self.name)}({fields})"


class Opaque:
    """A value of any other kind: its form, bytes that are the same for the same value only, and how it is shown."""

    def __init__(self, form: bytes, shown: str) -> None:
        self.form = form
        self.shown = shown

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and self.form == other.form

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return self.shown


class Member:
    """A member of an enumeration, which its name tells; `value` is the digest of what its value was, empty where that
    wasn't kept."""

    def __init__(self, enum: str, name: str, value: bytes = b"") -> None:
        self.enum = enum
        self.name = name
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Member) and (self.enum, self.name) == (other.enum, other.name)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{_short(self.enum)}.{self.name}"


class _Absent:
    def __repr__(self) -> str:
        return "-"


_ABSENT: Final = _Absent()


def decoded(form: bytes) -> Any:
    """A form as plain values, with `Record`, `Member` and `Opaque` for what isn't plain."""
    return ormsgpack.unpackb(form, ext_hook=_extension)


def changes(recorded: bytes | None, current: bytes | None) -> tuple[Change, ...]:
    """Where the arguments of two calls differ, the first few; none where one of the forms wasn't kept."""
    if recorded is None or current is None or recorded == current:
        return ()
    return tuple(islice(_between(decoded(recorded), decoded(current), ""), _MOST))


def _between(then: Any, now: Any, path: str) -> Iterator[Change]:
    pairs = _inside(then, now, path)
    if pairs is None:
        if _differ(then, now):
            yield Change(path, render_value(then), render_value(now))
        return
    for step, before, after in pairs:
        yield from _between(before, after, path + step)


def _differ(then: Any, now: Any) -> bool:
    if type(then) is not type(now):
        return True
    same = repr(then) == repr(now)  # 0.0 == -0.0, and ValueError(1) has the arguments of ValueError(True)
    return not same or (not isinstance(then, float | Decimal) and bool(then != now))


def _inside(then: Any, now: Any, path: str) -> Iterator[tuple[str, Any, Any]] | None:
    """What to compare of two values of one kind, each with the step that leads there; None for leaves."""
    if isinstance(then, dict) and type(then) is type(now):
        step = "[{}]" if isinstance(then, _Map) else '["{}"]' if path else "{}"
        return ((step.format(key), *pair) for key, pair in _by_key(then, now))
    if isinstance(then, Record) and isinstance(now, Record) and then.name == now.name:
        return ((f".{key}", *pair) for key, pair in _by_key(then.fields, now.fields))
    if type(then) is type(now) and isinstance(then, list | tuple):
        pairs = zip_longest(then, now, fillvalue=_ABSENT)
        return ((f"[{index}]", *pair) for index, pair in enumerate(pairs))
    return None


def _by_key(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for key in dict.fromkeys((*then, *now)):
        yield key, (then.get(key, _ABSENT), now.get(key, _ABSENT))


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _extension(code: int, data: bytes) -> Any:
    if code == 2:
        return tuple(decoded(data))
    tag, *parts = decoded(data)
    with suppress(Exception):  # a form of another version of flowfn, which only has to be told from others
        if tag in _READ:
            return _READ[tag](*parts)
        if tag in _SHOWN:
            return Opaque(data, _SHOWN[tag](*parts))
    named = _short(parts[0]) if parts and isinstance(parts[0], str) else tag
    return Opaque(data, f"<{named}>")


class _Map(dict[str, Any]):
    """A mapping whose keys aren't all texts, by how they are shown."""


def _map(*packed: bytes) -> _Map:
    items = [decoded(each) for each in packed]
    pairs = zip(items[::2], items[1::2], strict=True)
    return _Map({render_value(key): item for key, item in pairs})


def _set(*packed: bytes) -> str:
    return "{" + ", ".join(render_value(decoded(each)) for each in packed) + "}"


def _ordered(pairs: Sequence[Sequence[Any]]) -> str:
    return "{" + ", ".join(f"{render_value(key)}: {render_value(item)}" for key, item in pairs) + "}"


def _of_class(value: Any, made_with: Mapping[str, Any]) -> Record:
    """An object of a class that a function made, with what the class was made with among its fields."""
    if isinstance(value, Record):
        return Record(value.name, {**value.fields, **made_with})
    return Record("object", {"value": value, **made_with})


_NOTHING: Mapping[str, Any] = MappingProxyType({})

_READ: dict[str, Callable[..., Any]] = {
    "text": lambda raw: raw.decode("utf-8", "surrogatepass"),
    "int": lambda text: int(text, 16),
    "timedelta": timedelta,
    "decimal": Decimal,
    "map": _map,
    "enum": Member,
    "record": Record,
    "class": Record,
    "of": _of_class,
    "subclass": lambda name, form, more=_NOTHING: Record(name, {"value": form, **more}),
}
"""Forms that are read as the plain value, or the fields, that they stand for."""

_SHOWN: dict[str, Callable[..., str]] = {
    "datetime": lambda *parts: " ".join(parts),
    "date": str,
    "time": lambda *parts: " ".join(parts),
    "uuid": lambda raw: str(UUID(bytes=raw)),
    "path": lambda text: f"Path({text!r})",
    "ordered": _ordered,
    "set": _set,
    "frozenset": _set,
    "name": str,
}
"""Forms that are shown as a text."""
