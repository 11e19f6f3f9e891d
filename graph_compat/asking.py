"""`interrupt()` with LangGraph's arguments: an answer that doesn't fit is an error in the code that asks."""

from __future__ import annotations

import sys
from typing import Any, TypeVar, overload

from flowfn.context import site_of
from flowfn.validation import json_schema
from graph_compat.errors import GraphInterrupt, invalid_resume, told_to_callbacks
from graph_compat.injection import frame_here

T = TypeVar("T")


@overload
def interrupt(value: Any, *, response_schema: type[T]) -> T: ...
@overload
def interrupt(value: Any, *, response_schema: dict[str, Any] | None = None) -> Any: ...
def interrupt(value: Any, *, response_schema: Any = None) -> Any:
    """Ask a human, and return the answer.

    The graph stops, and `invoke` returns the question; `invoke(Command(resume=answer), config)` goes on.

    Args:
        value: the question; anything that can be stored.
        response_schema: what the answer is validated as: a pydantic model, a dataclass or a TypedDict. A JSON
            schema, as a dict, is shown with the question and checks nothing.

    Raises:
        ValidationError: the answer doesn't fit; the question waits for another one. `is_invalid_resume`
            tells it from other errors.
        RuntimeError: called outside a graph.
    """
    frame = frame_here()
    is_shown = response_schema is None or isinstance(response_schema, dict)
    try:
        return frame.ask(
            value,
            None,
            None if is_shown else response_schema,
            site_of(sys._getframe().f_back),
            schema=response_schema if is_shown else json_schema(response_schema),
            refuse=invalid_resume,
        )
    except GraphInterrupt as signal:
        raise told_to_callbacks(signal) from None  # LangChain tells of it where it unwinds what it runs
