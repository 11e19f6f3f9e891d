"""What a type hint is made of: the types in it, and what `Annotated` says of them.

Rule: a hint can't change in place, so that code which stands in it counts wherever the hint is named. It is told by
the module of its class: asking an object of anybody's whether it is one might run code of its author's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

from flowfn.identity.forms.attributes import attributes_of
from flowfn.python.parametrised import given_to

__all__ = ["TYPING", "parts_of"]

TYPING = ("typing", "types", "typing_extensions")
"""The modules of the classes of hints."""


def parts_of(hint: Any) -> tuple[Any, ...]:
    """The types and other objects in a hint, and what those hold that `Annotated` adds; of anything else nothing."""
    kind = type(hint)
    if issubclass(kind, type):
        return given_to(hint)
    try:
        return tuple(_parts(hint)) if kind.__module__ in TYPING else ()
    except Exception:  # what a `type` statement names needn't be there yet
        return ()


def _parts(hint: Any) -> Iterator[Any]:
    if type(hint).__name__ == "TypeAliasType":
        yield hint.__value__
        return
    origin = get_origin(hint)
    for each in get_args(hint):
        yield from each if isinstance(each, list) else (each,)  # of a `Callable` its parameters
    if origin is Annotated:
        for each in hint.__metadata__:
            yield from attributes_of(each).values()
    elif origin is not None:
        yield origin
