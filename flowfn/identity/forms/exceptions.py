"""The form of an exception: its class, what it was made with, and what it has been given since.

Rule: an error that a record gives back is the one that was raised, though what it held that can't be stored came
back as its `repr`. Where it was raised and what flowfn wrote into it don't count.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from flowfn.errors import ADDED_TO_ERRORS, RECORDED_AS
from flowfn.identity.forms.attributes import attributes_of
from flowfn.identity.forms.notation import Field, tagged, tuple_of
from flowfn.identity.names import qualified_name

if TYPE_CHECKING:
    from flowfn.identity.forms.canonical import Walk

__all__ = ["exception_form"]


def exception_form(walk: Walk, value: BaseException) -> Any:
    """An exception, by its class's name, its arguments and its attributes."""
    texts = [each for note in vars(value).get(RECORDED_AS, ()) for each in note.told]
    args = [_told(walk, item, Field(f".args[{place}]"), texts) for place, item in enumerate(_given(value))]
    attributes = {**_native(value), **attributes_of(value)}
    own = {
        name: item
        for name, item in attributes.items()
        if not name.startswith("__") and name not in ADDED_TO_ERRORS
    }
    more = {name: _told(walk, item, Field(f".{name}"), texts) for name, item in own.items()}
    return tagged("error", qualified_name(type(value)), tuple_of(args), *([more] if more else []))


def _given(error: Any) -> Any:
    """What an exception was made with: `args`, but where these lack the names of files, or are empty in any case."""
    if isinstance(error, OSError):
        return OSError.__reduce__(error)[1]
    if type(error) is getattr(sys.modules.get("pydantic_core"), "ValidationError", None):
        return (error.title, *chain.from_iterable(map(_row, error.errors(include_url=False))))
    return error.args


def _row(found: dict[str, Any]) -> Iterable[Any]:
    """One of the errors that pydantic found, as its author would tell it."""
    return (found["type"], found["loc"], found["msg"], found["input"])


def _native(error: BaseException) -> dict[str, Any]:
    """Attributes that its C base has, where they are set: an `ImportError` keeps what it is about in them alone."""
    names = {name for cls, found in _NATIVE.items() if isinstance(error, cls) for name in found}
    return {name: item for name in sorted(names) if (item := getattr(error, name)) is not None}


_NATIVE = {ImportError: ("name", "path"), NameError: ("name",), AttributeError: ("name",)}


def _told(walk: Walk, item: Any, step: Field, texts: Sequence[Any]) -> Any:
    """What an exception was made with, as it comes back from a record: what can't be stored, as `texts` can't, as its
    `repr`."""
    if any(item is each for each in texts):
        return walk.walk(repr(item), step)
    was_weak, walk.weak = walk.weak, ""
    form = walk.walk(item, step)
    if walk.weak or callable(item):
        form = walk.walk(repr(item), step)
    walk.weak = was_weak or walk.weak
    return form
