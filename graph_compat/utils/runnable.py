"""Runnables made of functions, which graph_compat does without; and what can be one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from graph_compat.left_out import NO_RUNNABLES, left_out

__all__ = ["RunnableLike"]

RunnableLike = Callable[..., Any] | Callable[..., Awaitable[Any]] | Mapping[str, Any]
"""What a node may be: a function, an object with `invoke` and `ainvoke`, or a mapping of such."""

__getattr__ = left_out(__name__, {"RunnableCallable": NO_RUNNABLES})
