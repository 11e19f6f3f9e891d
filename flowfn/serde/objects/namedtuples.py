"""Named tuples, of either kind, by field."""

from __future__ import annotations

from typing import Any

from flowfn.errors import TypeChangedError
from flowfn.serde.format import Kind, mark
from flowfn.serde.leaves import Encoder
from flowfn.serde.names import Names, reference
from flowfn.serde.objects.kinds import class_of, is_namedtuple
from flowfn.serde.objects.state import check_names, now_requires, set_state, state_of

_NAMEDTUPLE = mark(Kind.NAMEDTUPLE)


def namedtuple_encoder(cls: type) -> Encoder:
    """How instances of one named tuple are packed: by position."""
    name = reference(cls)
    known: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]

    def encode(value: Any) -> list[Any]:
        stored = dict(zip(known, tuple.__iter__(value), strict=True))
        state = state_of(value)
        return [_NAMEDTUPLE, name, stored, state] if state else [_NAMEDTUPLE, name, stored]

    return encode


def build_namedtuple(items: list[Any], names: Names) -> Any:
    """A tuple with the fields that were stored; see `records.build_record`."""
    _, name, stored, *extra = items
    cls = class_of(names, name, is_namedtuple)
    check_names(cls, stored, cls._fields)
    values = {**getattr(cls, "_field_defaults", {}), **stored}
    for field in cls._fields:
        if field not in values:
            raise TypeChangedError(now_requires(cls, field))
    value: Any = tuple.__new__(cls, [values[field] for field in cls._fields])
    for state in extra:
        set_state(value, state)
    return value
