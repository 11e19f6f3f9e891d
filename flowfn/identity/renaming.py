"""Forms of arguments in which futures turn out to be those of other calls than they seemed.

Rule: the form is that of the moment when it was taken, whatever becomes of the arguments; only the ids of calls in it
are exchanged, and what is ordered by its bytes is ordered again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import ormsgpack
from ormsgpack import Ext

from flowfn.identity.digest import Digest, hashed, masked_form
from flowfn.identity.forms.canonical import Walk
from flowfn.identity.forms.notation import pack
from flowfn.identity.volatile import Window

__all__ = ["Forms", "forms_of", "renamed"]


class Forms(NamedTuple):
    """What a digest was taken of: both forms whole, `masked` where it has a skeleton."""

    digest: Digest
    form: bytes
    masked: bytes | None

    def digest_with(self, calls: Mapping[str, str]) -> Digest:
        """The digest of the same arguments with futures of other calls, by the ids that they had."""
        kept = self.digest.form
        return self.digest._replace(
            exact=hashed(renamed(self.form, calls)),
            skeleton=None if self.masked is None else hashed(renamed(self.masked, calls)),
            form=None if kept is None else renamed(kept, calls),
        )


def forms_of(arguments: Mapping[str, Any], digest: Digest, window: Window) -> Forms:
    """The forms of arguments whose digest was taken a moment ago."""
    masked = None if digest.skeleton is None else masked_form(arguments, window)[0]
    return Forms(digest, pack(Walk().mapping(arguments)), masked)


def renamed(form: bytes, calls: Mapping[str, str]) -> bytes:
    """A form with the futures of other calls in it, by the ids that they had."""

    def again(code: int, data: bytes) -> Ext:
        parts = read(data)
        if code == _TAGGED:
            tag, *rest = parts
            change = changes.get(tag)
            parts = parts if change is None else [tag, *change(*rest)]
        return Ext(code, pack(parts))

    def read(data: bytes) -> Any:
        return ormsgpack.unpackb(data, ext_hook=again)

    def items(*packed: bytes) -> list[bytes]:
        return sorted(pack(read(each)) for each in packed)

    def pairs(*packed: bytes) -> list[bytes]:
        each = [pack(read(part)) for part in packed]
        return [part for pair in sorted(zip(each[::2], each[1::2], strict=True)) for part in pair]

    changes: dict[str, Callable[..., list[Any]]] = {
        "future": lambda call: [calls.get(call, call)],
        "set": items,
        "frozenset": items,
        "map": pairs,
    }
    return pack(read(form))


_TAGGED = 1
"""The code of a form that `notation.tagged` made."""
