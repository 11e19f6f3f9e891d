"""The forms of containers: lists, mappings, sets, and buffers of bytes.

Rule: the order of items counts only where it counts for equality. A container's form is made of its items', and
the walk is told how many there are.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from enum import EnumMeta
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from flowfn.errors import ADDED_TO_ERRORS, RECORDED_AS
from flowfn.identity.forms.notation import ELEMENT, Form, pack, tagged, tuple_of
from flowfn.python.unicode import is_unicode

if TYPE_CHECKING:
    from flowfn.identity.forms.canonical import Walk

__all__ = ["CONTAINERS", "mapping_form", "row_form"]


def _list(walk: Walk, value: Any) -> Any:
    walk.size += len(value)
    return walk.sequence(value)


def _view(name: str) -> Form:
    """What a dict shows of itself, in its order."""
    return lambda walk, value: tagged(name, *_list(walk, value))


def _tuple(walk: Walk, value: Any) -> Any:
    return tuple_of(_list(walk, value))


def mapping_form(walk: Walk, value: Any) -> Any:
    """A mapping, whatever the order of its items: plain msgpack if all keys are texts."""
    walk.size += len(value)
    if "role" in value and "content" in value and "id" in value:  # a chat message: its id is no content
        value = {key: item for key, item in value.items() if key != "id"}
    if RECORDED_AS in value:  # the `vars()` of an error
        value = {key: item for key, item in value.items() if key not in ADDED_TO_ERRORS}
    if _are_plain(value):
        return walk.mapping(value)
    value = {_plain_key(key): item for key, item in value.items()}
    if _are_plain(value):
        return walk.mapping(value)
    keys = walk.of_keys()
    pairs = [(pack(keys.walk(key, None)), pack(walk.walk(item, key))) for key, item in value.items()]
    walk.weak = walk.weak or keys.weak
    return tagged("map", *(part for pair in sorted(pairs) for part in pair))


def _ordered(walk: Walk, value: OrderedDict[Any, Any]) -> Any:
    """An `OrderedDict`, which equals another one only if their items come in the same order."""
    walk.size += len(value)
    return tagged("ordered", [[walk.walk(key, None), walk.walk(item, key)] for key, item in value.items()])


def row_form(walk: Walk, value: Any) -> Any:
    """A row of `sqlite3`, which equals another one of the same columns and values."""
    walk.size += len(value)
    return tagged("row", list(value.keys()), walk.sequence(tuple(value)))


def _are_plain(keys: Iterable[Any]) -> bool:
    """Whether msgpack can write and order the keys."""
    return set(map(type, keys)) <= _TEXT and is_unicode("".join(keys))


_TEXT = {str}


def _plain_key(key: Any) -> Any:
    """A key of a subclass of `str` as the text that it equals; members of enums are not meant."""
    return str.__str__(key) if isinstance(key, str) and not isinstance(type(key), EnumMeta) else key


def _set(tag: str) -> Form:
    def form(walk: Walk, value: Iterable[Any]) -> Any:
        packed = sorted(pack(walk.walk(item, ELEMENT)) for item in value)
        walk.size += len(packed)
        return tagged(tag, *packed)

    return form


def _memory(_: Walk, value: memoryview) -> Any:
    """A view's bytes, and as what they are seen; that of plain bytes is without a word."""
    seen = () if (value.format, value.ndim) == ("B", 1) else (value.format, list(value.shape or ()))
    return tagged("memoryview", bytes(value), *seen)


def _deque(walk: Walk, value: deque[Any]) -> Any:
    return tagged("deque", _list(walk, value), value.maxlen)


CONTAINERS: dict[type, Form] = {
    dict: mapping_form,
    list: _list,
    tuple: _tuple,
    set: _set("set"),
    frozenset: _set("frozenset"),
    deque: _deque,
    OrderedDict: _ordered,
    MappingProxyType: mapping_form,
    type({}.keys()): _view("keys"),
    type({}.values()): _view("values"),
    type({}.items()): _view("items"),
    bytearray: lambda _, value: tagged("bytearray", bytes(value)),
    memoryview: _memory,
    SimpleNamespace: lambda walk, value: tagged("namespace", mapping_form(walk, vars(value))),
}
"""By the exact type."""
