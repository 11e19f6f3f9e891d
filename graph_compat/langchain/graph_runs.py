"""A graph's run as callbacks see it: a chain, in which its nodes' are.

Rule: nothing is told where the program hasn't imported LangChain, or nobody listens.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from flowfn.config import RunConfig
from flowfn.context import current_frame
from flowfn.values import MISSING
from graph_compat.errors import told_to_callbacks
from graph_compat.injection import gone_back_to, known_by
from graph_compat.langchain import INTEGRATION, callbacks_here, config_around, is_loaded, with_run_id
from graph_compat.langchain.chains import manager_class, settled
from graph_compat.langchain.listeners import handlers_for, has_listeners, wants_handlers


class Result:
    """What a run came to; set by its body."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = None


@asynccontextmanager
async def graph_run(
    name: str, input: Any, config: RunConfig, *, on_loop: bool
) -> AsyncIterator[tuple[RunConfig, Result]]:
    """A graph's run: the configuration for what runs in it, and where to leave its result."""
    result = Result()
    manager = _graph_manager(config, on_loop) if is_loaded() or has_listeners(config) else None
    if manager is None or not manager.handlers:
        if manager is not None and "callbacks" in config.rest:  # an empty list of them, say
            config = replace(config, rest={k: v for k, v in config.rest.items() if k != "callbacks"})
        yield config, result
        return
    named = config.rest.get("run_name") or name
    run = await settled(manager.on_chain_start(None, input, run_id=config.run_id, name=named))
    rest = {key: value for key, value in config.rest.items() if key != "run_name"}
    try:
        with with_run_id(run.run_id):
            yield replace(config, rest={**rest, "callbacks": run.get_child()}), result
    except BaseException as error:
        await settled(run.on_chain_error(told_to_callbacks(error)))
        raise
    await settled(run.on_chain_end(None if result.value is MISSING else result.value))


def _graph_manager(config: RunConfig, on_loop: bool) -> Any:
    from langchain_core.runnables.config import ensure_config

    frame, around = current_frame.get(), (config_around() or {}).get("configurable") or {}
    checkpoint = config.checkpoint_id if frame is None else gone_back_to(frame.run)
    known = known_by({**config.configurable, "thread_id": config.thread_id, "checkpoint_id": checkpoint})
    given = {
        "callbacks": callbacks_here() if config.rest.get("callbacks") is None else config.rest["callbacks"],
        "tags": list(config.tags),
        "metadata": {**config.metadata, **known, **config.metadata},
    }
    shown: Any = {key: value for key, value in given.items() if value}
    shown["configurable"] = {key: value for key, value in around.items() if key == "checkpoint_ns"}
    full = ensure_config(shown)
    manager = manager_class(on_loop).configure(
        inheritable_callbacks=full["callbacks"],
        inheritable_tags=full["tags"],
        inheritable_metadata={**full["metadata"], **dict([INTEGRATION]), **full["metadata"]},
    )
    if wants_handlers(config):
        for handler in handlers_for(config, list(manager.handlers)):
            manager.add_handler(handler)
    return manager
