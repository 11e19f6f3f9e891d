"""The digest of a call's arguments: what makes it the same call on the next attempt.

Rule: equal digests mean equal arguments, wherever and whenever they were taken; what counts is in
`canonical`. Beside the exact digest stands the *skeleton*: the digest with every volatile leaf (a time of
the call, a random token; see `volatile`) replaced by a placeholder. Two calls with one skeleton and two
exact digests differ in nothing but those leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any, NamedTuple

import ormsgpack
from ormsgpack import Ext, packb

from flowfn.identity.forms.canonical import Walk
from flowfn.identity.forms.leaves import text_form, without_addresses
from flowfn.identity.forms.notation import Field, pack, tagged
from flowfn.identity.glance import is_ordinary
from flowfn.identity.names import qualified_name
from flowfn.identity.volatile import Detector, Kind, Window, in_text
from flowfn.rendering import render, represented

__all__ = [
    "MEMBER",
    "Digest",
    "Leaf",
    "digest",
    "exact",
    "hashed",
    "is_ordinary_value",
    "is_plain",
    "leaf_text",
    "masked_form",
    "qualified_name",
    "render",
    "value_of_member",
]

_MAX_ITEMS = 10_000
"""Arguments that hold more have no skeleton: looking for volatile leaves would cost too much."""

_MAX_TEXT = 80

MEMBER = b"\xa4enum"
"""How the form of a member of an enumeration is tagged."""

_MAX_BITS = 2048
"""Of a number that is written in decimals: Python refuses to write one of 14,000 bits, and less where it is told to."""

_KEPT = 512
"""Bytes of arguments that are kept with a call, to show later which of them changed."""


class Leaf(NamedTuple):
    """A volatile leaf: where it is (`order["id"]`), what it looks like, and a short rendering."""

    path: str
    kind: Kind
    text: str


class Digest(NamedTuple):
    """What identifies a call's arguments.

    `exact` and `skeleton` are 16 bytes; `skeleton` is None where no leaf is volatile or there are too
    many to look. `leaves` are the volatile ones, in an order that depends on the arguments alone.
    `weak`: the class of some part of the arguments that counts by its type only, empty where none does. `form`: what
    the exact digest was taken of, with what the values of enums' members were beside their names; None where that is
    long. `differences.decoded` reads it.
    """

    exact: bytes
    skeleton: bytes | None
    leaves: tuple[Leaf, ...]
    weak: str
    form: bytes | None = None


def digest(arguments: Mapping[str, Any], window: Callable[[], Window]) -> Digest:
    """The digest of arguments by parameter name, of a call in that window; it is asked for only if some leaf isn't
    certainly an ordinary one. Never raises.
    """
    return _ordinary(arguments) or _walked(arguments, window())


def exact(arguments: Mapping[str, Any]) -> Digest:
    """The digest of arguments that are the same or aren't: without a skeleton, and so without a search for leaves."""
    return _ordinary(arguments) or _walked(arguments, None)


def _ordinary(arguments: Mapping[str, Any]) -> Digest | None:
    """The digest of arguments that a glance shows to be plain, with no volatile leaf in them."""
    try:
        packed = packb(arguments, None, _NATIVE)
    except TypeError:  # not plain: the walk knows more types
        return None
    if not is_ordinary(packed):
        return None
    return _made((hashed(packed), None, (), "", packed if len(packed) <= _KEPT else None))


def is_ordinary_value(value: Any) -> bool:
    """Whether a glance shows that a value is plain, and has no volatile leaf in it."""
    return _ordinary({"value": value}) is not None


def is_plain(value: Any) -> bool:
    """Whether a value is certainly made of numbers, texts and bytes alone, in lists and dicts: a quick look."""
    try:
        packb(value, None, _NATIVE)
    except TypeError:
        return False
    return True


_made = partial(tuple.__new__, Digest)
"""Makes a digest of a tuple of its parts: calling the class costs a Python call more."""


_NATIVE = (
    ormsgpack.OPT_SORT_KEYS
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
)
"""What makes msgpack refuse all values whose form is not the value itself."""


def hashed(packed: bytes) -> bytes:
    """What a form is told by."""
    return sha256(packed).digest()[:16]


