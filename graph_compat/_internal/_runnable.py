"""Runnables made of functions, where LangChain is installed; and what can be one."""

from typing import TYPE_CHECKING

from flowfn.python.lazy import lazily
from graph_compat.utils.runnable import RunnableLike

if TYPE_CHECKING:
    from graph_compat.utils.runnable import RunnableCallable

__all__ = ["RunnableCallable", "RunnableLike"]

# The class loads LangChain.
__getattr__, __dir__ = lazily(__name__, {"RunnableCallable": "graph_compat.utils.runnable"})
