"""What LangGraph's own serializer wrote: msgpack with eight extension codes, and JSON before that.

Rule: any bytes give a value or one of flowfn's errors. Extensions nest as documents within documents, so
their depth is bounded here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import ormsgpack

from flowfn.errors import CorruptDataError, FlowError, UntrustedTypeError
from flowfn.serde.arrays import array_of
from graph_compat.checkpoint.serde.event_hooks import emit_serde_event
from graph_compat.checkpoint.serde.trusted import Trusted

ONE, POSITIONAL, NAMED, METHOD, MODEL_V1, MODEL, ARRAY, DELTA = range(8)

Hook = Callable[[int, bytes], Any]

_DEEPEST = 100
_METHODS = {("datetime", name, "fromisoformat") for name in ("date", "datetime", "time")}


def read_msgpack(data: bytes, trusted: Trusted, hook: Hook | None = None) -> Any:
    """The value of LangGraph's msgpack; `hook` reads extensions in place of the one here.

    Raises:
        UntrustedTypeError: it names a type that is not allowed.
        CorruptDataError: it is not what LangGraph writes.
    """
    reader = _Reader(trusted)
    try:
        return reader.unpack(data, hook or reader.extension)
    except Exception as error:
        raise reader.reason(error) from None


class _Reader:
    """One reading: how deep it is, and the error that msgpack would drop."""

    def __init__(self, trusted: Trusted) -> None:
        self._trusted = trusted
        self._depth = 0
        self._error: Exception | None = None

    def unpack(self, data: bytes, hook: Hook) -> Any:
        return ormsgpack.unpackb(data, ext_hook=hook, option=ormsgpack.OPT_NON_STR_KEYS)

    def extension(self, code: int, data: bytes) -> Any:
        self._depth += 1
        try:
            if self._depth > _DEEPEST:
                raise CorruptDataError(f"What LangGraph stored is nested deeper than {_DEEPEST} objects")
            return self._made(code, self.unpack(data, self.extension))
        except Exception as error:
            self._error = self._error or error
            raise
        finally:
            self._depth -= 1

    def _made(self, code: int, parts: Any) -> Any:
        if code == ARRAY:
            dtype, shape, order, raw = parts
            return array_of(dtype, order, tuple(shape), raw)
        if code == METHOD:
            module, name, argument, method = parts
            return self._method(module, name, method)(argument)
        if code in (ONE, POSITIONAL, NAMED, MODEL, MODEL_V1):
            module, name, argument = parts[:3]
            make = self._trusted.construct(module, name)
            return (
                make(argument) if code == ONE else make(*argument) if code == POSITIONAL else make(**argument)
            )
        raise CorruptDataError(
            f"What LangGraph stored has the extension {code}"
            + (
                ", a snapshot of a DeltaChannel, which is not read yet"
                if code == DELTA
                else ", which is unknown"
            )
        )

    def _method(self, module: Any, name: Any, method: Any) -> Callable[[Any], Any]:
        make = self._trusted.construct(module, name)
        if (module, name, method) not in _METHODS:
            emit_serde_event(
                {"kind": "msgpack_method_blocked", "module": module, "name": name, "method": str(method)}
            )
            raise UntrustedTypeError(
                f"What LangGraph stored calls {module}.{name}.{method}, which is not allowed"
            )
        found: Callable[[Any], Any] = getattr(make, method)
        return found

    def reason(self, error: Exception) -> FlowError:
        """The first error below, as one of flowfn's."""
        first = self._error or error
        if isinstance(first, FlowError):
            return first
        return CorruptDataError(
            f"What LangGraph stored cannot be read ({type(first).__name__}: {first}); the bytes were changed, or "
            "a class of theirs takes other arguments by now"
        )


# -- the JSON of older versions -----------------------------------------------------------------------


def read_json(data: bytes, construct: Callable[[tuple[str, ...]], Callable[..., Any]]) -> Any:
    """The value of LangGraph's JSON, in which constructors are written as LangChain writes them.

    `construct` finds what makes a value, by the parts of its name. Raises what it raises, and
    `CorruptDataError` for what is no such JSON.
    """

    def revived(found: dict[str, Any]) -> Any:
        if found.get("lc") not in (1, 2) or found.get("type") != "constructor" or "id" not in found:
            return found
        named = tuple(map(str, found["id"]))
        make, method = construct(named), found.get("method")
        if isinstance(method, str) and (*named, method) in _METHODS:
            make = getattr(make, method)
        try:
            return make(*found.get("args") or (), **found.get("kwargs") or {})
        except Exception as error:  # whatever a class makes of arguments that aren't its own
            raise ValueError(f"{'.'.join(named)}: {type(error).__name__}: {error}") from error

    try:
        return json.loads(data, object_hook=revived)
    except (ValueError, TypeError, RecursionError) as error:
        if isinstance(error, FlowError):
            raise
        raise CorruptDataError(f"The stored JSON cannot be read ({type(error).__name__}: {error})") from error


def message_class(name: str) -> type | None:
    """The class of a message, where langchain-core's messages are loaded."""
    messages = sys.modules.get("langchain_core.messages")
    found = getattr(messages, name, None) if name.endswith(("Message", "MessageChunk")) else None
    return found if isinstance(found, type) else None
