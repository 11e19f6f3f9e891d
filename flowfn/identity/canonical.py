"""One form for all values that mean the same: what a digest is taken of.

Rule: a form depends on the value alone: not on insertion order, addresses, the process or the version
of Python; and a value has the form of what a faithful serializer restores from it. Forms are plain
msgpack (`None`, bools, numbers, texts, bytes, lists, maps with text keys) and, for all else,
extensions, which no argument can imitate. A value of no known form counts by its type alone, and the
walk is *weak*.
"""

from __future__ import annotations

import copyreg
import re
import sys
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import EnumMeta
from functools import partial
from pathlib import PurePath
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final
from uuid import UUID
from weakref import WeakKeyDictionary

import ormsgpack
from ormsgpack import Ext, packb

from flowfn.errors import RECORDED_AS
from flowfn.identity.frames import frame_parts
from flowfn.identity.glance import is_ordinary_float, is_ordinary_text
from flowfn.identity.names import qualified_name
from flowfn.identity.volatile import Kind, Window, in_bytes, in_date, in_float, in_int, in_uuid
from flowfn.plain import PLAIN
from flowfn.values import MISSING

__all__ = ["ELEMENT", "Field", "Walk", "pack", "tagged"]

Detector = Callable[[Any, Window], Kind | None]

SCANNED: Final = 4096
"""Characters or bytes: what is longer counts whole, and nobody looks for times and tokens in it."""

_MAX_DEPTH = 100
"""Levels. Deeper values, and those that hold themselves, count by type from there on."""

_OPTIONS: Final = ormsgpack.OPT_SORT_KEYS


def pack(form: Any) -> bytes:
    """The bytes of a form."""
    return packb(form, None, _OPTIONS)


def tagged(tag: str, *parts: Any) -> Ext:
    """The form of a value that msgpack has none for."""
    return Ext(1, packb([tag, *parts], None, _OPTIONS))


class Field(str):
    """A step of a path that is written as it is, such as `.name`; any other step is an index or a key."""

    __slots__ = ()


ELEMENT: Final = Field("{…}")
"""The step to an element of a set, which has no index."""


