"""A `Command` as what one of LangChain's tools returns.

Rule: LangChain turns what a tool returns into a message, except where it is of a class of its own for such things.
`Command` becomes one of that class when the program imports LangChain, not before.
"""

from __future__ import annotations

from typing import Any

import wrapt

from flowfn.values import Command

__all__ = ["Command"]


def _adopt(module: Any) -> None:
    """Have LangChain pass commands on as they are."""
    # Not a subclass of Command: what the engine and a program make has to pass, too.
    Command.__bases__ = (*Command.__bases__, module.ToolOutputMixin)


wrapt.register_post_import_hook(_adopt, "langchain_core.messages.tool")
