"""LangGraph's `langgraph.checkpoint.serde.jsonplus`.

Rule: values come back as they were, which LangGraph's don't: tuples stay tuples, enums are found by name,
zones keep theirs, exceptions are exceptions. Unknown types raise; they never come back as dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import Any, Literal, Self

from flowfn.errors import CorruptDataError
from flowfn.serde import PickleSerde, Serde
from flowfn.serde.format import CURRENT, FIRST, PICKLED
from flowfn.serde.names import lookup
from graph_compat.checkpoint.serde.event_hooks import emit_serde_event
from graph_compat.checkpoint.serde.reading import message_class, read_json, read_msgpack
from graph_compat.checkpoint.serde.trusted import Named, Trusted

_UNSET: Any = object()
_FIRST, _CURRENT, _PICKLE = bytes([FIRST]), bytes([CURRENT]), bytes([PICKLED])
_RAW: dict[type, str] = {bytes: "bytes", bytearray: "bytearray"}


class InvalidModuleError(Exception):
    """Stored JSON names a constructor that is not allowed; nothing was imported."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


_REMEDY = "JsonPlusSerializer(pickle_fallback=True, allowed_msgpack_modules=[{}, ...])"


class JsonPlusSerializer:
    """Values to a tag and bytes, and back.

    `allowed_msgpack_modules` are the classes, as such or as `(module, name)`, that bytes which LangGraph wrote may
    have beside the safe ones; True allows every one that is loaded and is an enum, a dataclass, a named tuple
    or a pydantic model. None, and the default, allow the safe ones only: LangGraph's own default allows all.
    `allowed_json_modules` are those that JSON of older versions may have beside them. `pickle_fallback` pickles
    what nothing else stores, and only classes of `allowed_msgpack_modules`: others are refused when they are written.
    """

    def __init__(
        self,
        *,
        pickle_fallback: bool = False,
        allowed_json_modules: Iterable[tuple[str, ...]] | Literal[True] | None = None,
        allowed_msgpack_modules: Iterable[Named] | Literal[True] | None = _UNSET,
        __unpack_ext_hook__: Callable[[int, bytes], Any] | None = None,
    ) -> None:
        self._json: Any = (
            allowed_json_modules if allowed_json_modules is True else set(allowed_json_modules or ())
        )
        self._hook = __unpack_ext_hook__
        self._serde = Serde()
        self._falls_back = pickle_fallback
        self._allow(None if allowed_msgpack_modules is _UNSET else allowed_msgpack_modules)

    def _allow(self, named: Iterable[Named] | Literal[True] | None) -> None:
        self._allowed = named if named is None or named is True else tuple(named)
        self._trusted = Trusted(self._allowed)
        classes = (
            [each for each in self._allowed if isinstance(each, type)]
            if isinstance(self._allowed, tuple)
            else []
        )
        self._pickle = PickleSerde(classes, inner=self._serde, remedy=_REMEDY) if self._falls_back else None

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[Named]) -> Self:
        """A copy that allows more classes in what LangGraph wrote."""
        other = copy(self)
        if self._allowed is not True:
            other._allow((*(self._allowed or ()), *extra_allowlist))
        return other

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The tag and the bytes of a value: "null", "bytes", "bytearray", "msgpack", or "pickle".

        Raises:
            SerializationError: a `TypeError`; the value can't be restored as it is.
        """
        if obj is None:
            return "null", b""
        if type(obj) in _RAW:
            return _RAW[type(obj)], bytes(obj)
        data = (self._pickle or self._serde).dumps(obj)
        if data[:1] == _PICKLE:
            return "pickle", data[1:]
        # The tag is LangGraph's, and so could be an array of two.
        return "msgpack", _FIRST + data[1:-1] if data[:1] == _CURRENT else data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value of a tag and bytes, of this serializer or of LangGraph's.

        Raises:
            UntrustedTypeError: they name a type that is not allowed.
            TypeChangedError: a class has changed since.
            CorruptDataError: they are nothing that either of them writes.
            NotImplementedError: the tag is unknown, or "pickle" without `pickle_fallback`.
        """
        tag, stored = data
        if tag == "null":
            return None
        if tag in ("bytes", "bytearray"):
            return bytes(stored) if tag == "bytes" else bytearray(stored)
        if tag == "msgpack":
            return self._msgpack(bytes(stored))
        if tag == "json":
            return read_json(bytes(stored), self._json_constructor)
        if tag == "pickle" and self._pickle is not None:
            return self._pickle.loads(_PICKLE + stored)
        raise NotImplementedError(f"Unknown serialization type: {tag}")

    def _msgpack(self, data: bytes) -> Any:
        if not data:
            raise CorruptDataError("There are no stored bytes to read. Restore them from a backup")
        # As LangGraph's msgpack, a document that opens like this is the number 1, and ends there.
        if data[:1] == _FIRST and len(data) > 1:
            return self._serde.loads(data)
        return read_msgpack(data, self._trusted, self._hook)

    def _json_constructor(self, id: tuple[str, ...]) -> Callable[..., Any]:
        *path, name = id
        module = ".".join(path)
        if path[:1] == ["langchain"] and "messages" in path and (found := message_class(name)) is not None:
            return found
        if (make := self._trusted.find(module, name)) is not None:
            return make
        if self._json is True or id in self._json:
            found = lookup(f"{module}:{name}")
            if found is not None:
                return found
        emit_serde_event({"kind": "json_blocked", "module": module, "name": name})
        raise InvalidModuleError(f"Refused to deserialize JSON constructor: {list(id)!r}")
