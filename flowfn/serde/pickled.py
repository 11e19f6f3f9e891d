"""Pickle, for values that nothing else stores: by explicit choice, and for named types only.

Rule: what the default serializer can store, it stores; only what it refuses is pickled. Unpickling finds
nothing but what `allow` names and the plain types of the standard library, imports nothing, and refuses
the rest by name.

The price, against the default: the classes that are allowed are *called*, with arguments that the data
chooses, so that each of them is as safe as its constructor; a callable that is allowed, such as
`getattr`, gives everything away. Hostile bytes can take memory and time without bound. What was pickled
is tied to the layout of its class in the library that wrote it. And equal values may have unequal bytes.
"""

from __future__ import annotations

import builtins
import io
import pickle
import sys
from collections.abc import Iterable
from typing import Any

from flowfn.errors import CorruptDataError, SerializationError, UntrustedTypeError
from flowfn.serde.format import PICKLED
from flowfn.serde.serde import DEFAULT, Serde

_OPENING = bytes([PICKLED])
_PROTOCOL = 5
_PLAIN = {
    f"{module}:{name}"
    for module, names in {
        "builtins": ("bytearray", "bytes", "complex", "frozenset", "range", "set", "slice"),
        "collections": ("Counter", "OrderedDict", "defaultdict", "deque"),
        "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
        "decimal": ("Decimal",),
        "fractions": ("Fraction",),
        "uuid": ("UUID",),
    }.items()
    for name in names
}


class PickleSerde:
    """A serializer that pickles what the default one refuses; implements `flowfn.ports.Serializer`.

    `allow` are the classes (and functions, where a `__reduce__` gives one) that may be unpickled; `inner`
    stores everything else. Bytes that `inner` wrote are read by it, so that this may take its place, or
    give it back, while no pickles are left.
    """

    def __init__(
        self,
        allow: Iterable[Any] = (),
        *,
        inner: Serde = DEFAULT,
        remedy: str = "PickleSerde(allow=[{}, ...])",
    ) -> None:
        self._inner = inner
        self._remedy = remedy
        """How to allow a class, by its name, as an error says."""
        self._allowed: dict[str, Any] = {}
        for each in allow:
            if not callable(each) or not hasattr(each, "__qualname__"):
                raise TypeError(f"allow= takes classes and functions, not {each!r}")
            self._allowed[_reference(each)] = each

    def dumps(self, value: Any) -> bytes:
        """The bytes of a value. Raises `SerializationError` where it can't be pickled, or not be read again."""
        try:
            return self._inner.dumps(value)
        except SerializationError as refused:
            try:
                data = _OPENING + pickle.dumps(value, _PROTOCOL)
                self.loads(data)
            except Exception as error:
                raise SerializationError(f"{refused}; nor does pickle: {error}", refused.path) from error
            return data

    def loads(self, data: bytes) -> Any:
        """The value of such bytes.

        Raises `UntrustedTypeError` for what is not allowed, and `CorruptDataError` for anything else.
        """
        if data[:1] != _OPENING:
            return self._inner.loads(data)
        try:
            return _Unpickler(data, self._allowed, self._remedy).load()
        except UntrustedTypeError:
            raise
        except Exception as error:
            raise CorruptDataError(
                f"The stored pickle cannot be read ({type(error).__name__}: {error}). Restore it from a backup"
            ) from error


class _Unpickler(pickle.Unpickler):
    """Finds what is allowed, and nothing else."""

    def __init__(self, data: bytes, allowed: dict[str, Any], remedy: str) -> None:
        super().__init__(io.BytesIO(data[1:]))
        self._allowed = allowed
        self._remedy = remedy

    def find_class(self, module: str, name: str) -> Any:
        found = self._allowed.get(f"{module}:{name}")
        if found is None and f"{module}:{name}" in _PLAIN:
            found = getattr(sys.modules.get(module), name, None)
        if found is None:
            raise UntrustedTypeError(
                f"A stored pickle names {module}.{name}, which is not allowed here; nothing was imported or "
                f"called. If you trust it: {self._remedy.format(name.rpartition('.')[2])}"
            )
        return found

    def persistent_load(self, pid: Any) -> Any:
        raise CorruptDataError("A stored pickle refers to something outside of it, which flowfn never writes")


def _reference(found: Any) -> str:
    """The name that pickle has for a class or function."""
    if isinstance(found, type):
        return f"{found.__module__}:{found.__qualname__}"
    module = getattr(found, "__module__", None) or builtins.__name__
    return f"{module}:{found.__qualname__}"
