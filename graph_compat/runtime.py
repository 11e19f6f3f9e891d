"""What a node may know of its run, injected as `runtime` or looked up with `get_runtime()`."""

from __future__ import annotations

from typing import Any

from flowfn.runtime import ExecutionInfo, RunControl, Runtime, ServerInfo
from graph_compat.injection import runtime_here
from graph_compat.left_out import SERVER, left_out

__all__ = ["DEFAULT_RUNTIME", "ExecutionInfo", "RunControl", "Runtime", "ServerInfo", "get_runtime"]

DEFAULT_RUNTIME: Runtime[Any] = Runtime()
"""One of no run, for a node or tool that is called by itself."""


def get_runtime(context_schema: type[Any] | None = None) -> Runtime[Any]:
    """The runtime of the running node or task; `context_schema` is for type checkers.

    Raises:
        RuntimeError: nothing runs here.
    """
    return runtime_here()


__getattr__ = left_out(__name__, {"BaseUser": SERVER})
