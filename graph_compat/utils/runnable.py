"""Runnables made of functions, where LangChain is installed; and what can be one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from flowfn.python.lazy import lend

if TYPE_CHECKING:
    from graph_compat.langchain.callable import RunnableCallable

__all__ = ["RunnableCallable", "RunnableLike"]

RunnableLike = Callable[..., Any] | Callable[..., Awaitable[Any]] | Mapping[str, Any]
"""What a node may be: a function, an object with `invoke` and `ainvoke`, or a mapping of such."""

# The class loads LangChain.
lend(__name__, {"RunnableCallable": "graph_compat.langchain.callable"})
