"""Runnables made of functions, where LangChain is installed; and what can be one."""

from typing import TYPE_CHECKING

from flowfn.python.lazy import lend
from graph_compat.utils.runnable import RunnableLike

if TYPE_CHECKING:
    from graph_compat.utils.runnable import RunnableCallable

__all__ = ["RunnableCallable", "RunnableLike"]

# The class loads LangChain.
lend(__name__, {"RunnableCallable": "graph_compat.utils.runnable"})
