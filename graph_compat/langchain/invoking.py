"""Runnables as nodes: invoked with the configuration of where they run, in pieces where somebody wants to see them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from flowfn.context import current_frame
from graph_compat.injection import config_of
from graph_compat.langchain import config_around
from graph_compat.langchain.runs import streaming


def invoked(runnable: Any, state: Any) -> Any:
    """What a runnable makes of a node's input; in pieces, where somebody wants to see them."""
    config = _here()
    if not _in_pieces(runnable, config):
        return runnable.invoke(state, config)
    pieces = runnable.stream(state, config)
    return reduce(_added, pieces, None)


async def ainvoked(runnable: Any, state: Any) -> Any:
    """`invoked` for asyncio."""
    config = _here()
    if not _in_pieces(runnable, config):
        return await runnable.ainvoke(state, config)
    whole = None
    async for piece in runnable.astream(state, config):
        whole = _added(whole, piece)
    return whole


def _here() -> dict[str, Any] | None:
    around = config_around()
    if around is not None:
        return around
    frame = current_frame.get()
    return None if frame is None else config_of(frame)


def _in_pieces(runnable: Any, config: Mapping[str, Any] | None) -> bool:
    callbacks = None if config is None else config.get("callbacks")
    return callbacks is not None and hasattr(runnable, "stream") and bool(streaming(callbacks.handlers))


def _added(whole: Any, piece: Any) -> Any:
    """Pieces as one value; the last, where they don't add up."""
    try:
        return piece if whole is None else whole + piece
    except TypeError:
        return piece
