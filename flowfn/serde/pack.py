"""Values to msgpack: at msgpack's own speed where it loses nothing, with care where it would.

msgpack calls our encoders for every type it does not know, with three exceptions that this file is
about: it flattens `bytearray` and `memoryview` into bytes silently, and it fails on lone surrogates
and on keys that are not `str`. So the first try is plain; if it fails, or its output can hold
flattened bytes, the value is packed again *softly*: each list and dict passes through `_soften`.

Rule: what cannot come back with the same value and type raises `Refused` with the reason.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple

from ormsgpack import Fragment, packb, unpackb

from flowfn.python.structs import is_struct
from flowfn.python.unicode import is_unicode
from flowfn.serde import arrays, containers, exceptions, frames, leaves, times, urls
from flowfn.serde.format import END, OPTIONS, Kind, Refused, mark
from flowfn.serde.leaves import Encoder
from flowfn.serde.names import Names
from flowfn.serde.objects.enums import enum_encoder
from flowfn.serde.objects.kinds import is_enum, is_model, is_namedtuple, is_record
from flowfn.serde.objects.models import model_encoder
from flowfn.serde.objects.namedtuples import namedtuple_encoder
from flowfn.serde.objects.records import record_encoder
from flowfn.serde.objects.registered import object_encoder
from flowfn.serde.objects.structs import struct_encoder
from flowfn.serde.refusal import TOO_DEEP, remedy, unfindable

_SET = mark(Kind.SET)
_FROZENSET = mark(Kind.FROZENSET)
_MAP = mark(Kind.MAP)

SCALARS = frozenset({str, int, float, bool, type(None)})
_PLAIN = SCALARS | leaves.INERT | {bytes, set, frozenset}
_NESTS = frozenset({list, dict, tuple})
_PLAIN_OR_NESTS = _PLAIN | _NESTS
_MOST_NESTED_SETS = 64
_MOST_NESTED_EXCEPTIONS = 4
"""In each other's arguments and attributes, of which one that holds another often has both."""
_MOST_CLASSES = 4096
_DEPTH_PROBE = b"\x91" * 760
"""Arrays around a set's element: what still loads inside them is far from the reader's depth limit."""


class _Nested(NamedTuple):
    """A list or dict inside a softened one; it comes back to `_encode_softly` at its turn."""

    value: Any


class _Call(threading.local):
    """What the encoders tell the call around msgpack: msgpack drops their errors."""

    error: BaseException | None = None
    sets = 0
    exceptions = 0
    chain: frozenset[int] | None = None
    """The exceptions whose argument or attribute it packs."""


_call = _Call()


