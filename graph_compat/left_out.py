"""Names that LangGraph has and graph_compat leaves out on purpose: reaching for one says so, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

EVENTS: Final = "stream events v3 are not supported: use stream() with the stream mode that shows it"
SERVER: Final = "the hosted server is not supported: run the graph in this process"
NO_RUNNABLES: Final = "graph_compat runs functions without LangChain's runnables: pass the function itself"


def left_out(module: str, reasons: dict[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for a module without the names in `reasons`.

    It raises:
        NotImplementedError: the name is left out.
        AttributeError: LangGraph's module has no such name either.
    """

    def missing(name: str) -> Any:
        if name in reasons:
            raise NotImplementedError(f"{module}.{name} is left out: {reasons[name]}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return missing
