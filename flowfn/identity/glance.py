"""Two cheap looks that spare most arguments the thorough one.

Rule: a glance may suspect what is ordinary, never the other way round. It knows what `volatile` and
`canonical` look for: a text with a time or a token in it has four digits in a row, a run of sixteen
letters, or a mark of its own; a number that is one is huge or takes long to write.

Bytes are looked for in bytes by `find`, and a single one of theirs first, by its number: `in` takes what is no number
for one, has an error made and drops it, which costs ten times as much.
"""

from __future__ import annotations

import re
from string import ascii_letters, digits
from struct import unpack

from ormsgpack import packb

__all__ = ["is_ordinary", "is_ordinary_float", "is_ordinary_text"]


def _table(characters: str, to: str) -> bytes:
    """A table for `bytes.translate` that turns `characters` into `to`, and all else into blanks."""
    return bytes(ord(to if chr(code) in characters else " ") for code in range(256))


_DIGITS_TO_ZEROS = _table(digits, "0")
_TOKENS_TO_AS = _table(ascii_letters + digits + "_+/-", "a")
_P, _X = b"px"
_TOKEN = 16
_RUN = b"a" * _TOKEN


def is_ordinary_text(text: str) -> bool:
    """Whether a text certainly holds nothing volatile, and no memory address."""
    return len(text) < 8 or _holds_no_token(text.encode("utf-8", "surrogatepass"))


def _holds_no_token(data: bytes) -> bool:
    return (
        data.translate(_DIGITS_TO_ZEROS).find(b"0000") < 0
        and (len(data) < _TOKEN or data.translate(_TOKENS_TO_AS).find(_RUN) < 0)
        and (_P not in data or data.find(b"tmp") < 0)
        and (_X not in data or data.find(b" at 0x") < 0)
    )


def is_ordinary_float(value: float) -> bool:
    """Whether a float is certainly neither an epoch number nor random."""
    return -1e9 < value < 1e9 and len(repr(value)) < 16


def is_ordinary(packed: bytes) -> bool:
    """Whether a packed mapping certainly holds nothing volatile, no memory address and no chat message.

    Nor bytes, as msgpack writes a `bytearray` like `bytes`: the walk tells them apart.
    It reads bytes, not values: a byte of a text may look like the head of a value, and is suspected.
    """
    if len(packed) < 8:  # too short for a key and any of these, but not for a `bytearray`
        return _BYTES not in packed
    if _MARK in packed.translate(_HEADS_TO_MARKS) and not _holds_ordinary_numbers(packed):
        return False
    return _holds_no_token(packed) and (_CONTENT[0] not in packed or packed.find(_CONTENT) < 0)


_BYTES, _MARK = b"\xc4!"
_CONTENT = packb("content")
"""The key that each chat message has, among others."""
_HEADS_TO_MARKS = _table("".join(map(chr, (*range(0xC4, 0xCA), 0xCB, 0xCE, 0xCF, *range(0xD2, 0xD9)))), "!")
"""The heads of bytes, extensions, floats, and integers of 32 and 64 bits."""

_OTHER_VALUES = re.compile(
    rb"[\xc4-\xc9\xcf\xd3-\xd8]"  # bytes, extensions, 64-bit integers
    rb"|\xce[\x3b-\xff]|\xd2[\x80-\xc5]"  # integers beyond a thousand millions
)
_FLOATS = re.compile(rb"\xcb(?=(.{8}))", re.DOTALL)


def _holds_ordinary_numbers(packed: bytes) -> bool:
    if _OTHER_VALUES.search(packed):
        return False
    floats = _FLOATS.findall(packed)
    return all(map(is_ordinary_float, unpack(f">{len(floats)}d", b"".join(floats))))
