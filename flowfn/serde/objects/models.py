"""Pydantic models, by their state: fields, those that were set, extra and private ones. No validator runs."""

from __future__ import annotations

from typing import Any

from flowfn.errors import CorruptDataError, TypeChangedError
from flowfn.serde.format import Kind, Refused, mark
from flowfn.serde.leaves import Encoder
from flowfn.serde.names import Names, reference
from flowfn.serde.objects.kinds import class_of, is_model
from flowfn.serde.objects.state import check_names, now_requires

_PYDANTIC = mark(Kind.PYDANTIC)
_OF_SQLALCHEMY = "_sa_instance_state"
"""What a model of SQLModel carries that is a table's: without it, it could be read and no more."""


def model_encoder(cls: Any) -> Encoder:
    """How instances of one pydantic model are packed: by its state."""
    name = reference(cls)
    known, hides = tuple(cls.__pydantic_fields__), bool(cls.__private_attributes__)
    declared = {*known, *cls.__private_attributes__}

    def encode(value: Any) -> list[Any]:
        stored, private, unset = value.__dict__, value.__pydantic_private__, None
        if hides or private or tuple(stored) != known:  # as of no chat message
            stored, private = _known(stored, known), private and _defined(private)
            unset = declared.difference(stored, private or ())
        said = [
            _PYDANTIC,
            name,
            stored,
            sorted(value.__pydantic_fields_set__),
            value.__pydantic_extra__,
            private,
        ]
        return [*said, sorted(unset)] if unset else said

    return encode


def _known(state: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    """The fields among what a model has in its dict, in their order."""
    if _OF_SQLALCHEMY in state:
        raise Refused("it is a row of SQLAlchemy's. Store its model_dump(), or its key")
    return {field: state[field] for field in fields if field in state}


def _defined(private: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in private.items() if not _undefined(item)}


def _undefined(value: Any) -> bool:
    return type(value).__name__ == "PydanticUndefinedType"


def build_model(items: list[Any], names: Names) -> Any:
    """A model with the state that was stored; see `records.build_record`."""
    _, name, stored, fields_set, extra, private, *rest = items
    unset = rest[0] if rest else ()
    cls = class_of(names, name, is_model)
    known = cls.__pydantic_fields__
    if type(stored) is not dict or stored.keys() != known.keys():
        check_names(cls, stored, known)
    if type(extra) not in _STATES or type(private) not in _STATES:
        raise CorruptDataError(f"The state of a stored {name} is no mapping")
    if len(stored) != len(known):
        for key, field in known.items():
            if key not in stored and key not in unset:
                stored[key] = model_default(cls, key, field, stored)
    declared = cls.__private_attributes__
    if declared and (private is None or not declared.keys() <= private.keys()):
        private = private or {}
        gained = [key for key in declared if key not in private and key not in unset]
        private = {**{key: _private_default(cls, key, stored) for key in gained}, **private}
    value = object.__new__(cls)
    _set(value, "__dict__", stored)
    _set(value, "__pydantic_fields_set__", set(fields_set))
    # A RootModel has None in the place of these slots: to set one would make an attribute of it.
    if extra is not None or not cls.__pydantic_root_model__:
        _set(value, "__pydantic_extra__", extra)
    if private is not None or not cls.__pydantic_root_model__:
        _set(value, "__pydantic_private__", private)
    return value


_STATES = (dict, type(None))
_set = object.__setattr__


def _private_default(cls: Any, name: str, stored: dict[str, Any]) -> Any:
    """What a model gets for a private attribute that its class has gained.

    Raises:
        TypeChangedError: the attribute has no default, but is set by code of the class.
    """
    attribute = cls.__private_attributes__[name]
    factory = attribute.default_factory
    if factory is not None:
        return (
            factory(stored)
            if getattr(attribute, "default_factory_takes_validated_data", False)
            else factory()
        )
    if _undefined(default := attribute.get_default()):
        raise TypeChangedError(now_requires(cls, name))
    return default


def model_default(cls: type, name: str, field: Any, stored: dict[str, Any]) -> Any:
    """What a model gets for a field that its class has gained.

    Raises:
        TypeChangedError: the field has no default.
    """
    if field.is_required():
        raise TypeChangedError(now_requires(cls, name))
    if getattr(field, "default_factory_takes_validated_data", False):
        return field.get_default(call_default_factory=True, validated_data=stored)
    return field.get_default(call_default_factory=True)
