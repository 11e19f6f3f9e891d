"""What code inside a node or a task looks up: its configuration, its store, its writer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame
from flowfn.python.lazy import lend
from flowfn.runtime import StreamWriter
from graph_compat.constants import CONFIG_KEY_RUNTIME
from graph_compat.injection import runtime_here
from graph_compat.langchain import config_around
from graph_compat.langchain.invoking import config_here

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig as RunnableConfig

    from graph_compat.constants import CONF as CONF
    from graph_compat.store.base import BaseStore as BaseStore

__all__ = ["get_config", "get_store", "get_stream_writer"]


# What programs also import from here.
lend(
    __name__,
    {
        "CONF": "graph_compat.constants",
        "BaseStore": "graph_compat.store.base",
        "RunnableConfig": "langchain_core.runnables",
    },
)


def get_config() -> RunnableConfig:
    """That of the runnable or tool around, if the running code is in one; else that of its node or task.

    Raises:
        RuntimeError: nothing runs here.
    """
    here = config_here()
    found: Any = dict(runtime_here().config) if here is None else here
    return found  # type: ignore[no-any-return]


def get_store() -> Any:
    """The store of the running graph; None where it has none. Elsewhere that of the runtime in `get_config()`.

    Raises:
        RuntimeError: nothing runs here.
    """
    around = config_around() if current_frame.get() is None else None
    runtime = None if around is None else around.get("configurable", {}).get(CONFIG_KEY_RUNTIME)
    return (runtime_here() if runtime is None else runtime).store


def get_stream_writer() -> StreamWriter:
    """A function that writes to the "custom" stream of the run; it does nothing where nobody watches.

    Raises:
        RuntimeError: nothing runs here.
    """
    return runtime_here().stream_writer
