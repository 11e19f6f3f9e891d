"""Who listens to a run: the callbacks that its caller brought along, and the handlers that its streams need, for the
tokens of models, in each form that is shown, and for tools.

Rule: importing this imports no LangChain; a run that somebody listens to so has it loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from graph_compat.langchain import MESSAGES, TOOLS, is_installed
from graph_compat.langchain.tokens import PIECES

if TYPE_CHECKING:
    from flowfn.config import RunConfig
    from flowfn.context import Frame


def wants_handlers(config: RunConfig) -> bool:
    """Whether a stream of a run needs handlers."""
    return (MESSAGES in config.rest or TOOLS in config.rest) and is_installed()


def has_listeners(config: RunConfig) -> bool:
    """Whether a call brought callbacks along: one can be made without the runnables that are looked for else."""
    return wants_handlers(config) or (bool(config.rest.get("callbacks")) and is_installed())


def is_heard(frame: Frame) -> bool:
    """Whether callbacks or a `messages` stream are told of what runs there."""
    rest = frame.run.config.rest
    return rest.get("callbacks") is not None or MESSAGES in rest


def has_awaited_listeners(config: RunConfig, recorded: bool = True) -> bool:
    """Whether a run's callbacks are told to a handler that has to be awaited: LangChain begins an event loop for each
    of them where that is done from a thread.
    """
    callbacks = config.rest.get("callbacks")
    if callbacks is None:
        return False
    from langchain_core.callbacks import AsyncCallbackHandler

    return any(isinstance(handler, AsyncCallbackHandler) for handler in getattr(callbacks, "handlers", ()))


def streaming(handlers: Iterable[Any]) -> list[Any]:
    """Those of callback handlers that want outputs piece by piece; a `messages` stream wants those of models alone."""
    from langchain_core.tracers._streaming import _StreamingCallbackHandler

    from graph_compat.langchain.handler import TokenHandler

    return [
        handler
        for handler in handlers
        if isinstance(handler, _StreamingCallbackHandler) and not isinstance(handler, TokenHandler)
    ]


def handlers_for(config: RunConfig, others: Sequence[Any]) -> Iterator[Any]:
    """The handlers that a run's streams need, and that aren't among the others, of a run around, already."""
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
