"""Instances of dataclasses and attrs classes, by field, with what they carry besides; msgspec's are in `structs`."""

from __future__ import annotations

import sys
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import fields
from typing import Any

from flowfn.errors import TypeChangedError
from flowfn.python.slots import slots_of
from flowfn.python.structs import is_struct
from flowfn.serde.format import Kind, mark
from flowfn.serde.leaves import Encoder
from flowfn.serde.names import Names, reference
from flowfn.serde.objects.kinds import ATTRS, class_of, is_record
from flowfn.serde.objects.models import model_default
from flowfn.serde.objects.state import check_names, derived, now_requires, reader_of, set_state
from flowfn.serde.objects.structs import build_struct

_DATACLASS = mark(Kind.DATACLASS)
_CACHED_HASH = "_attrs_cached_hash"
"""Where attrs keeps a hash, which is another one in another process; None before it is asked for."""


def record_encoder(cls: type) -> Encoder:
    """How instances of one dataclass or attrs class are packed: by field."""
    name = reference(cls)
    declared = _declared(cls)
    known = tuple(declared)
    expected = [field for field, described in declared.items() if not _rests_with_class(cls, described)]
    skipped = derived(cls).union(known)
    read = reader_of(cls)

    def encode(value: Any) -> list[Any]:
        state = read(value)
        stored = {field: state[field] for field in known if field in state}
        extra = {} if len(stored) == len(state) else {key: state[key] for key in state if key not in skipped}
        if _CACHED_HASH in extra:
            extra[_CACHED_HASH] = None
        if len(stored) != len(known) and (unset := [field for field in expected if field not in stored]):
            return [_DATACLASS, name, stored, extra, unset]
        return [_DATACLASS, name, stored, extra] if extra else [_DATACLASS, name, stored]

    return encode


def _declared(cls: Any) -> dict[str, Any]:
    """The fields of a class by their names, as the library that it is made with describes them."""
    return {field.name: field for field in (getattr(cls, ATTRS) if hasattr(cls, ATTRS) else fields(cls))}


def _rests_with_class(cls: Any, field: Any) -> bool:
    """Whether an instance doesn't get this field: a dataclass has the default of one that it isn't made with itself."""
    if hasattr(cls, ATTRS) or field.init or field.default is NO_DEFAULT:
        return False
    return field.name not in dict(slots_of(cls))


def build_record(items: list[Any], names: Names) -> Any:
    """An instance with the fields that were stored, and the defaults of those that its class has gained.

    Raises:
        TypeChangedError: the class lost a field, or gained one without a default.
        UntrustedTypeError, CorruptDataError: no such instance was ever stored.
    """
    _, name, stored, *rest = items
    extra, unset = (*rest, {}, ())[:2]
    cls = class_of(names, name, is_record)
    if is_struct(cls):
        return build_struct(cls, stored, extra, unset)
    known = _declared(cls)
    check_names(cls, stored, known)
    value: Any = object.__new__(cls)
    set_state(value, stored)
    if len(stored) != len(known):
        _set_defaults(
            value, [known[key] for key in known if not (key in stored or key in extra or key in unset)]
        )
    if extra:
        set_state(value, extra)
    return value


def _set_defaults(value: Any, gained: list[Any]) -> None:
    for field in gained:
        default = _default(value, field)
        if default is not NO_DEFAULT:
            set_state(value, {field.name: default})


def _default(value: Any, field: Any) -> Any:
    """What an instance gets for a field that its class has gained; `NO_DEFAULT` where the class has it.

    Raises:
        TypeChangedError: there is none.
    """
    cls: Any = type(value)
    if field.name in (models := getattr(cls, "__pydantic_fields__", {})):
        return model_default(cls, field.name, models[field.name], {})
    if hasattr(cls, ATTRS):
        return _default_of_attrs(value, field)
    if field.default_factory is not NO_DEFAULT:
        return field.default_factory()
    if field.default is NO_DEFAULT:
        raise TypeChangedError(now_requires(cls, field.name))
    return NO_DEFAULT if _rests_with_class(cls, field) else field.default


def _default_of_attrs(value: Any, field: Any) -> Any:
    """`_default` of an attrs class, which sets the defaults of all its fields in its constructor."""
    attr, default = sys.modules["attr"], field.default
    if isinstance(default, attr.Factory):
        return default.factory(value) if default.takes_self else default.factory()
    if default is attr.NOTHING:
        raise TypeChangedError(now_requires(type(value), field.name))
    return default
