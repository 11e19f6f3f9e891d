"""What a cache keeps of one result: when it was made, its encoded value, and what it was made of.

Rule: bytes that flowfn did not write whole, under this very key, are told apart from those that it did, before anything
reads them. The value comes first, so that a hit need not look at the description behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct
from struct import error as StructError
from typing import Any
from zlib import crc32

from ormsgpack import packb, unpackb

from flowfn.errors import CorruptDataError, NewerFormatError

_MARK = b"\x93flowfn\n"
_VERSION = 1
_HEADER = Struct(">8sBI")
_BODY = Struct(">dI")
_START = _HEADER.size + _BODY.size


@dataclass(frozen=True, slots=True)
class Made:
    """What a result was made of: the digest of code and constants, and the arguments that count, by name.

    Of each argument there is a rendering and a digest, as two values may look alike.
    """

    code: str = ""
    arguments: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)


def encode(key: str, value: bytes, at: float, made: Made) -> bytes:
    """The bytes of an entry whose result was made `at` that time, in epoch seconds, to be kept under a key."""
    arguments = {name: list(each) for name, each in made.arguments.items()}
    body = _BODY.pack(at, len(value)) + value + packb([made.code, arguments])
    return _HEADER.pack(_MARK, _VERSION, _checksum(key, body)) + body


def _checksum(key: str, body: bytes | memoryview) -> int:
    return crc32(body, crc32(key.encode("utf-8", "surrogatepass")))


def is_fresh(at: float, ttl: float, now: float) -> bool:
    """Whether an entry made `at` that time lives. One from the future lives no longer: the clock has gone back."""
    return abs(now - at) < ttl


def value_of(key: str, data: bytes) -> tuple[float, bytes]:
    """When the entry of a key was made, and its encoded value.

    Raises:
        NewerFormatError: a later flowfn wrote it.
        CorruptDataError: it is no entry, not a whole one, or another key's.
    """
    try:
        mark, version, check = _HEADER.unpack_from(data)
        at, length = _BODY.unpack_from(data, _HEADER.size)
    except (StructError, TypeError):
        raise CorruptDataError("it is no whole cache entry of flowfn's") from None
    if mark != _MARK:
        raise CorruptDataError("it is no cache entry of flowfn's")
    if version != _VERSION:
        raise NewerFormatError(f"it has format {version}, and this flowfn reads format {_VERSION}")
    if _checksum(key, memoryview(data)[_HEADER.size :]) != check or _START + length > len(data):
        raise CorruptDataError("its checksum is wrong: it was cut short or changed, or is another call's")
    return at, data[_START : _START + length]


def made_of(data: bytes) -> Made:
    """What the result of a whole entry was made of."""
    _, length = _BODY.unpack_from(data, _HEADER.size)
    try:
        code, arguments = unpackb(data[_START + length :])
        return Made(code, {name: (text, mark) for name, (text, mark) in arguments.items()})
    except (ValueError, TypeError, AttributeError) as error:
        raise CorruptDataError(f"its description can't be read: {error}") from None


def encode_code(key: str, units: Mapping[str, str], at: float) -> bytes:
    """The sources behind a digest of code, as an entry of their own."""
    return encode(key, packb(dict(units)), at, Made())


def code_of(key: str, data: bytes) -> dict[str, str]:
    """The sources of `encode_code`."""
    found: Any = unpackb(value_of(key, data)[1])
    if not isinstance(found, dict):
        raise CorruptDataError("it holds no sources")
    return found
