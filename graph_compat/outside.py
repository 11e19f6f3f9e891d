"""Code of a graph that runs outside any run: the routers that an update asks where it leads.

Rule: they find what they find in a run, as far as it is there: the configuration of the update's call, and the graph's
store. Nobody hears what they write, and nothing that they do is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame
from flowfn.runtime import Runtime
from graph_compat.constants import CONFIG_KEY_RUNTIME
from graph_compat.injection import known_by, runtime_outside
from graph_compat.langchain import is_loaded

if TYPE_CHECKING:
    from flowfn.config import RunConfig


@contextmanager
def asked_outside(where: RunConfig, store: Any) -> Iterator[None]:
    """Have code that runs meanwhile belong to a call of `update_state`, and to no run that this is made in."""
    config = where.to_dict(thread_id=where.thread_id)
    del config["run_id"]
    runtime = Runtime(store=store, config=config)
    config["metadata"] = {**known_by(config["configurable"]), **config["metadata"]}
    config["configurable"][CONFIG_KEY_RUNTIME] = runtime
    frame, own = current_frame.set(None), runtime_outside.set(runtime)
    try:
        with _told_to_langchain(config):
            yield
    finally:
        runtime_outside.reset(own)
        current_frame.reset(frame)


@contextmanager
def _told_to_langchain(config: dict[str, Any]) -> Iterator[None]:
    if not is_loaded():
        yield
        return
    from graph_compat.langchain.node_config import var_child_runnable_config

    token = var_child_runnable_config().set(config)
    try:
        yield
    finally:
        var_child_runnable_config().reset(token)
