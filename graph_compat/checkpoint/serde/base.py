"""LangGraph's `langgraph.checkpoint.serde.base`, and how its kind of serializer serves a saver of flowfn.

LangGraph's serializers give a tag beside the bytes (`dumps_typed`), flowfn's put all into the bytes (`dumps`).
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from flowfn.errors import CorruptDataError
from flowfn.ports import Serializer
from flowfn.serde import DEFAULT, Serde
from flowfn.serde.format import TAGGED

_OPENING = bytes([TAGGED])
_LONGEST_TAG = 255


class UntypedSerializerProtocol(Protocol):
    """A serializer whose bytes say everything."""

    def dumps(self, obj: Any) -> bytes: ...

    def loads(self, data: bytes) -> Any: ...


@runtime_checkable
class SerializerProtocol(Protocol):
    """A serializer that gives a tag, which says how the bytes are to be read."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]: ...

    def loads_typed(self, data: tuple[str, bytes]) -> Any: ...


@runtime_checkable
class CipherProtocol(Protocol):
    """Encrypts bytes; `encrypt` gives the cipher's name with them."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]: ...

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes: ...


class SerializerCompat:
    """Gives a serializer without tags the methods with tags; the tag is the name of its class."""

    def __init__(self, serde: UntypedSerializerProtocol) -> None:
        self.serde = serde

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The tag and the bytes of a value."""
        return type(obj).__name__, self.serde.dumps(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value of a tag and bytes."""
        return self.serde.loads(data[1])


def maybe_add_typed_methods(serde: SerializerProtocol | UntypedSerializerProtocol) -> SerializerProtocol:
    """The serializer, with tags."""
    return serde if isinstance(serde, SerializerProtocol) else SerializerCompat(serde)


class TypedSerde:
    """A serializer of LangGraph's kind as `flowfn.ports.Serializer`: the tag goes in front of the bytes.

    It has to restore what it stores as it was, since what flowfn records goes through it too. Bytes without
    a tag are flowfn's own, which were stored before it.
    """

    def __init__(self, serde: SerializerProtocol) -> None:
        self._serde = serde

    def dumps_typed(self, value: Any) -> tuple[str, bytes]:
        """The tag and the bytes of a value, as the serializer gives them."""
        return self._serde.dumps_typed(value)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value of a tag and bytes."""
        return self._serde.loads_typed(data)

    def dumps(self, value: Any) -> bytes:
        """The bytes of a value; raises what the serializer raises."""
        tag, data = self._serde.dumps_typed(value)
        named = tag.encode()
        if len(named) > _LONGEST_TAG:
            raise ValueError(
                f"The tag {tag!r} is longer than {_LONGEST_TAG} bytes. Give the cipher a shorter name"
            )
        return _OPENING + bytes([len(named)]) + named + data

    def loads(self, data: bytes) -> Any:
        """The value of such bytes; raises what the serializer raises."""
        if data[:1] != _OPENING:
            return DEFAULT.loads(data)
        if len(data) < 2 or len(data) < 2 + data[1]:
            raise CorruptDataError("The stored bytes end within their tag. Restore them from a backup")
        end = 2 + data[1]
        return self._serde.loads_typed((data[2:end].decode("utf-8", "replace"), data[end:]))


class OwnSerde(Serde):
    """flowfn's serializer, with the methods by which LangGraph's users call that of a saver."""

    def dumps_typed(self, value: Any) -> tuple[str, bytes]:
        """A tag, and the bytes of a value, which say everything."""
        return "flowfn", self.dumps(value)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value of a tag and bytes."""
        return self.loads(data[1])


OWN = OwnSerde()
"""What savers have where nobody gave them a serializer."""


def as_serializer(serde: SerializerProtocol | UntypedSerializerProtocol) -> Serializer:
    """A serializer of either kind, as a saver of flowfn takes it.

    One that has both kinds of methods is used with tags, since those are what LangGraph's users override.
    """
    if serde is DEFAULT:
        return OWN
    if isinstance(serde, TypedSerde | OwnSerde):
        return serde
    return TypedSerde(serde) if isinstance(serde, SerializerProtocol) else serde
