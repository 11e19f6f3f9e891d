"""How forms are written: plain msgpack, and extensions for all that it has no word for.

Rule: an extension can't be imitated by any argument, and equal forms are equal bytes: maps are written in the order
of their keys. A change to a tag or to its parts makes every value of its kind another one, in all that is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import ormsgpack
from ormsgpack import Ext, packb

if TYPE_CHECKING:
    from flowfn.identity.forms.canonical import Walk

__all__ = ["ELEMENT", "Field", "Form", "pack", "tagged", "tuple_of"]

Form = Callable[["Walk", Any], Any]
"""Gives the form of a value of one kind; the walk gives those of the values in it."""

_OPTIONS: Final = ormsgpack.OPT_SORT_KEYS


def pack(form: Any) -> bytes:
    """The bytes of a form."""
    return packb(form, None, _OPTIONS)


def tagged(tag: str, *parts: Any) -> Ext:
    """The form of a value that msgpack has none for."""
    return Ext(1, packb([tag, *parts], None, _OPTIONS))


def tuple_of(forms: list[Any]) -> Ext:
    """The form of a tuple of values with these forms."""
    return Ext(2, packb(forms, None, _OPTIONS))


class Field(str):
    """A step of a path that is written as it is, such as `.name`; any other step is an index or a key."""

    __slots__ = ()


ELEMENT: Final = Field("{…}")
"""The step to an element of a set, which has no index."""
