"""msgpack to values: leaves while msgpack reads, composites afterwards.

Rule: no recursion, so that nothing depends on how deep the data or the caller is; and data without
composites costs what msgpack costs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from itertools import islice
from typing import Any

from ormsgpack import packb, unpackb

from flowfn.errors import CorruptDataError
from flowfn.serde import arrays, containers, exceptions, frames, leaves, objects, urls
from flowfn.serde.format import CURRENT, END, FIRST, KINDS, Kind, Leaf
from flowfn.serde.names import Found, Names

_DECODERS = {
    int(code): decode for code, decode in (leaves.DECODERS | arrays.DECODERS | urls.DECODERS).items()
}
_BUILDERS = containers.BUILDERS | objects.BUILDERS | exceptions.BUILDERS | frames.BUILDERS
_MARK = int(Leaf.MARK)
_ARRAY_OF_3 = b"\x93"
_STOP_TEXT = "\0end"
_STOP = packb(_STOP_TEXT)


class _Call(threading.local):
    """What the extension hook tells the call around it: msgpack drops the hook's errors.

    `marked`: there may be composites to build. That one was marked in bytes that could be read no further costs the
    next value a look, and changes nothing.
    """

    marked = False
    error: BaseException | None = None


_call = _Call()


def _leaf(code: int, data: bytes) -> Any:
    try:
        if code == _MARK:
            _call.marked = True
            return KINDS[data]
        return _DECODERS[code](data)
    except BaseException as error:
        _call.error = error
        raise


def unpack(data: bytes, names: Names) -> Any:
    """The value of stored bytes; any error may come out of bytes that nobody packed.

    msgpack ignores what follows a document; what follows `END` is seen at the end. The first format has none: its
    version, its document and a stop are read as an array.
    """
    try:
        if data[0] == CURRENT:
            value, end = unpackb(data, ext_hook=_leaf)
            ends = end == END == data[-1]
        elif data[0] != FIRST:
            raise ValueError("bytes of neither format")
        else:
            _, value, end = unpackb(b"".join((_ARRAY_OF_3, data, _STOP)), ext_hook=_leaf)
            ends = end == _STOP_TEXT
    except ValueError:
        error, _call.error = _call.error, None
        if error is None:
            raise
        raise error from None
    if not ends:
        raise CorruptDataError("More bytes follow the stored value. Restore it from a backup")
    return _build(value, names) if _call.marked else value


def _build(value: Any, names: Names) -> Any:
    """Replace each composite's array by what it stands for, the innermost first."""
    _call.marked = False
    root = {"": value}
    found = Found(names)
    for holder, key, items in reversed(_composites(root)):
        holder[key] = _BUILDERS[items[0]](items, found)
    return root[""]


def _composites(root: dict[str, Any]) -> list[tuple[Any, Any, list[Any]]]:
    """The composites below a mapping, each after the one that it is in: what holds it, and where, and its array."""
    found = []
    containers: list[Any] = [root]
    items: Iterable[tuple[Any, Any]]
    for holder in containers:
        if type(holder) is dict:
            kinds, items = {*map(type, holder.values())}, holder.items()
        else:
            kinds, items = {*map(type, islice(holder, type(holder[0]) is Kind, None))}, enumerate(holder)
        if Kind in kinds:
            raise CorruptDataError("Stored bytes hold a mark outside of a composite")
        if list in kinds or dict in kinds:
            for key, item in items:
                kind = type(item)
                if (kind is list or kind is dict) and item:
                    containers.append(item)
                    if kind is list and type(item[0]) is Kind:
                        found.append((holder, key, item))
    return found
