"""Runs of LangChain's tools that end in a question to a human.

Rule: whoever was told that a tool's run began is told once that it ended. A question is no `Exception` (G8), and
LangChain before 1.8 tells of such alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any
from uuid import uuid4

from graph_compat.errors import GraphBubbleUp, told_to_callbacks


@asynccontextmanager
async def tool_run(tool: Any, config: Mapping[str, Any], *, on_loop: bool) -> AsyncIterator[dict[str, Any]]:
    """The configuration for one call of a tool."""
    given = {**config, "run_id": uuid4()}
    try:
        yield given
    except GraphBubbleUp as signal:
        if (run := _run_of(tool, given, on_loop=on_loop)) is not None:
            told = run.on_tool_error(told_to_callbacks(signal))
            if on_loop:
                await told
        raise


def _run_of(tool: Any, config: Mapping[str, Any], *, on_loop: bool) -> Any:
    """The run that the tool has told callbacks of, and whose end it didn't tell; None where nobody listens."""
    from langchain_core.callbacks import manager

    if _tells_of_signals():
        return None
    managers, runs = (
        (manager.AsyncCallbackManager, manager.AsyncCallbackManagerForToolRun)
        if on_loop
        else (manager.CallbackManager, manager.CallbackManagerForToolRun)
    )
    found = managers.configure(config.get("callbacks"), getattr(tool, "callbacks", None))
    if not found.handlers:
        return None
    return runs(
        run_id=config["run_id"],
        handlers=found.handlers,
        inheritable_handlers=found.inheritable_handlers,
        parent_run_id=found.parent_run_id,
        tags=found.tags,
    )


@cache
def _tells_of_signals() -> bool:
    """Whether LangChain tells that a tool's run has ended where that ends by no `Exception`.

    Told by its version: to try it on a tool would show up in the traces of whoever listens.
    """
    from langchain_core import __version__

    return tuple(map(int, __version__.split(".")[:2])) >= (1, 8)
