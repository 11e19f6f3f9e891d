"""The forms of leaves: values that hold no others, and that nobody can change.

Rule: a form here is of the exact type only. A leaf that could be a time of the call or a random token goes to the
walk, with what decides it: `volatile` is asked only for a value that a glance couldn't clear.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from flowfn.identity.forms.notation import Form, tagged
from flowfn.identity.glance import is_ordinary_float, is_ordinary_text
from flowfn.identity.names import qualified_name
from flowfn.identity.volatile import in_bytes, in_date, in_float, in_int, in_uuid
from flowfn.python.unicode import is_unicode

if TYPE_CHECKING:
    from flowfn.identity.forms.canonical import Walk

__all__ = ["LEAVES", "text_form", "without_addresses"]

_SCANNED: Final = 4096
"""Characters or bytes: what is longer counts whole, and nobody looks for times and tokens in it."""

_ADDRESS = re.compile(r"[<>]| at 0x[0-9a-fA-F]+")


def text_form(value: str) -> Any:
    """A text without the memory addresses that a `repr` puts in, and with lone surrogates as bytes."""
    value = without_addresses(value)
    return value if is_unicode(value) else tagged("text", value.encode("utf-8", "surrogatepass"))


def without_addresses(value: str) -> str:
    """The text with ` at 0x…` for each ` at 0x7f12…` between the `<` and the `>` of a `repr`; elsewhere it is data."""
    if " at 0x" not in value or "<" not in value:
        return value
    depth = 0

    def without(match: re.Match[str]) -> str:
        nonlocal depth
        found = match[0]
        if found in "<>":
            depth = max(0, depth + (1 if found == "<" else -1))
            return found
        return " at 0x…" if depth else found

    return _ADDRESS.sub(without, value)


def _text(walk: Walk, value: str) -> Any:
    if len(value) > _SCANNED or is_ordinary_text(value):
        return text_form(value)
    return walk.text(value)


def _itself(walk: Walk, value: Any) -> Any:
    return value


def _int(walk: Walk, value: int) -> Any:
    if -999_999_999 <= value <= 999_999_999:
        return value
    is_small = -(2**63) <= value < 2**63
    return walk.leaf(value, value if is_small else tagged("int", hex(value)), in_int)


def _float(walk: Walk, value: float) -> Any:
    if is_ordinary_float(value):
        return value
    return walk.leaf(value, value, in_float)


def _bytes(walk: Walk, value: bytes) -> Any:
    return walk.leaf(value, value, in_bytes) if 8 <= len(value) <= _SCANNED else value


def _date(walk: Walk, value: date | time) -> Any:
    if isinstance(value, datetime):
        form = tagged("datetime", value.isoformat(), *_place(value))
    else:
        form = tagged("date", value.isoformat())
    return walk.leaf(value, form, in_date)


def _time(walk: Walk, value: time) -> Any:
    return tagged("time", value.isoformat(), *_place(value))


def _place(value: datetime | time) -> list[str]:
    """What ISO 8601 leaves out of a time: the name of its zone, and which of two equal hours of an autumn it is in."""
    zone = getattr(value.tzinfo, "key", None)
    fold = ["fold"] if value.fold and value.utcoffset() is None else []
    return [*([zone] if isinstance(zone, str) else []), *fold]


def _timedelta(walk: Walk, value: timedelta) -> Any:
    form = tagged("timedelta", value.days, value.seconds, value.microseconds)
    rest = getattr(value, "nanoseconds", 0)  # of pandas
    return tagged("subclass", qualified_name(type(value)), form, {"nanoseconds": rest}) if rest else form


def _uuid(walk: Walk, value: UUID) -> Any:
    return walk.leaf(value, tagged("uuid", value.int.to_bytes(16, "big")), in_uuid)


LEAVES: dict[type, Form] = {
    type(None): _itself,
    bool: _itself,
    str: _text,
    int: _int,
    float: _float,
    bytes: _bytes,
    date: _date,
    datetime: _date,
    UUID: _uuid,
    time: _time,
    timedelta: _timedelta,
    Decimal: lambda _, value: tagged("decimal", str(value)),
    type(...): lambda _, value: tagged("ellipsis"),
    type(NotImplemented): lambda _, value: tagged("notimplemented"),
}
"""By the exact type."""
