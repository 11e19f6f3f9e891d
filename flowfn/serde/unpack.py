"""msgpack to values: leaves while msgpack reads, composites afterwards.

Rule: no recursion, so that nothing depends on how deep the data or the caller is; and data without
composites costs what msgpack costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from ormsgpack import packb, unpackb

from flowfn.errors import CorruptDataError
from flowfn.serde import arrays, containers, exceptions, frames, leaves, objects, times, urls
from flowfn.serde.format import CURRENT, END, FIRST, KINDS, Kind, Leaf
from flowfn.serde.names import Found, Names

_DECODERS = {
    int(code): decode for code, decode in (leaves.DECODERS | arrays.DECODERS | urls.DECODERS).items()
}
_BUILDERS = containers.BUILDERS | times.BUILDERS | objects.BUILDERS | exceptions.BUILDERS | frames.BUILDERS
_MARK = int(Leaf.MARK)
_OPENING = bytes([CURRENT])
_ARRAY_OF_3, _LONG_ARRAY = b"\x93", b"\xdd"
_STOP_TEXT = "\0end"
_STOP = packb(_STOP_TEXT)
_BETWEEN_TEXT = uuid4().hex
_BETWEEN = packb(_BETWEEN_TEXT)
_CONTAINERS = frozenset((list, dict))
_MANY = 32
"""Items from which on it is faster to ask first whether there is a container among them."""


def _leaf(met: list[Any], code: int, data: bytes) -> Any:
    """The extension hook. `met` gets each mark, as it is of a composite to build; and an error, as msgpack drops it."""
    try:
        if code == _MARK:
            met.append(kind := KINDS[data])
            return kind
        return _DECODERS[code](data)
    except BaseException as error:
        met.append(error)
        raise


def unpack(data: bytes, names: Names) -> Any:
    """The value of stored bytes; any error may come out of bytes that nobody packed.

    msgpack ignores what follows a document; what follows `END` is seen at the end. The first format has none: its
    version, its document and a stop are read as an array.
    """
    met: list[Any] = []
    leaf = partial(_leaf, met)
    try:
        if data[0] == CURRENT:
            value, end = unpackb(data, ext_hook=leaf)
            ends = end == END == data[-1]
        elif data[0] != FIRST:
            raise ValueError("bytes of neither format")
        else:
            _, value, end = unpackb(b"".join((_ARRAY_OF_3, data, _STOP)), ext_hook=leaf)
            ends = end == _STOP_TEXT
    except ValueError:
        error = met.pop() if met else None
        if not isinstance(error, BaseException):
            raise
        raise error from None
    if not ends:
        raise CorruptDataError("More bytes follow the stored value. Restore it from a backup")
    return _build(value, len(met), names) if met else value


def unpack_plain(many: Sequence[bytes]) -> list[Any] | None:
    """The values of stored bytes that need no decoder of ours, read as one array; None where some aren't such bytes.

    After each comes a text that nobody can have stored: where they all stand in their places, no value reached into
    another's bytes, and none had less or more than its own.
    """
    if not all(data[:1] == _OPENING and data[-1] == END for data in many):
        return None
    values = _BETWEEN.join([data[1:-1] for data in many])
    try:
        found = unpackb(b"".join((_LONG_ARRAY, (2 * len(many)).to_bytes(4), values, _BETWEEN)))
    except ValueError:
        return None
    return found[::2] if found[1::2] == [_BETWEEN_TEXT] * len(many) else None


def _build(value: Any, marks: int, names: Names) -> Any:
    """Replace each composite's array by what it stands for, the innermost first."""
    root = {"": value}
    composites = _composites(root)
    if len(composites) != marks:
        raise CorruptDataError("Stored bytes hold a mark outside of a composite")
    found = Found(names)
    for holder, key, items in reversed(composites):
        holder[key] = _BUILDERS[items[0]](items, found)
    return root[""]


def _composites(root: dict[str, Any]) -> list[tuple[Any, Any, list[Any]]]:
    """The composites below a mapping, each after the one that it is in: what holds it, and where, and its array."""
    found = []
    containers: list[Any] = [root]
    parts: Iterable[tuple[Any, Any]]
    for holder in containers:
        if type(holder) is dict:
            values, parts = holder.values(), holder.items()
        else:
            values, parts = holder, enumerate(holder)
        if len(holder) > _MANY and _CONTAINERS.isdisjoint(map(type, values)):
            continue
        for key, item in parts:
            kind = type(item)
            if kind is dict:
                if item:
                    containers.append(item)
            elif kind is list and item:
                containers.append(item)
                if type(item[0]) is Kind:
                    found.append((holder, key, item))
    return found
