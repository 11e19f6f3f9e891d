"""Leaves: values that contain no others, each one msgpack extension.

Rule: an encoder here takes the exact type only, and a decoder is a function of its bytes alone.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
from pathlib import Path, PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from re import fullmatch
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ormsgpack import Ext

from flowfn.errors import CorruptDataError
from flowfn.serde.format import Leaf, Refused
from flowfn.values import MISSING

Encoder = Callable[[Any], Any]
"""Turns a value into what msgpack stores: an extension, or the array of a composite."""

UNNAMED_ZONE = "a ZoneInfo made from a file has no name to store it by. Use ZoneInfo(name)"
_COMPLEX = struct.Struct(">dd")
_TIMEDELTA = struct.Struct(">iii")
_SINGLETONS: dict[bytes, Any] = {b"\0": MISSING, b"\1": ..., b"\2": NotImplemented}
_SINGLETON_CODES = {type(value): code for code, value in _SINGLETONS.items()}
_PATHS: dict[bytes, type] = {b"p": PurePosixPath, b"w": PureWindowsPath, b"P": Path, b"W": Path}
_PATH_CODES = {PurePosixPath: b"p", PureWindowsPath: b"w", PosixPath: b"P", WindowsPath: b"W"}
_IPS: dict[bytes, Callable[[str], Any]] = {
    b"a": IPv4Address,
    b"i": IPv4Interface,
    b"n": IPv4Network,
    b"A": IPv6Address,
    b"I": IPv6Interface,
    b"N": IPv6Network,
}
_IP_CODES = {cls: code for code, cls in _IPS.items()}


def surrogates(value: str) -> Ext:
    """A `str` with lone surrogates, which msgpack has no form for."""
    return Ext(int(Leaf.SURROGATES), value.encode("utf-8", "surrogatepass"))


def _bytearray(value: bytearray) -> Ext:
    return Ext(int(Leaf.BYTEARRAY), bytes(value))


def _big_int(value: int) -> Ext:
    return Ext(int(Leaf.BIG_INT), value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def _complex(value: complex) -> Ext:
    return Ext(int(Leaf.COMPLEX), _COMPLEX.pack(value.real, value.imag))


def plain_datetime(value: datetime) -> Ext:
    """A datetime that its ISO form says all of: without a zone or in UTC, and without fold."""
    return Ext(int(Leaf.DATETIME), value.isoformat().encode())


def plain_date(value: date) -> Ext:
    """A day."""
    return Ext(int(Leaf.DATE), value.isoformat().encode())


def plain_time(value: time) -> Ext:
    """A time without a zone and without fold."""
    return Ext(int(Leaf.TIME), value.isoformat().encode())


def _timedelta(value: timedelta) -> Ext:
    return Ext(int(Leaf.TIMEDELTA), _TIMEDELTA.pack(value.days, value.seconds, value.microseconds))


def _uuid(value: UUID) -> Ext:
    return Ext(int(Leaf.UUID), value.bytes)


def _decimal(value: Decimal) -> Ext:
    return Ext(int(Leaf.DECIMAL), str(value).encode())


def _path(value: Any) -> Ext:
    return Ext(int(Leaf.PATH), _PATH_CODES[type(value)] + str(value).encode("utf-8", "surrogatepass"))


def _singleton(value: Any) -> Ext:
    return Ext(int(Leaf.SINGLETON), _SINGLETON_CODES[type(value)])


def _ip(value: Any) -> Ext:
    return Ext(int(Leaf.IP), _IP_CODES[type(value)] + str(value).encode())


def _zone(value: ZoneInfo) -> Ext:
    if value.key is None:
        raise Refused(UNNAMED_ZONE)
    return Ext(int(Leaf.ZONE), value.key.encode())


ENCODERS: dict[type, Encoder] = {
    int: _big_int,
    bytearray: _bytearray,
    complex: _complex,
    date: plain_date,
    timedelta: _timedelta,
    UUID: _uuid,
    Decimal: _decimal,
    ZoneInfo: _zone,
    **dict.fromkeys(_PATH_CODES, _path),
    **dict.fromkeys(_SINGLETON_CODES, _singleton),
    **dict.fromkeys(_IP_CODES, _ip),  # type: ignore[arg-type]
}


def _load_timedelta(data: bytes) -> timedelta:
    return timedelta(*_TIMEDELTA.unpack(data))


def _load_path(data: bytes) -> Any:
    return _PATHS[data[:1]](data[1:].decode("utf-8", "surrogatepass"))


def _load_zone(data: bytes) -> ZoneInfo:
    key = data.decode("ascii")
    # ZoneInfo imports `tzdata.zoneinfo.<folder>` for a key, so only what looks like a zone gets there.
    if not fullmatch(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*", key):
        raise CorruptDataError(f"{key!r} is not the name of a time zone")
    try:
        return ZoneInfo(key)
    except ZoneInfoNotFoundError as error:
        raise CorruptDataError(
            f"The time zone {key!r} is not known on this machine. Install it: pip install tzdata"
        ) from error


DECODERS: dict[int, Callable[[bytes], Any]] = {
    Leaf.BIG_INT: lambda data: int.from_bytes(data, "big", signed=True),
    Leaf.COMPLEX: lambda data: complex(*_COMPLEX.unpack(data)),
    Leaf.SURROGATES: lambda data: data.decode("utf-8", "surrogatepass"),
    Leaf.BYTEARRAY: bytearray,
    Leaf.DATETIME: lambda data: datetime.fromisoformat(data.decode()),
    Leaf.DATE: lambda data: date.fromisoformat(data.decode()),
    Leaf.TIME: lambda data: time.fromisoformat(data.decode()),
    Leaf.TIMEDELTA: _load_timedelta,
    Leaf.UUID: lambda data: UUID(bytes=data),
    Leaf.DECIMAL: lambda data: Decimal(data.decode()),
    Leaf.PATH: _load_path,
    Leaf.SINGLETON: _SINGLETONS.__getitem__,
    Leaf.IP: lambda data: _IPS[data[:1]](data[1:].decode()),
    Leaf.ZONE: _load_zone,
}

INERT = frozenset({*ENCODERS, datetime, time} - {bytearray})
"""Types that hold no other values, and so nothing that msgpack could flatten."""
