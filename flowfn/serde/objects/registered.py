"""Instances of classes that were allowed by name (`allow=`), by their basic value and their attributes."""

from __future__ import annotations

from typing import Any

from flowfn.errors import TypeChangedError
from flowfn.serde.format import Kind, Refused, mark
from flowfn.serde.leaves import Encoder
from flowfn.serde.names import Names, reference
from flowfn.serde.objects.bases import BASES
from flowfn.serde.objects.kinds import is_plain, not_plain, solid_base
from flowfn.serde.objects.state import derived, set_state, state_of

_OBJECT = mark(Kind.OBJECT)


def object_encoder(cls: type) -> Encoder:
    """How instances of one registered class are packed: by its basic value and its attributes."""
    name, base = reference(cls), solid_base(cls)
    if not is_plain(cls):
        raise Refused(not_plain(cls))
    plain, skipped = BASES[base].plain, derived(cls)

    def encode(value: Any) -> list[Any]:
        state = {key: item for key, item in state_of(value).items() if key not in skipped}
        return [_OBJECT, name, plain(value), state]

    return encode


def build_object(items: list[Any], names: Names) -> Any:
    """An instance with the basic value and the attributes that were stored; no code of its class runs.

    Raises:
        UntrustedTypeError: its class is not allowed by name.
        TypeChangedError: the class extends another basic type now.
    """
    _, name, plain, state = items
    cls = names.find(name, lambda found: is_plain(found) and names.allowed(name) is found)
    base = solid_base(cls)
    if type(plain) is not BASES[base].holds:
        held = "no basic value" if plain is None else f"one of type {type(plain).__name__}"
        raise TypeChangedError(
            f"{name} was stored with {held}, and extends {base.__name__} now. Give the new class another name, and let "
            "the old one stay, if only for reading what was stored"
        )
    value = BASES[base].made_of(cls, plain)
    set_state(value, state)
    return value
