"""Instances of msgspec's structs, by field.

Rule: msgspec makes one by its constructor alone, which sets the fields in C, and then calls `__post_init__`. So a class
that has that is refused, as restoring runs no code of a class; no struct has an `__init__` or a `__new__` of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from re import search
from typing import Any

from flowfn.errors import TypeChangedError
from flowfn.python.slots import dict_of
from flowfn.serde.format import Kind, Refused, mark
from flowfn.serde.leaves import Encoder
from flowfn.serde.names import reference
from flowfn.serde.objects.state import check_names, derived, has_lost, now_requires, reader_of, set_state

_STORED_AS = mark(Kind.DATACLASS)
_RUNS_CODE = (
    "msgspec runs {name}.__post_init__ whenever it makes one, and what is restored runs no code of its class"
)


def struct_encoder(cls: Any) -> Encoder:
    """How instances of one struct are packed: by field, and by name alone those that are `UNSET`."""
    if hasattr(cls, "__post_init__"):
        why = _RUNS_CODE.format(name=cls.__name__)
        raise Refused(f"{why}. Store msgspec.to_builtins(value), and make it of that")
    name, known, skipped = reference(cls), cls.__struct_fields__, derived(cls)
    absent, read = sys.modules["msgspec"].UNSET, reader_of(cls)

    def encode(value: Any) -> list[Any]:
        state = read(value)
        stored = {field: state[field] for field in known if state[field] is not absent}
        extra = {key: item for key, item in dict_of(value).items() if key not in skipped}
        unset = [field for field in known if field not in stored]
        return [_STORED_AS, name, stored, extra, unset] if extra or unset else [_STORED_AS, name, stored]

    return encode


def build_struct(cls: Any, stored: dict[str, Any], extra: dict[str, Any], unset: Iterable[str]) -> Any:
    """A struct with the fields that were stored, and the defaults of those that its class has gained.

    Raises:
        TypeChangedError: the class lost a field, gained one without a default, or gained a `__post_init__`.
    """
    check_names(cls, stored, cls.__struct_fields__)
    if lost := [field for field in unset if field not in cls.__struct_fields__]:
        raise TypeChangedError(has_lost(cls, lost))
    if hasattr(cls, "__post_init__"):
        why = _RUNS_CODE.format(name=cls.__name__)
        raise TypeChangedError(
            f"{reference(cls)} was stored when it had no __post_init__: {why}. Take that away"
        )
    try:
        value = cls(**stored, **dict.fromkeys(unset, sys.modules["msgspec"].UNSET))
    except TypeError as error:
        if (missing := search("'(.*)'", str(error))) is None:
            raise
        raise TypeChangedError(now_requires(cls, missing[1])) from None
    if extra:
        set_state(value, extra)
    return value
