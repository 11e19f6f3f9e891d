"""LangChain beside a graph: its messages, callbacks and runnables, where it is installed.

Rule: nothing here imports it before a message, a callback or a runnable is met; a program that uses none
pays nothing, and one where it isn't installed works with plain dicts as messages.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

MESSAGES: Final = "__messages__"
"""Where a run's configuration holds what a `messages` stream has shown; there is nothing where nobody listens."""


@cache
def is_installed() -> bool:
    """Whether langchain-core can be imported."""
    return find_spec("langchain_core") is not None


def is_loaded() -> bool:
    """Whether the program has imported LangChain's runnables: only then can anybody listen to its callbacks."""
    return "langchain_core.runnables.config" in sys.modules


def callbacks_here() -> Any:
    """The callbacks of the innermost run around the running code; None where nobody listens."""
    if not is_loaded():
        return None
    from langchain_core.runnables.config import var_child_runnable_config

    around = var_child_runnable_config.get()
    return None if around is None else around.get("callbacks")
