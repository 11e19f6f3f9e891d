"""Values to bytes and back: the serializer behind every checkpoint, cache entry and digest.

Rules: a value comes back equal and of the same type, or `dumps` refuses it and says where and why
(G5, never a silent change). Equal bytes come of what was loaded and dumped again, so that bytes may
be digested. `loads` imports nothing, calls nothing that the data names, and answers any bytes
whatsoever with a value or one of three errors. Shared references become copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ormsgpack import packb

from flowfn.errors import (
    CorruptDataError,
    DecryptionError,
    NewerFormatError,
    SerializationError,
    TypeChangedError,
    UntrustedTypeError,
)
from flowfn.serde.annotations import why_not
from flowfn.serde.format import CURRENT, ENCRYPTED, END, FIRST, OPTIONS, PICKLED, TAGGED, Refused
from flowfn.serde.names import Names, NamesOfThisProcess, Receiver, script
from flowfn.serde.pack import SCALARS, Packer
from flowfn.serde.refusal import CYCLE, TOO_DEEP, cycle, locate, name_of, remedy
from flowfn.serde.unpack import unpack, unpack_plain

_OPENINGS = (bytes([CURRENT]), bytes([FIRST]))
_SHARED = Names()
_ENCRYPTED = (
    "The stored bytes are encrypted with key {id!r}, and are read without keys. Open the database with "
    "checkpointers.EncryptedSaver and that key; for the command line, set FLOWFN_KEY"
)
_OTHERS = {
    PICKLED: "The stored bytes are a pickle. Read them with flowfn.serde.PickleSerde(allow=[...])",
    TAGGED: "The stored bytes were written with a serializer of LangGraph's kind. Give the saver that serde=",
}


class Serde:
    """A serializer; implements `flowfn.ports.Serializer`. Threads may share one.

    `max_bytes` bounds what it writes and reads, None meaning no bound. `stays_here` says that its bytes never leave
    this process, which then needs no `allow` for a class made inside a function.
    """

    def __init__(self, *, max_bytes: int | None = None, stays_here: bool = False) -> None:
        self._max_bytes = max_bytes
        self._names = NamesOfThisProcess(_SHARED) if stays_here else Names(_SHARED)
        self._packer = Packer(self._names)
        self._pack = self._packer.pack
        self._packs_plainly = max_bytes is None and type(self).dumps is Serde.dumps
        self._reads_plainly = max_bytes is None and type(self).loads is Serde.loads
        """Not where a class derived from this one has bytes of its own."""

    def dumps(self, value: Any) -> bytes:
        """The bytes of a value. Raises `SerializationError`, whose `path` is where inside the value."""
        if type(value) in SCALARS and self._max_bytes is None:
            try:
                return packb([value, END], None, OPTIONS)
            except TypeError:  # a text or number that msgpack can't hold
                pass
        try:
            data = self._pack(value)
        except Exception as error:
            raise self._explain(value, error) from (None if isinstance(error, Refused) else error)
        if self._max_bytes is not None and len(data) > self._max_bytes:
            raise SerializationError(
                f"value takes {len(data):,} bytes, and max_bytes is {self._max_bytes:,}. "
                "Store it elsewhere and keep its address, or raise max_bytes"
            )
        return data

    def dumps_plain(self, parts: list[Any]) -> bytes:
        """`dumps` of texts, bytes, numbers, None, and lists of those, which msgpack keeps as they are.

        Whether they are that isn't looked at: it would take ten times as long as packing them.
        """
        if self._packs_plainly:
            try:
                return packb([parts, END], None, OPTIONS)
            except TypeError:  # a text or number that msgpack can't hold
                pass
        return self.dumps(parts)

    def loads(self, data: bytes) -> Any:
        """The value of such bytes.

        Raises `UntrustedTypeError` for a type that may not be restored, `TypeChangedError` for one
        whose fields no longer fit, and `CorruptDataError` for anything else.
        """
        if self._max_bytes is not None and len(data) > self._max_bytes:
            raise self._unreadable(data)
        try:
            return unpack(data, self._names)
        except (CorruptDataError, TypeChangedError, UntrustedTypeError):
            raise
        except Exception as error:
            if data[:1] not in _OPENINGS:
                raise self._unreadable(data) from None
            raise CorruptDataError(
                f"The stored bytes cannot be read ({type(error).__name__}: {error}); they were cut short "
                "or changed after flowfn wrote them. Restore them from a backup"
            ) from error

    def loads_plain(self, many: Sequence[bytes]) -> list[Any]:
        """`loads` of each of what `dumps_plain` gave; together it takes a third of the time."""
        found = unpack_plain(many) if self._reads_plainly else None
        return [self.loads(data) for data in many] if found is None else found

    def allow(self, *types: type, as_: str | None = None) -> Serde:
        """Let this serializer store and restore instances of these classes; returns itself.

        `as_` is the name, `module:QualifiedName`, under which old data has the one class given.
        """
        _register(self._names, types, as_)
        return self

    @property
    def receiver(self) -> Receiver:
        """What a worker has to know whose bytes this one will read."""
        return Receiver(script(), self._names.registered())

    def check(self, annotation: Any, owner: str) -> None:
        """Raise `SerializationError` if no value of a return annotation can be stored; else say nothing."""
        reason = why_not(annotation, self._packer.encoder_of)
        if reason is not None:
            raise SerializationError(f"What {owner} returns cannot be stored. {reason}")

    def _explain(self, value: Any, error: Exception) -> SerializationError:
        """The error for an author: where in the value, of which type, why, and what to do."""
        if str(error) != TOO_DEEP:
            path, part, holds_more = locate(value, self._storable, self._knows)
            reason = remedy(type(part), holds_more=True) if holds_more else self._reason(part)
        elif (found := cycle(value)) is not None:
            path, part, reason = found, value, CYCLE
        else:
            path, part, reason = "", value, TOO_DEEP
        return SerializationError(
            f"value{path} is of type {name_of(type(part))} and cannot be stored: {reason}", path
        )

    def _reason(self, part: Any) -> str:
        try:
            self._pack(part)
        except Refused as refusal:
            return str(refusal)
        except Exception as raised:
            return f"reading it raised {type(raised).__name__}: {raised}"
        return "it changed while it was stored. Store a copy"

    def _knows(self, cls: type) -> bool:
        """Whether instances of a class can be stored, if what they hold can."""
        try:
            return cls in (list, dict) or self._packer.encoder_of(cls) is not None
        except Refused:
            return False

    def _storable(self, value: Any) -> bool:
        try:
            self._pack(value)
        except Exception:
            return False
        return True

    def _unreadable(self, data: bytes) -> CorruptDataError:
        if not data:
            return CorruptDataError("There are no stored bytes to read. Restore them from a backup")
        if data[0] == ENCRYPTED:
            return _sealed(data)
        if data[0] in _OTHERS:
            return CorruptDataError(_OTHERS[data[0]])
        if data[:1] in _OPENINGS:
            return CorruptDataError(f"The stored bytes are {len(data):,}, and max_bytes is {self._max_bytes}")
        if data[0] > FIRST:
            return NewerFormatError(
                f"The stored bytes have format {data[0]}, and this flowfn reads {FIRST} and {CURRENT}: "
                "they were written by a newer one. Upgrade flowfn"
            )
        return CorruptDataError(f"The stored bytes open with {data[:1]!r}, which flowfn never writes")


def refuse_sealed(data: bytes) -> None:
    """Raise `DecryptionError` for encrypted bytes: those are bound to their place, and of no use in another."""
    if data[:1] == bytes([ENCRYPTED]):
        raise _sealed(data)


def _sealed(data: bytes) -> DecryptionError:
    return DecryptionError(_ENCRYPTED.format(id=data[2 : 2 + sum(data[1:2])].decode("ascii", "replace")))


def _register(names: Names, types: tuple[type, ...], as_: str | None) -> None:
    if as_ is not None and len(types) != 1:
        raise TypeError(f"as_={as_!r} renames one class, not {len(types)}. Call allow() once per class")
    for cls in types:
        names.allow(cls, as_)


def allow(*types: Any, as_: str | None = None) -> Any:
    """Let every serializer of this process store and restore instances of these classes.

    Usable as a class decorator: returns the class if given one, else None. `as_` is the name,
    `module:QualifiedName`, under which old data has the one class given.
    """
    _register(_SHARED, types, as_)
    return types[0] if len(types) == 1 else None


DEFAULT = Serde()
"""The serializer that is used where none is given."""
