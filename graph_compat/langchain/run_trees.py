"""LangSmith's tree of runs around running code: where a tracer of LangChain's tells LangSmith of a run, that is what
`get_current_run_tree()` finds in it, and what functions that are `@traceable` are children of.

Imported where such a tracer is loaded: nobody else's code can be told of.
"""

from __future__ import annotations

from typing import Any

from langchain_core.tracers.langchain import LangChainTracer
from langsmith.run_helpers import _set_tracing_context, get_current_run_tree


class RunTree:
    """A run that LangSmith is told of, as the one around the code that runs, until it is left."""

    def __init__(self, tree: Any) -> None:
        self._around = get_current_run_tree()
        _set_tracing_context({"parent": tree})

    @classmethod
    def of(cls, run: Any) -> RunTree | None:
        """The run of a callback manager, begun; None where no tracer of LangSmith's is told of it."""
        tracer = next((handler for handler in run.handlers if isinstance(handler, LangChainTracer)), None)
        tree = None if tracer is None else tracer.run_map.get(str(run.run_id))
        return None if tree is None else cls(tree)

    def leave(self) -> None:
        """The code around the run goes on."""
        _set_tracing_context({"parent": self._around})