class Packer:
    """Packs values, learning the encoder of each class when it first meets one."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._standard: dict[type, Encoder] = {
            **leaves.ENCODERS,
            **containers.ENCODERS,
            **times.encoders_of_times(names),
            set: lambda value: self._set(value, _SET),
            frozenset: lambda value: self._set(value, _FROZENSET),
        }
        self._learned: dict[type, Encoder] = dict(self._standard)

    def pack(self, value: Any) -> bytes:
        """The stored form of a value. Raises `Refused`, or what the value's own code raised."""
        try:
            data = packb([value, END], self._encode, OPTIONS)
        except TypeError:
            return self._framed_softly(value)
        # Numbers, not bytes: looking for those in bytes makes an error first, and drops it.
        if type(value) in SCALARS or not (0xC4 in data or 0xC5 in data or 0xC6 in data):
            return data
        return self._framed_softly(value) if _may_be_flattened(value) else data

    def encoder_of(self, cls: type) -> Encoder:
        """The encoder of a class; `Refused` if it has none."""
        found = self._learned.get(cls)
        if found is None:
            if len(self._learned) > _MOST_CLASSES:  # a program that makes classes without end
                self._learned = dict(self._standard)
            found = self._learned[cls] = self._learn(cls)
        return found

    def _framed_softly(self, value: Any) -> bytes:
        _raise_signal()
        return self._packed([_soften_part(value), END])

    def _pack_softly(self, value: Any) -> bytes:
        _raise_signal()
        return self._packed(_soften_part(value))

    def _packed(self, softened: Any) -> bytes:
        try:
            return packb(softened, self._encode_softly, OPTIONS)
        except TypeError as failure:
            raise _reason(failure) from None

    def _encode(self, value: Any) -> Any:
        try:
            encode = self._learned.get(type(value)) or self.encoder_of(type(value))
            return encode(value)
        except BaseException as error:
            _call.error = error
            raise

    def _encode_softly(self, value: Any) -> Any:
        try:
            if type(value) is _Nested:
                return _soften(value.value)
            return _soften(self.encoder_of(type(value))(value))
        except BaseException as error:
            _call.error = error
            raise

    def _learn(self, cls: type) -> Encoder:
        if issubclass(cls, BaseException):
            return self._exception
        found = (
            arrays.encoder_of(cls)
            or frames.encoder_of(cls)
            or urls.encoder_of(cls)
            or self._standard.get(times.unfrozen(cls))
            or self._learn_named(cls)
        )
        if found is None:
            raise Refused(remedy(cls))
        return found

    def _learn_named(self, cls: type) -> Encoder | None:
        make = self._maker(cls)
        if make is not None and not self._names.knows(cls):
            raise Refused(unfindable(cls))
        return make(cls) if make is not None else None

    def _maker(self, cls: type) -> Callable[[type], Encoder] | None:
        if is_enum(cls):
            return enum_encoder
        if is_model(cls):
            return model_encoder
        if is_namedtuple(cls):
            return namedtuple_encoder
        if is_struct(cls):
            return struct_encoder
        if is_record(cls):
            return record_encoder
        return object_encoder if self._names.is_allowed(cls) else None

    def _exception(self, value: BaseException) -> list[Any]:
        chain = _call.chain
        if chain is None:
            return exceptions.encode(value, self._part_of_exception)
        if id(value) in chain:
            raise Refused("it is an exception that holds itself")
        if _call.exceptions > _MOST_NESTED_EXCEPTIONS:
            raise Refused("it is an exception in one that is in another, and so on")
        return exceptions.encode(value, self._part_of_exception, chain, whole=False)

    def _part_of_exception(self, value: Any, chain: exceptions.Chain) -> Fragment:
        """An argument or attribute, packed once: what is found out on the way holds for this place only."""
        outer, _call.chain = _call.chain, chain
        _call.exceptions += 1
        try:
            data = self._pack_softly(value)
        finally:
            _call.chain = outer
            _call.exceptions -= 1
        _check_depth([data])
        return Fragment(data)

    def _set(self, value: set[Any] | frozenset[Any], opening: Any) -> list[Any]:
        """Elements in the order of their bytes, so that equal sets are equal bytes."""
        _call.sets += 1
        try:
            if _call.sets > _MOST_NESTED_SETS:
                raise Refused(TOO_DEEP)
            parts = sorted(map(self._pack_softly, value))  # no second try, else one per level
        finally:
            _call.sets -= 1
        if _call.sets:
            _check_depth(parts)
        return [opening, *map(Fragment, parts)]


def _check_depth(parts: list[bytes]) -> None:
    """A set's elements and an exception's parts are documents of their own, whose depths msgpack does not add up."""
    for part in parts:
        try:
            unpackb(_DEPTH_PROBE + part, ext_hook=lambda code, data: None)
        except ValueError:
            raise Refused(TOO_DEEP) from None


def _soften_part(value: Any) -> Any:
    """What to put in a value's place inside a list or dict, so that msgpack loses nothing of it."""
    kind = type(value)
    if kind is str:
        return value if is_unicode(value) else leaves.surrogates(value)
    if kind is bytearray:
        return leaves.ENCODERS[bytearray](value)
    if kind is memoryview:
        raise Refused(remedy(memoryview))
    return _Nested(value) if kind in (list, dict) else value


def _soften(value: Any) -> Any:
    if type(value) is list:
        return [_soften_part(item) for item in value]
    if type(value) is not dict:
        return value
    if all(type(key) is str and is_unicode(key) for key in value):
        return {key: _soften_part(item) for key, item in value.items()}
    return [_MAP, *(_soften_part(part) for pair in value.items() for part in pair)]


def _may_be_flattened(value: Any) -> bool:
    """Whether anything but plain values is in it; it was packed, so it is finite."""
    if type(value) not in _NESTS:
        return type(value) not in _PLAIN
    nests = [value]
    while nests:
        level = list(chain.from_iterable(nest.values() if type(nest) is dict else nest for nest in nests))
        kinds = set(map(type, level))
        if not kinds <= _PLAIN_OR_NESTS:
            return True
        nests = [] if kinds.isdisjoint(_NESTS) else [item for item in level if type(item) in _NESTS and item]
    return False


def _raise_signal() -> None:
    """A `KeyboardInterrupt` inside an encoder must not end as a second try."""
    error, _call.error = _call.error, None
    if error is not None and not isinstance(error, Exception):
        raise error


def _reason(failure: TypeError) -> BaseException:
    error, _call.error = _call.error, None
    if isinstance(error, RecursionError) or (error is None and "ecursion" in str(failure)):
        return Refused(TOO_DEEP)
    return error or Refused(str(failure))
