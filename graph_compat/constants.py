"""Names with a fixed meaning. They are LangGraph's."""

from __future__ import annotations

import sys
from typing import Any, Final

from flowfn.pregel import HIDDEN

START: Final = sys.intern("__start__")
"""The virtual first node of a graph."""

END: Final = sys.intern("__end__")
"""The virtual last node of a graph."""

ROOT: Final = "__root__"
"""The one channel of a state that isn't a mapping."""

SENDS: Final = "__pregel_tasks"
"""The channel that holds what was sent to nodes."""

PREVIOUS: Final = "__previous__"
"""The channel that holds what an entrypoint's next call sees."""

TAG_HIDDEN: Final = HIDDEN
"""The tag of a node that streams don't show and `"*"` doesn't stop at."""

TAG_NOSTREAM: Final = "nostream"
"""The tag of a chat model whose tokens `messages` streams don't show."""

TASKS: Final = SENDS
CONF: Final = "configurable"
CONFIG_KEY_CHECKPOINTER: Final = "__pregel_checkpointer"
CONFIG_KEY_READ: Final = "__pregel_read"
CONFIG_KEY_RUNTIME: Final = "__pregel_runtime"
CONFIG_KEY_SEND: Final = "__pregel_send"
CONFIG_KEY_THREAD_ID: Final = "thread_id"
CONFIG_KEY_CHECKPOINT_ID: Final = "checkpoint_id"
CONFIG_KEY_CHECKPOINT_MAP: Final = "checkpoint_map"
CONFIG_KEY_CHECKPOINT_NS: Final = "checkpoint_ns"

NS_SEP: Final = "|"
"""Between the graphs of a namespace, the outermost first."""

NS_END: Final = ":"
"""Between a node's name and its task's id in a namespace."""

PULL: Final = "__pregel_pull"
"""The first part of the path of a task that an edge led to."""

PUSH: Final = "__pregel_push"
"""The first part of the path of a task that was sent."""

__all__ = ["CONF", "CONFIG_KEY_CHECKPOINTER", "END", "START", "TAG_HIDDEN", "TAG_NOSTREAM", "TASKS"]


def __getattr__(name: str) -> Any:
    """What was imported from here before LangGraph 1.0: `Send`, `Interrupt` and names of channels."""
    from graph_compat.warnings import LangGraphDeprecatedSinceV10, warn

    found: Any
    if name in ("Interrupt", "Send"):
        from flowfn import values as found

        now = f"Please use 'from graph_compat.types import {name}' instead."
    elif name in ("ERROR", "INTERRUPT", "RESUME"):
        from graph_compat.checkpoint.serde import types as found

        now = "It is private."
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn(f"Importing {name} from {__name__} is deprecated. {now}", LangGraphDeprecatedSinceV10)
    return getattr(found, name)