def _walked(arguments: Mapping[str, Any], window: Window | None) -> Digest:
    """The digest of arguments of any kind. Of plain ones it is the same as that of their packed bytes."""
    walk = Walk()
    packed = pack(walk.mapping(arguments))
    found, form = hashed(packed), _kept(arguments, packed, walk)
    if window is None or not walk.suspect or walk.size > _MAX_ITEMS:
        return Digest(found, None, (), walk.weak, form)
    masked, leaves = masked_form(arguments, window)
    return Digest(found, hashed(masked) if leaves else None, tuple(leaves), walk.weak, form)


def masked_form(arguments: Mapping[str, Any], window: Window) -> tuple[bytes, list[Leaf]]:
    """What the skeleton is taken of, and the leaves that it leaves out."""
    masked = _MaskedWalk(window)
    form = pack({name: masked.walk(arguments[name], Field(name)) for name in sorted(arguments)})
    return form, masked.leaves


def _kept(arguments: Mapping[str, Any], packed: bytes, walk: Walk) -> bytes | None:
    """What is kept of arguments with a call, by their form and the walk that gave it."""
    if len(packed) > _KEPT:
        return None
    if packed.find(MEMBER) < 0:
        return packed
    with_values = pack(_WalkWithValues(walk.enums).mapping(arguments))
    return with_values if len(with_values) <= _KEPT else packed


class _WalkWithValues(Walk):
    """A walk that tells of an enum's member what its value was: by that it is known under another name."""

    __slots__ = ()

    def beside(self, member: Any) -> list[bytes]:
        return value_of_member(member._value_)


def value_of_member(value: Any) -> list[bytes]:
    """A digest of the value of an enum's member; none of one that only its type is known of."""
    if type(value) in _LASTING:
        return [_of_lasting(value)]
    found = exact({"": value})
    return [] if found.weak else [found.exact]


_LASTING = (str, int, bool, bytes, type(None))
"""Values that are the same if they are equal and of one type, and stay so."""


@lru_cache(maxsize=4096, typed=True)
def _of_lasting(value: Any) -> bytes:
    """Kept, as the same few members are arguments again and again."""
    return exact({"": value}).exact


class _MaskedWalk(Walk):
    """A walk that puts placeholders in the place of volatile leaves, and lists them."""

    __slots__ = ("_path", "_window", "leaves")

    def __init__(self, window: Window) -> None:
        super().__init__()
        self._window = window
        self._path: list[Any] = []
        self.leaves: list[Leaf] = []

    def walk(self, value: Any, step: Any) -> Any:
        self._path.append(step)
        try:
            return super().walk(value, step)
        finally:
            self._path.pop()

    def mapping(self, value: Mapping[str, Any]) -> dict[str, Any]:
        return {key: self.walk(value[key], key) for key in sorted(value)}

    def circumstances(self) -> int:
        return super().circumstances() + len(self.leaves)

    def text(self, value: str) -> Any:
        parts = in_text(without_addresses(value), self._window)
        if all(part.kind is None for part in parts):
            return text_form(value)
        return tagged(
            "template",
            *(text_form(text) if kind is None else self._mask("text", kind, text) for text, kind in parts),
        )

    def leaf(self, value: Any, form: Any, detect: Detector) -> Any:
        kind = detect(value, self._window)
        if kind is None:
            return form
        return self._mask(type(value).__name__, kind, _text_of(value))

    def _mask(self, sort: str, kind: Kind, text: str) -> Ext:
        self.leaves.append(Leaf(_path(self._path), kind, _brief(text)))
        return tagged("volatile", sort, kind)


def leaf_text(leaf: Any) -> str:
    """The short rendering of a volatile leaf, which is another one for another leaf."""
    return _brief(_text_of(leaf))


def _text_of(leaf: Any) -> str:
    """A text that is another one for another leaf. Of a number of more bits than Python writes in decimals, its hex."""
    if isinstance(leaf, bytes):
        return leaf.hex()
    return hex(leaf) if isinstance(leaf, int) and leaf.bit_length() > _MAX_BITS else str(leaf)


def _path(steps: list[Any]) -> str:
    return "".join(map(_step, steps))


def _step(step: Any) -> str:
    if type(step) is Field:
        return step
    return f'["{_brief(step)}"]' if isinstance(step, str) else f"[{_brief(represented(step))}]"


def _brief(text: str) -> str:
    """At most 80 characters, and still another text for another leaf."""
    if len(text) <= _MAX_TEXT:
        return text
    return f"{text[:59]}…{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:20]}"
