"""The callback handlers that a run's streams need: for the tokens of models, in each form that is shown, and for tools.

Rule: importing this imports no LangChain; a run that somebody streams so has it loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from graph_compat.langchain import MESSAGES, TOOLS, is_installed
from graph_compat.langchain.tokens import PIECES

if TYPE_CHECKING:
    from flowfn.config import RunConfig


def are_wanted(config: RunConfig) -> bool:
    """Whether a stream of a run needs any."""
    return (MESSAGES in config.rest or TOOLS in config.rest) and is_installed()


def listeners(config: RunConfig, others: Sequence[Any]) -> Iterator[Any]:
    """Those that a run needs, and that aren't among the others, of a run around, already."""
    if (shown := config.rest.get(MESSAGES)) is not None:
        for form in shown.forms():
            kind = _of_tokens(form)
            if not any(isinstance(other, kind) for other in others):
                yield kind(shown)
    if TOOLS in config.rest:
        from graph_compat.langchain.tool_handler import ToolHandler

        if not any(isinstance(other, ToolHandler) for other in others):
            yield ToolHandler()


def _of_tokens(form: str) -> type[Any]:
    if form == PIECES:
        from graph_compat.langchain.handler import TokenHandler

        return TokenHandler
    from graph_compat.langchain.event_handler import EventHandler

    return EventHandler