class Walk:
    """Gives the form of one value, and notes what the caller must know about it.

    `weak`: some part counts by its type alone. `suspect`: some leaf could be volatile, as far as a
    glance tells. `size`: how many items the containers hold together.
    """

    __slots__ = ("_active", "size", "suspect", "weak")

    def __init__(self) -> None:
        self.weak = False
        self.suspect = False
        self.size = 0
        self._active: set[int] = set()

    def walk(self, value: Any, step: Any) -> Any:
        """The form of a value; `step` leads to it from the value around it."""
        kind = type(value)
        form = _LEAVES.get(kind)
        if form is not None:
            return form(self, value)
        active, identity = self._active, id(value)
        if identity in active or len(active) >= _MAX_DEPTH:
            return by_type(self, value)
        active.add(identity)
        try:
            return (_COMPOUNDS.get(kind) or _resolve(kind))(self, value)
        finally:
            active.discard(identity)

    def of_keys(self) -> Walk:
        """A walk for the keys of a mapping that it has come to: nothing in them stands for another value."""
        keys = Walk()
        keys._active = self._active
        return keys

    def sequence(self, value: Iterable[Any]) -> list[Any]:
        """The forms of items, with their indices as steps."""
        return [self.walk(item, index) for index, item in enumerate(value)]

    def mapping(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """The forms of items, with their keys as steps."""
        return {key: self.walk(item, key) for key, item in value.items()}

    def text(self, value: str) -> Any:
        """The form of a text that a glance could not clear."""
        self.suspect = True
        return text_form(value)

    def leaf(self, value: Any, form: Any, detect: Detector) -> Any:
        """The form of a leaf that may be volatile; `detect` decides."""
        self.suspect = True
        return form


_Form = Callable[[Walk, Any], Any]

# -- leaves ---------------------------------------------------------------------------------------

_ADDRESS = re.compile(r"[<>]| at 0x[0-9a-fA-F]+")


def text_form(value: str) -> Any:
    """A text without the memory addresses that a `repr` puts in, and with lone surrogates as bytes."""
    value = without_addresses(value)
    return value if _is_unicode(value) else tagged("text", value.encode("utf-8", "surrogatepass"))


def without_addresses(value: str) -> str:
    """The text with ` at 0x…` for each ` at 0x7f12…` between the `<` and the `>` of a `repr`; elsewhere it is data."""
    if " at 0x" not in value or "<" not in value:
        return value
    depth = 0

    def without(match: re.Match[str]) -> str:
        nonlocal depth
        found = match[0]
        if found in "<>":
            depth = max(0, depth + (1 if found == "<" else -1))
            return found
        return " at 0x…" if depth else found

    return _ADDRESS.sub(without, value)


def _is_unicode(value: str) -> bool:
    """Whether a text has no lone surrogates, which msgpack cannot write."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(walk: Walk, value: str) -> Any:
    if len(value) > SCANNED or is_ordinary_text(value):
        return text_form(value)
    return walk.text(value)


def _itself(walk: Walk, value: Any) -> Any:
    return value


def _int(walk: Walk, value: int) -> Any:
    if -999_999_999 <= value <= 999_999_999:
        return value
    is_small = -(2**63) <= value < 2**63
    return walk.leaf(value, value if is_small else tagged("int", hex(value)), in_int)


def _float(walk: Walk, value: float) -> Any:
    if is_ordinary_float(value):
        return value
    return walk.leaf(value, value, in_float)


def _bytes(walk: Walk, value: bytes) -> Any:
    return walk.leaf(value, value, in_bytes) if 8 <= len(value) <= SCANNED else value


def _date(walk: Walk, value: date | time) -> Any:
    if isinstance(value, datetime):
        form = tagged("datetime", value.isoformat(), *_place(value))
    else:
        form = tagged("date", value.isoformat())
    return walk.leaf(value, form, in_date)


def _time(walk: Walk, value: time) -> Any:
    return tagged("time", value.isoformat(), *_place(value))


def _place(value: datetime | time) -> list[str]:
    """What ISO 8601 leaves out of a time: the name of its zone, and which of two equal hours of an autumn it is in."""
    zone = getattr(value.tzinfo, "key", None)
    fold = ["fold"] if value.fold and value.utcoffset() is None else []
    return [*([zone] if isinstance(zone, str) else []), *fold]


def _timedelta(walk: Walk, value: timedelta) -> Any:
    form = tagged("timedelta", value.days, value.seconds, value.microseconds)
    rest = getattr(value, "nanoseconds", 0)  # of pandas
    return tagged("subclass", qualified_name(type(value)), form, {"nanoseconds": rest}) if rest else form


def _uuid(walk: Walk, value: UUID) -> Any:
    return walk.leaf(value, tagged("uuid", value.int.to_bytes(16, "big")), in_uuid)


def by_type(walk: Walk, value: Any) -> Any:
    """All that is known of a value without value semantics: a connection, a lock, a generator."""
    walk.weak = True
    return tagged("object", qualified_name(type(value)))


_LEAVES: dict[type, _Form] = {
    type(None): _itself,
    bool: _itself,
    str: _text,
    int: _int,
    float: _float,
    bytes: _bytes,
    date: _date,
    datetime: _date,
    UUID: _uuid,
    time: _time,
    timedelta: _timedelta,
    Decimal: lambda _, value: tagged("decimal", str(value)),
    type(...): lambda _, value: tagged("ellipsis"),
    type(NotImplemented): lambda _, value: tagged("notimplemented"),
}

# -- containers -----------------------------------------------------------------------------------


def _list(walk: Walk, value: Any) -> Any:
    walk.size += len(value)
    return walk.sequence(value)


def _tuple(walk: Walk, value: Any) -> Any:
    return Ext(2, packb(_list(walk, value), None, _OPTIONS))


def _dict(walk: Walk, value: Any) -> Any:
    walk.size += len(value)
    if "role" in value and "content" in value and "id" in value:  # a chat message: its id is no content
        value = {key: item for key, item in value.items() if key != "id"}
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


def _are_plain(keys: Iterable[Any]) -> bool:
    """Whether msgpack can write and order the keys."""
    return set(map(type, keys)) <= _TEXT and _is_unicode("".join(keys))


_TEXT = {str}


def _plain_key(key: Any) -> Any:
    """A key of a subclass of `str` as the text that it equals; members of enums are not meant."""
    return str.__str__(key) if isinstance(key, str) and not isinstance(type(key), EnumMeta) else key


def _set(tag: str) -> _Form:
    def form(walk: Walk, value: Iterable[Any]) -> Any:
        packed = sorted(pack(walk.walk(item, ELEMENT)) for item in value)
        walk.size += len(packed)
        return tagged(tag, *packed)

    return form


def _deque(walk: Walk, value: deque[Any]) -> Any:
    return tagged("deque", _list(walk, value), value.maxlen)


def _partial(walk: Walk, value: partial[Any]) -> Any:
    parts = (value.func, value.args, value.keywords)
    steps = (Field(".func"), Field(".args"), Field(".keywords"))
    return tagged("partial", *map(walk.walk, parts, steps))


def _method(walk: Walk, value: Any) -> Any:
    return tagged("method", qualified_name(value.__func__), walk.walk(value.__self__, Field(".__self__")))


def _builtin(walk: Walk, value: Any) -> Any:
    """A built-in function or method: of a module, or bound to a value."""
    owner = value.__self__
    if owner is None or isinstance(owner, types.ModuleType):
        return _by_name(walk, value)
    return tagged("builtin", value.__qualname__, walk.walk(owner, Field(".__self__")))


def _by_name(walk: Walk, value: Any) -> Any:
    return tagged("name", qualified_name(value))


def _function(walk: Walk, value: types.FunctionType) -> Any:
    """By name; local functions and lambdas, which share names, also by code and closure."""
    if "<" not in value.__qualname__:
        return _by_name(walk, value)
    from flowfn.identity.fingerprint import fingerprint

    captured = [_captured(walk, cell) for cell in value.__closure__ or ()]
    positional = [_constant(walk, each) for each in value.__defaults__ or ()]
    named = {name: _constant(walk, each) for name, each in (value.__kwdefaults__ or {}).items()}
    defaults = [[positional, named]] if positional or named else []
    return tagged("function", qualified_name(value), fingerprint(value).digest, captured, *defaults)


def _captured(walk: Walk, cell: types.CellType) -> Any:
    """What a closure holds."""
    try:
        value = cell.cell_contents
    except ValueError:  # not assigned yet
        return None
    return _constant(walk, value)


def _constant(walk: Walk, value: Any) -> Any:
    """A constant that a local function was made with; what can change under it counts by type."""
    if type(value) in _LEAVES:
        return walk.walk(value, Field("()"))
    if isinstance(value, types.FunctionType | type):
        return qualified_name(value)
    return by_type(walk, value)


_COMPOUNDS: dict[type, _Form] = {
    dict: _dict,
    list: _list,
    tuple: _tuple,
    set: _set("set"),
    frozenset: _set("frozenset"),
    deque: _deque,
    OrderedDict: _ordered,
    MappingProxyType: _dict,
    bytearray: lambda _, value: tagged("bytearray", bytes(value)),
    memoryview: lambda _, value: tagged("memoryview", bytes(value)),
    partial: _partial,
    SimpleNamespace: lambda walk, value: tagged("namespace", _dict(walk, vars(value))),
    types.FunctionType: _function,
    types.MethodType: _method,
    types.BuiltinFunctionType: _builtin,
    types.MethodWrapperType: _builtin,
    types.WrapperDescriptorType: _by_name,
    types.MethodDescriptorType: _by_name,
    types.ClassMethodDescriptorType: _by_name,
    types.ModuleType: _by_name,
}

# -- classes --------------------------------------------------------------------------------------

_resolved: WeakKeyDictionary[type, _Form] = WeakKeyDictionary()


def _resolve(cls: type) -> _Form:
    """The form of a class's instances, found once per class."""
    form = _resolved.get(cls)
    if form is None:
        form = _resolved[cls] = _cautious(_form_of(cls))
    return form


def _cautious(form: _Form) -> _Form:
    """Objects run their authors' code when looked at: where that fails, they count by type."""

    def cautious(walk: Walk, value: Any) -> Any:
        try:
            return form(walk, value)
        except Exception:
            return by_type(walk, value)

    return cautious


def _form_of(cls: type) -> _Form:
    if issubclass(cls, type):
        return _by_name
    if isinstance(cls, EnumMeta):
        return _enum
    known = _form_of_record(cls) or _form_of_array(cls)
    if known is not None:
        return known
    for base, form in _BASES:
        if issubclass(cls, base):
            return form
    if hasattr(cls, "__wrapped__") or hasattr(cls, "cache_info"):  # wraps a function, and has its name
        return _wrapper
    return _reduced if cls.__eq__ is not object.__eq__ else by_type


def _wrapper(walk: Walk, value: Any) -> Any:
    """What wraps a function, as the function: one that shares its name counts by its code and closure as well."""
    function = getattr(value, "__wrapped__", None)
    return _function(walk, function) if type(function) is types.FunctionType else _by_name(walk, value)


def _enum(walk: Walk, value: Any) -> Any:
    return tagged("enum", qualified_name(type(value)), value.name or str(value.value))


def _exception(walk: Walk, value: BaseException) -> Any:
    given = (
        OSError.__reduce__(value)[1] if isinstance(value, OSError) else value.args
    )  # with the names of files
    args = [_told(walk, item, Field(f".args[{place}]")) for place, item in enumerate(given)]
    attributes = {**_native(value), **vars(value)}
    own = {
        name: item for name, item in attributes.items() if not name.startswith("__") and name not in _ADDED
    }
    more = {name: _told(walk, item, Field(f".{name}")) for name, item in own.items()}
    form = Ext(2, pack(args))
    return tagged("error", qualified_name(type(value)), form, *([more] if more else []))


def _native(error: BaseException) -> dict[str, Any]:
    """Attributes that its C base has, where they are set: an `ImportError` keeps what it is about in them alone."""
    names = {name for cls, found in _NATIVE.items() if isinstance(error, cls) for name in found}
    return {name: item for name in sorted(names) if (item := getattr(error, name)) is not None}


_NATIVE = {ImportError: ("name", "path"), NameError: ("name",), AttributeError: ("name",)}

_ADDED = frozenset({RECORDED_AS, "recorded_traceback"})
"""What flowfn puts among an exception's attributes."""


def _told(walk: Walk, item: Any, step: Field) -> Any:
    """What an exception was made with, as it comes back from a record: what can't be stored as its `repr`."""
    was_weak, walk.weak = walk.weak, False
    form = walk.walk(item, step)
    if walk.weak or callable(item):
        form = walk.walk(repr(item), step)
    walk.weak |= was_weak
    return form


def _path(walk: Walk, value: PurePath) -> Any:
    return tagged("path", walk.walk(value.as_posix(), Field("")))


def _subclass(base: type) -> _Form:
    """As the plain value that it equals; what an instance carries besides is counted too."""
    plain = _LEAVES.get(base) or _COMPOUNDS[base]
    convert = PLAIN[base]

    def form(walk: Walk, value: Any) -> Any:
        form = plain(walk, convert(value))
        more = _attributes(value)
        return tagged("subclass", qualified_name(type(value)), form, _dict(walk, more)) if more else form

    return form


def _attributes(value: Any) -> dict[str, Any]:
    """The attributes of an instance, those in slots included.

    Not by `object.__getstate__`, which leaves a note in the class: looking at a value changes nothing.
    """
    cls = type(value)
    slots = _slotted.get(cls)
    if slots is None:
        slotted = (vars(base).items() for base in cls.__mro__ if "__slots__" in vars(base))
        members = (item for items in slotted for item in items)
        slots = _slotted[cls] = tuple(
            name for name, each in members if type(each) is types.MemberDescriptorType
        )
    found: dict[str, Any] = _own(cls, getattr(value, "__dict__", None)) or {}
    if not slots:
        return found
    held = ((name, getattr(value, name, MISSING)) for name in slots)
    return {**found, **{name: item for name, item in held if item is not MISSING}}


_slotted: WeakKeyDictionary[type, tuple[str, ...]] = WeakKeyDictionary()


def _own(cls: type, attributes: Any) -> Any:
    """Attributes without those that a `cached_property` made: they are there once somebody has asked for them.

    Nor the note that `typing` makes on what was made by a parametrised class, and the hash that attrs keeps.
    """
    computed = _computed.get(cls)
    if computed is None:
        members = (item for base in cls.__mro__ for item in vars(base).items())
        cached = (name for name, each in members if _is_cached(each))
        computed = _computed[cls] = frozenset((*cached, "__orig_class__", "_attrs_cached_hash"))
    if not attributes or computed.isdisjoint(attributes):
        return attributes
    return {name: item for name, item in attributes.items() if name not in computed}


def _own_state(cls: type, state: Any) -> Any:
    """The same of what `__reduce_ex__` gives: the attributes, with or without those in slots."""
    if isinstance(state, tuple) and len(state) == 2 and isinstance(state[0], dict):
        return _own(cls, state[0]) or None, state[1]
    return (_own(cls, state) or None) if isinstance(state, dict) and state else state


_computed: WeakKeyDictionary[type, frozenset[str]] = WeakKeyDictionary()


def _is_cached(member: Any) -> bool:
    """Python's, or a library's of that name."""
    return any(each.__name__ == "cached_property" for each in type(member).__mro__)


def _reduced(walk: Walk, value: Any) -> Any:
    """Objects that define equality, by what `pickle` would keep of them."""
    cls = type(value)
    reduce = copyreg.dispatch_table.get(cls)
    reduced: Any = reduce(value) if reduce is not None else value.__reduce_ex__(2)
    if isinstance(reduced, str):
        return tagged("name", reduced)
    make, arguments, *state = reduced
    if state:
        state[0] = _own_state(cls, state[0])
    parts = (make, arguments, *(list(each) if hasattr(each, "__next__") else each for each in state))
    return tagged("reduced", qualified_name(cls), *(walk.walk(part, Field("")) for part in parts))


_BASES: tuple[tuple[type, _Form], ...] = (
    (BaseException, _exception),
    (OrderedDict, _subclass(OrderedDict)),
    (PurePath, _path),
    (tzinfo, _reduced),
    *((base, _subclass(base)) for base in PLAIN if base is not OrderedDict),
    *((base, _LEAVES[base]) for base in (datetime, date, time, timedelta, Decimal, UUID)),
)


def _form_of_record(cls: type) -> _Form | None:
    """Classes that declare their fields: dataclasses, pydantic, attrs, msgspec, named tuples."""
    for mark in ("__pydantic_fields__", "model_fields"):
        if hasattr(cls, mark):
            return _model(hidden={"id"} if _is_message(cls) else set())
    for mark in ("__dataclass_fields__", "__attrs_attrs__", "__struct_fields__"):
        declared = getattr(cls, mark, None)
        if declared is not None:
            holds_more = issubclass(cls, tuple(PLAIN))  # than its fields: it is a list or a text as well
            return None if holds_more else _record([getattr(each, "name", each) for each in declared])
    fields = getattr(cls, "_fields", None)
    return _record(fields) if issubclass(cls, tuple) and fields is not None else None


def _is_message(cls: type) -> bool:
    base = getattr(sys.modules.get("langchain_core.messages.base"), "BaseMessage", None)
    return base is not None and issubclass(cls, base)


def _record(names: Iterable[str]) -> _Form:
    steps = {name: Field(f".{name}") for name in names}

    def form(walk: Walk, value: Any) -> Any:
        walk.size += len(steps)
        found = ((name, getattr(value, name, MISSING), step) for name, step in steps.items())
        fields = {name: walk.walk(item, step) for name, item, step in found if item is not MISSING}
        more = _attributes(value)
        if more.keys() - steps.keys():  # what its `__post_init__` or anybody else has put there
            others = sorted(more.keys() - steps.keys())
            fields.update((name, walk.walk(more[name], Field(f".{name}"))) for name in others)
        return tagged("record", qualified_name(type(value)), fields)

    return form


def _model(hidden: set[str]) -> _Form:
    """A pydantic model: its fields, the extra ones that its configuration may allow, and its private attributes."""

    def form(walk: Walk, value: Any) -> Any:
        fields = dict(_own(type(value), vars(value)))
        for more in ("__pydantic_extra__", "__pydantic_private__"):
            fields.update(getattr(value, more, None) or {})
        shown = {key: walk.walk(item, Field(f".{key}")) for key, item in fields.items() if key not in hidden}
        walk.size += len(shown)
        return tagged("record", qualified_name(type(value)), shown)

    return form


def _form_of_array(cls: type) -> _Form | None:
    """Arrays and frames, if numpy or pandas has been imported: without it there can be none."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy is not None and issubclass(cls, numpy.ndarray):
        return _array
    if numpy is not None and issubclass(cls, numpy.generic):
        return _array_scalar
    frames = ("DataFrame", "Series", "Index")
    if pandas is not None and issubclass(cls, tuple(getattr(pandas, name) for name in frames)):
        return _frame
    return None


def _array(walk: Walk, value: Any) -> Any:
    numpy = sys.modules["numpy"]
    if isinstance(value, numpy.ma.MaskedArray):
        parts = (numpy.asarray(value.data), numpy.ma.getmaskarray(value), numpy.asarray(value.fill_value))
        return tagged("masked", *(_array(walk, part) for part in parts))
    form = tagged("array", repr(value.dtype.descr), list(value.shape), _content(walk, value))
    if type(value) in (numpy.ndarray, numpy.memmap):
        return form
    return tagged("subclass", qualified_name(type(value)), form, _dict(walk, _attributes(value)))


def _content(walk: Walk, value: Any) -> Any:
    """The cells; by field and in halves where numpy leaves bytes between them, which hold anything."""
    dtype, numpy = value.dtype, sys.modules["numpy"]
    if dtype.hasobject:
        return walk.walk(value.tolist(), Field(""))
    if not _is_padded(dtype):
        return value.tobytes()
    value = numpy.asarray(value)
    if dtype.names is not None:
        return [_content(walk, value[name]) for name in dtype.names]
    narrow = numpy.complex128 if dtype.kind == "c" else numpy.float64
    with numpy.errstate(all="ignore"):
        upper = value.astype(narrow)
        return [
            upper.tobytes(),
            numpy.where(numpy.isfinite(value), value - upper, 0).astype(narrow).tobytes(),
        ]


def _is_padded(dtype: Any) -> bool:
    if dtype.names is None:
        return dtype.base.char in "gG"
    fields = [dtype.fields[name][0] for name in dtype.names]
    return dtype.itemsize != sum(each.itemsize for each in fields) or any(map(_is_padded, fields))


def _array_scalar(walk: Walk, value: Any) -> Any:
    if value.dtype.names is not None or _is_padded(value.dtype):
        return _array(walk, sys.modules["numpy"].asarray(value))
    plain = value.item()
    content = walk.walk(plain, Field("")) if type(plain) in _LEAVES else value.tobytes()
    return tagged("array", value.dtype.str, content)


def _frame(walk: Walk, value: Any) -> Any:
    parts = frame_parts(value, lambda item, step: walk.walk(item, Field(step)))
    return tagged("frame", type(value).__name__, *parts)
