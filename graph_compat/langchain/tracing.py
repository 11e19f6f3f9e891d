"""What tracers see of a node that says how much that may be: its `TracePolicy`.

Rule: a tracer is told of what the policy makes of the node's input and of its output; every other handler, and what
runs inside the node, of what they are. A policy that raises is logged, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import wrapt
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langchain_core.tracers.base import BaseTracer

from flowfn.logs import logger

if TYPE_CHECKING:
    from graph_compat.types import TracePolicy


def discreet(handler: Any, policy: TracePolicy) -> Any:
    """A handler that is told no more of a run than `policy` lets it, if it is a tracer; the handler itself, if not."""
    if not isinstance(handler, BaseTracer) or isinstance(handler, _StreamingCallbackHandler):
        return handler
    return _Discreet(handler, policy)


class _Discreet(wrapt.ObjectProxy):  # type: ignore[misc]
    """A tracer, for one run."""

    def __init__(self, tracer: BaseTracer, policy: TracePolicy) -> None:
        super().__init__(tracer)
        self._self_policy = policy

    def on_chain_start(self, serialized: Any, inputs: Any, **rest: Any) -> Any:
        """The run begins."""
        shown = _shown(self._self_policy.process_inputs, inputs)
        return self.__wrapped__.on_chain_start(serialized, shown, **rest)

    def on_chain_end(self, outputs: Any, **rest: Any) -> Any:
        """The run has ended."""
        return self.__wrapped__.on_chain_end(_shown(self._self_policy.process_outputs, outputs), **rest)


def _shown(process: Callable[[Any], Any] | None, value: Any) -> Any:
    if process is None:
        return value
    try:
        return process(value)
    except Exception:
        logger.exception("A TracePolicy raised: tracers are told of the value as it is")
        return value
