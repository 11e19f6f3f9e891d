"""LangChain beside a graph: its messages, callbacks and runnables, where it is installed.

Rule: nothing here imports it before a message, a callback or a runnable is met; a program that uses none
pays nothing, and one where it isn't installed works with plain dicts as messages.

- `messages`: what a message is. `chat_model`: a model asked where nobody listens. `tool_output`: a command as what
  a tool returns.
- `runnable`: graphs as runnables; `callable`: functions as such; `invoking`: runnables as nodes, which find the
  configuration of `node_config`.
- `graph_runs`, `node_runs`: graphs and nodes as callbacks see them, `chains` of LangChain's; `tool_runs`: tools that
  ask; `tracing`: what tracers see of a node; `run_trees`: where LangSmith takes running code to be.
- `listeners`: who listens, and the handlers that streams need. `handler` shows `tokens`, `event_handler` models by
  their events, `tool_handler` the `tool_calls` of LangChain's tools.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec
from typing import Any, Final
from uuid import UUID

from flowfn.python.loaded import loaded

MESSAGES: Final = "__messages__"
"""Where a run's configuration holds what a `messages` stream has shown; there is nothing where nobody listens."""

INTEGRATION: Final = ("ls_integration", "langgraph")
"""What metadata tell callbacks of a graph whose caller names no integration of its own."""

TOOLS: Final = "__tools__"
"""Where it says that a `tools` stream listens."""

PROTOCOL: Final = "__protocol__"
"""Where a call's `configurable` has the `Place` of a run that is shown by stream events v3."""


@cache
def is_installed() -> bool:
    """Whether langchain-core can be imported."""
    return find_spec("langchain_core") is not None


def is_loaded() -> bool:
    """Whether the program has imported LangChain's runnables: only then can anybody listen to its callbacks."""
    return "langchain_core.runnables.config" in sys.modules


def is_of_langchain(value: Any) -> bool:
    """Whether it is one of LangChain's runnables."""
    base = loaded("langchain_core.runnables.base")
    return base is not None and isinstance(value, base.Runnable)


_run_id: ContextVar[UUID | None] = ContextVar("graph_compat.run_id", default=None)


def run_id_here() -> UUID | None:
    """The id of the innermost graph's run, as callbacks know it; None where nobody listens."""
    return _run_id.get()


@contextmanager
def with_run_id(run_id: UUID | None) -> Iterator[None]:
    """Have `run_id_here` say this."""
    token = _run_id.set(run_id)
    try:
        yield
    finally:
        _run_id.reset(token)


def config_around() -> dict[str, Any] | None:
    """The configuration of the innermost of LangChain's runs around the running code; None outside of any."""
    if not is_loaded():
        return None
    from langchain_core.runnables.config import var_child_runnable_config

    around = var_child_runnable_config.get()
    return None if around is None else dict(around)


def callbacks_here() -> Any:
    """The callbacks of the innermost run around the running code; None where nobody listens."""
    around = config_around()
    return None if around is None else around.get("callbacks")


def nobody(place: str, config: Mapping[str, Any], *, on_loop: bool) -> Any:
    """The callbacks of code that nobody listens to: a manager without handlers; None without LangChain.

    `place` is the id of the task that the code is part of: as its run, for code that wants to be in one. What has
    handlers of its own, such as a model, is told of the tags and metadata in `config`, whatever it is called with.
    """
    if not is_loaded():
        return None
    from langchain_core.callbacks import AsyncCallbackManager, CallbackManager

    manager = (AsyncCallbackManager if on_loop else CallbackManager)(handlers=[], parent_run_id=UUID(place))
    manager.add_tags(config.get("tags", []))
    manager.add_metadata(config["metadata"])
    return manager
