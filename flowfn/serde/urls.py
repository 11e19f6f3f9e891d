"""The URLs that pydantic parses, which `HttpUrl` and such hold: each is its text. pydantic is never imported from here.

Rule: a URL that its text doesn't give again is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ormsgpack import Ext

from flowfn.errors import CorruptDataError, UntrustedTypeError
from flowfn.serde.format import Leaf, Refused
from flowfn.serde.leaves import Encoder

_NAMES = {b"u": "Url", b"m": "MultiHostUrl"}


def encoder_of(cls: type) -> Encoder | None:
    """The encoder of a class of URLs, or None if it is no such."""
    core = sys.modules.get("pydantic_core")
    return next(
        (_encoder(code, cls) for code, name in _NAMES.items() if cls is getattr(core, name, None)), None
    )


def _encoder(code: bytes, cls: Callable[[str], Any]) -> Encoder:
    def encode(value: Any) -> Ext:
        text = str(value)
        if str(cls(text)) != text:
            raise Refused("its text is another URL's once it is parsed. Store str(url)")
        return Ext(int(Leaf.URL), code + text.encode())

    return encode


def _load(data: bytes) -> Any:
    core = sys.modules.get("pydantic_core")
    if core is None:
        raise UntrustedTypeError(
            "Stored data holds a URL of pydantic's, and nothing is imported for data. Import pydantic"
        )
    name, text = _NAMES[data[:1]], data[1:].decode()
    try:
        return getattr(core, name)(text)
    except ValueError as error:
        raise CorruptDataError(f"{text!r} is not a URL") from error


DECODERS: dict[int, Callable[[bytes], Any]] = {Leaf.URL: _load}
