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

__all__ = ["CONF", "CONFIG_KEY_CHECKPOINTER", "END", "START", "TAG_HIDDEN", "TAG_NOSTREAM", "TASKS"]


def __getattr__(name: str) -> Any:
    """`Send` and `Interrupt` were imported from here before LangGraph 1.0."""
    if name not in ("Interrupt", "Send"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from flowfn import values
    from graph_compat.warnings import LangGraphDeprecatedSinceV10, warn

    warn(
        f"Importing {name} from {__name__} is deprecated. Please use 'from graph_compat.types import {name}' instead.",
        LangGraphDeprecatedSinceV10,
    )
    return getattr(values, name)
