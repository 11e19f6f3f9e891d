"""What every graph can be asked, whatever runs it; and what a stream writes its chunks to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flowfn.python.lazy import lend
from graph_compat.graph.protocol import PregelProtocol

if TYPE_CHECKING:
    from graph_compat.types import GraphOutput as GraphOutput
    from graph_compat.types import StateSnapshot as StateSnapshot
    from graph_compat.types import StateUpdate as StateUpdate
    from graph_compat.types import StreamPart as StreamPart

__all__ = ["PregelProtocol", "StreamProtocol"]

# What programs also import from here.
lend(
    __name__,
    {
        **dict.fromkeys(("GraphOutput", "StreamPart", "StateSnapshot", "StateUpdate"), "graph_compat.types"),
    },
)


class StreamProtocol:
    """Where the chunks of a stream go; `modes` says which are wanted. A chunk is (namespace, mode, payload)."""

    __slots__ = ("_take", "modes")

    def __init__(self, __call__: Callable[[tuple[tuple[str, ...], str, Any]], None], modes: set[str]) -> None:
        self._take = __call__
        self.modes = modes

    def __call__(self, chunk: tuple[tuple[str, ...], str, Any]) -> None:
        self._take(chunk)
