"""Arguments in one short line, and texts and durations, for people.

Rule: rendering never raises and never costs more for a bigger value: it looks at the first few items
of the first few levels, and says `…` for the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

__all__ = ["duration", "in_line", "printable", "quoted", "render", "render_value", "represented"]

_MAX_ITEMS = 4
_MAX_DEPTH = 3
_MAX_TEXT = 48
_MAX_QUOTED = 1000

_BRACKETS: tuple[tuple[type[Collection[Any]], str, str], ...] = (
    (list, "[", "]"),
    (tuple, "(", ")"),
    (set, "{", "}"),
    (frozenset, "frozenset({", "})"),
)


def render(arguments: Mapping[str, Any], limit: int = 120) -> str:
    """The arguments as a call would be written, such as `url='https://…', n=3`, in `limit` characters."""
    parts: list[str] = []
    room = limit
    for name, value in arguments.items():
        parts.append(f"{name}={_render(value, _MAX_DEPTH)}")
        room -= len(parts[-1]) + 2
        if room < 0:
            break
    return _cut(", ".join(parts), limit)


def render_value(value: Any, limit: int | None = None) -> str:
    """One value, in the same way; in `limit` characters, if there is one."""
    text = _render(value, _MAX_DEPTH)
    return text if limit is None else _cut(text, limit)


def quoted(value: Any) -> str:
    """A value in a message, in full unless that is longer than anybody reads."""
    text = represented(value)
    return text if len(text) <= _MAX_QUOTED else render_value(value)


def represented(value: Any) -> str:
    """A value in full, as its own `repr` has it; in short where that fails."""
    try:
        return repr(value)
    except Exception:
        return render_value(value)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _render(value: Any, depth: int) -> str:
    try:
        return _rendered(value, depth)
    except Exception:  # a `__repr__` of the user's
        return f"<{type(value).__name__}>"


def _rendered(value: Any, depth: int) -> str:
    if isinstance(value, str | bytes | bytearray):
        return _text(value)
    if isinstance(value, int):
        return repr(value) if value.bit_length() < 256 else f"<int of {value.bit_length()} bits>"
    if isinstance(value, dict):
        return (
            "{"
            + _items(value, (f"{_render(k, 0)}: {_render(v, depth - 1)}" for k, v in value.items()), depth)
            + "}"
        )
    for base, before, after in _BRACKETS:
        if isinstance(value, base):
            items = _items(value, (_render(item, depth - 1) for item in value), depth)
            return f"{before}{items}{',' if base is tuple and len(value) == 1 else ''}{after}"
    fields = _fields(value)
    if fields is not None:
        shown = _items(fields, (f"{name}={_render(item, depth - 1)}" for name, item in fields.items()), depth)
        return f"{type(value).__name__}({shown})"
    return _cut(" ".join(repr(value).split()), _MAX_TEXT)


def _text(value: str | bytes | bytearray) -> str:
    """A text as it would be written; cut before it is quoted, as quoting costs by length."""
    if len(value) <= _MAX_TEXT:
        return repr(value)
    shown = repr(value[: _MAX_TEXT - 1])
    end = 2 if isinstance(value, bytearray) else 1
    return shown[:-end] + "…" + shown[-end:]


def _items(value: Collection[Any], rendered: Iterator[str], depth: int) -> str:
    if depth <= 0 and len(value):
        return "…"
    shown = ", ".join(islice(rendered, _MAX_ITEMS))
    return f"{shown}, …" if len(value) > _MAX_ITEMS else shown


def _fields(value: Any) -> dict[str, Any] | None:
    """The fields of a record, whose own `repr` would show all of them in full."""
    if isinstance(value, type):
        return None
    if hasattr(type(value), "__dataclass_fields__"):
        return {name: getattr(value, name, None) for name in value.__dataclass_fields__}
    if hasattr(type(value), "__pydantic_fields__"):
        return dict(vars(value))
    return None


def printable(text: str) -> str:
    """The text with control characters spelled out: a record can't steer the terminal that shows it."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else ascii(char)[1:-1] for char in text)


def in_line(text: str) -> str:
    """As `printable`, in one line: a name with line breaks can't look like lines of the page that it stands in."""
    return printable(text.replace("\n", r"\n").replace("\t", r"\t"))


def duration(seconds: float) -> str:
    """Seconds as people read them: `<1ms`, `12ms`, `1.2s`, `3m05s`, `2h03m` or `9d04h`."""
    if seconds < 0.001:
        return "<1ms"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours < 24 else f"{hours // 24}d{hours % 24:02}h"
