"""A run in a graph as LangChain sees it: a chain, in the run of what called it.

Rule: one code for blocking and asyncio callers; what a blocking one's callbacks say never has to be awaited.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

from graph_compat.errors import told_to_callbacks
from graph_compat.langchain.node_config import var_child_runnable_config

if TYPE_CHECKING:
    from graph_compat.langchain.run_trees import RunTree


class Chain:
    """A run in a graph, told of to callbacks, and while it is entered LangChain's context, and LangSmith's.

    `run` is None where nobody listens; `tag` is that of what runs in it.
    """

    def __init__(self, config: dict[str, Any], run: Any, tag: str | None = None) -> None:
        self.config = config
        self.run = run
        self._tag = tag
        self._traced: RunTree | None = None

    def __enter__(self) -> Chain:
        callbacks = self.config["callbacks"] if self.run is None else self.run.get_child(self._tag)
        config: Any = {**self.config, "callbacks": callbacks}
        self._token = var_child_runnable_config().set(config)
        if self.run is not None and "langchain_core.tracers.langchain" in sys.modules:
            from graph_compat.langchain.run_trees import RunTree

            self._traced = RunTree.of(self.run)
        return self

    def __exit__(self, *raised: Any) -> None:
        if self._traced is not None:
            self._traced.leave()
        var_child_runnable_config().reset(self._token)

    def ended(self, value: Any) -> Any:
        """Tell what it came to; what comes back may have to be awaited."""
        return None if self.run is None else self.run.on_chain_end(value)

    def failed(self, error: BaseException) -> Any:
        """Tell what it failed with; as `ended`."""
        return None if self.run is None else self.run.on_chain_error(told_to_callbacks(error))


async def settled(told: Any) -> Any:
    """What a manager of callbacks said, which that of an event loop has to be awaited for."""
    return await told if inspect.isawaitable(told) else told


def manager_class(on_loop: bool) -> Any:
    """The class of what tells callbacks of runs."""
    from langchain_core.callbacks import AsyncCallbackManager, CallbackManager

    return AsyncCallbackManager if on_loop else CallbackManager
