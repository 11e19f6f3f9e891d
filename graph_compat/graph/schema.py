"""What a state's annotations say: its channels, its managed values, and how a node is given it.

Rule: everything is read once, when a graph is built. Of `Annotated[T, ...]` a channel counts wherever it
stands, a managed value or a reducer only as the last item.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import partial
from typing import Annotated, Any, NotRequired, Required, get_args, get_origin, get_type_hints

from flowfn.pregel import Selection
from flowfn.python.annotations import annotations_of, signature_of
from flowfn.python.cached_property import cached_property
from flowfn.python.parametrised import note
from flowfn.values import MISSING
from graph_compat.channels import BinaryOperatorAggregate, DeltaChannel, LastValue
from graph_compat.channels.base import BaseChannel
from graph_compat.constants import ROOT
from graph_compat.injection import body_of
from graph_compat.managed import ManagedValue, is_managed_value

AnyChannel = BaseChannel[Any, Any, Any]


@dataclass(frozen=True)
class Schema:
    """A schema read: its channels and managed values by key, and what to make of a mapping of them."""

    type: Any
    channels: Mapping[str, AnyChannel]
    managed: Mapping[str, type[ManagedValue[Any]]]
    make: Callable[[dict[str, Any]], Any] | None

    @cached_property
    def keys(self) -> Selection:
        """The keys that a node with this schema reads."""
        return Selection((*self.channels, *self.managed))

    @property
    def is_root(self) -> bool:
        """Whether the state is one value, not a mapping."""
        return ROOT in self.channels


def read_schema(schema: Any) -> Schema:
    """Read a TypedDict, a dataclass, a pydantic model, or any other type, whose state is one value.

    Raises:
        ValueError: a reducer doesn't take two arguments.
    """
    if not has_fields(schema):
        return Schema(schema, {ROOT: _named(ROOT, _channel(schema))}, {}, None)
    note(schema)
    channels: dict[str, AnyChannel] = {}
    managed: dict[str, type[ManagedValue[Any]]] = {}
    for name, hint in get_type_hints(schema, include_extras=True).items():
        if name == "__slots__":
            continue
        kind = _managed(hint)
        if kind is not None:
            managed[name] = kind
        else:
            channels[name] = _named(name, _channel(hint))
    return Schema(schema, channels, managed, maker(schema))


def has_fields(schema: Any) -> bool:
    """Whether a schema names keys, each of which is a channel: a class of one's own does, though it may name none."""
    return hasattr(schema, "__annotations__")


def inferred_schema(function: Any) -> Any:
    """What a function's first parameter is annotated with, if that is a class with fields; else None.

    As in LangGraph, a partial says nothing: it's given the whole state.
    """
    if isinstance(function, partial):
        return None
    body = body_of(function)
    if not (inspect.isfunction(body) or inspect.ismethod(body)):
        return None
    try:
        parameters = list(signature_of(function).parameters.values())
        hints = get_type_hints(body)
    except Exception:
        return None
    if not parameters:
        return None
    hint = hints.get(parameters[0].name)
    return hint if isinstance(hint, type) and _annotated_names(hint) else None


def maker(schema: Any) -> Callable[[dict[str, Any]], Any] | None:
    """What makes an instance of a mapping of keys; None where a node is given the mapping itself."""
    if not isinstance(schema, type) or issubclass(schema, dict):
        return None
    if is_dataclass(schema) or hasattr(schema, "model_validate"):
        return lambda values: schema(**values)
    return None


def _named(name: str, channel: AnyChannel) -> AnyChannel:
    channel.key = name
    return channel


def _unwrapped(hint: Any) -> Any:
    """A hint without `Required` and `NotRequired`, around or inside `Annotated`."""
    while get_origin(hint) in (Required, NotRequired):
        (hint,) = get_args(hint)
    if get_origin(hint) is Annotated:
        inner, *extras = get_args(hint)
        plain = _unwrapped(inner)
        if plain is not inner:
            return Annotated[(plain, *extras)]
    return hint


def _managed(hint: Any) -> type[ManagedValue[Any]] | None:
    hint = _unwrapped(hint)
    if get_origin(hint) is not Annotated:
        return None
    last = get_args(hint)[-1]
    return last if is_managed_value(last) else None


def _channel(hint: Any) -> AnyChannel:
    hint = _unwrapped(hint)
    if get_origin(hint) is not Annotated:
        return LastValue(hint)
    typ, *extras = get_args(hint)
    for extra in extras:
        if isinstance(extra, BaseChannel):
            return _typed(extra, typ)
        if isinstance(extra, type) and issubclass(extra, BaseChannel):
            return extra(typ)
    last = extras[-1]
    if callable(last) and not isinstance(last, type):
        _check_reducer(last)
        return BinaryOperatorAggregate(typ, last)
    if isinstance(last, type) and not is_managed_value(last) and _takes_two(last):
        return BinaryOperatorAggregate(typ, last)
    return LastValue(typ)


def _typed(channel: AnyChannel, typ: Any) -> AnyChannel:
    """A channel given as an instance, of the type that it annotates where it says none itself."""
    if isinstance(channel, DeltaChannel) and channel.typ is None:
        return DeltaChannel(channel.reducer, typ, snapshot_frequency=channel.snapshot_frequency)
    return channel


def _takes_two(reducer: Any) -> bool:
    try:
        _check_reducer(reducer)
    except ValueError:
        return False
    return True


def _check_reducer(reducer: Any) -> None:
    parameters = inspect.signature(reducer).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(positional) != 2 or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise ValueError(f"Invalid reducer signature. Expected (a, b) -> c. Got {inspect.signature(reducer)}")


# -- a state given or returned as a whole -----------------------------------------------------------


def fields_of(value: Any) -> list[tuple[str, Any]] | None:
    """The keys and values of an object whose class has annotations; None for any other.

    Of a pydantic model those that were set, or that aren't None, or whose default isn't None: a factory is none.
    """
    kind = type(value)
    if hasattr(kind, "model_fields"):
        given, fields = value.model_fields_set, kind.model_fields
        found = [(name, getattr(value, name)) for name in fields]
        return [
            (name, v)
            for name, v in found
            if v is not None or name in given or fields[name].default is not None
        ]
    names = _annotated_names(kind)
    if not names:
        return None
    found = [(name, getattr(value, name, MISSING)) for name in names]
    return [(name, v) for name, v in found if v is not MISSING]


def _annotated_names(kind: type) -> list[str]:
    names: dict[str, None] = {}
    for base in reversed(kind.__mro__):
        names.update(dict.fromkeys(annotations_of(base)))
    return list(names)
