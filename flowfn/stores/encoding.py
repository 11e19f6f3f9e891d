"""Values as a backend keeps them.

Rule: what JSON gives back as it was is kept as JSON text, which a database can look into; anything else as the
serializer's bytes. Either way a value comes back equal and of the same types, or is refused when it is put.
"""

from __future__ import annotations

import json
import math
from typing import Any

from flowfn.ports import Serializer
from flowfn.python.unicode import is_unicode

Encoded = str | bytes

_DEPTH = 100
"""Levels of nesting up to which every JSON reader follows."""

LONGEST_NUMBER = 2048
"""Bits of a whole number that every Python writes and reads in decimal: it may be set to refuse 641 digits."""

_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encode(value: dict[str, Any], serde: Serializer) -> Encoded:
    """The value as JSON, or as bytes.

    Raises:
        SerializationError: it can't be stored.
    """
    return _dump(value) if is_json(value) else serde.dumps(value)


def decode(data: Encoded, serde: Serializer) -> dict[str, Any]:
    """The value that was encoded so, a new one each time."""
    found: dict[str, Any] = json.loads(data) if isinstance(data, str) else serde.loads(data)
    return found


def is_json(value: Any, depth: int = _DEPTH) -> bool:
    """Whether JSON gives the value back equal and of the same types."""
    kind = type(value)
    if kind is str:
        return is_unicode(value)
    if kind is float:
        return math.isfinite(value)
    if kind is int:
        return bool(value.bit_length() <= LONGEST_NUMBER)
    if kind is bool or value is None:
        return True
    if kind is list:
        return depth > 0 and all(is_json(item, depth - 1) for item in value)
    if kind is dict:
        return depth > 0 and all(
            type(key) is str and is_unicode(key) and is_json(item, depth - 1) for key, item in value.items()
        )
    return False
