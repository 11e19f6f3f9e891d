"""pydantic's `ValidationError`: a failure that programs catch by its type, and that no call of its class makes.

Rule: it is made by `from_exception_data` of its title and of a row per error, as pydantic's own pickling does. An error
that this pydantic would word otherwise, or doesn't know, keeps its words as a custom one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import chain
from typing import Any

_ROW = ("type", "loc", "msg", "input", "ctx")


def is_invalid(cls: type) -> bool:
    """Whether a class is pydantic's `ValidationError`; never imports pydantic to find out."""
    return cls is getattr(sys.modules.get("pydantic_core"), "ValidationError", None)


def arguments(error: Any) -> tuple[Any, ...]:
    """Title, how the input came, whether that is hidden, and rows: flat, so that each part is stored by itself."""
    title, _, came, hidden = error.__reduce__()[1]
    rows = ([row.get(name) for name in _ROW] for row in error.errors(include_url=False))
    return (title, came, hidden, *chain.from_iterable(rows))


def build(cls: Any, args: Sequence[Any]) -> Any:
    """The error of its arguments.

    Raises:
        TypeError, ValueError: they aren't what `arguments` gives.
    """
    title, came, hidden, *flat = args
    if not isinstance(title, str):
        raise TypeError(f"the title of a ValidationError is a text, not {title!r}")
    title.encode()  # pydantic panics where it shows one that can't be encoded
    size = len(_ROW)
    rows = [dict(zip(_ROW, flat[at : at + size], strict=True)) for at in range(0, len(flat), size)]
    error = cls.from_exception_data(title, [_detail(cls, row, came) for row in rows], came, hidden)
    error.args = ()
    str(error), error.errors()  # what can't be shown is refused here, and not where somebody shows it
    return error


def _detail(cls: Any, row: dict[str, Any], came: str) -> dict[str, Any]:
    """What makes an error of these words."""
    ctx = {"ctx": row["ctx"]} if isinstance(row["ctx"], dict) else {}
    known = {"type": row["type"], "loc": row["loc"], "input": row["input"], **ctx}
    try:
        (made,) = cls.from_exception_data("", [known], came).errors(include_url=False)
    except (TypeError, ValueError, KeyError):
        made = None
    if made is not None and made["msg"] == row["msg"]:
        return known
    custom: Any = sys.modules["pydantic_core"]
    return {**known, "type": custom.PydanticCustomError(row["type"], row["msg"], *ctx.values())}
