"""Names that LangGraph has and graph_compat leaves out on purpose: reaching for one says so, with the reason.

Rule: importing such a name fails; but what other libraries only name (to inherit from, to check with `isinstance`)
can be imported, and fails where somebody makes one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

SERVER: Final = "the hosted server is not supported: run the graph in this process"


class LeftOutError(NotImplementedError, ImportError):
    """A name of LangGraph's was asked for that graph_compat leaves out."""


def left_out(module: str, reasons: dict[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for a module without the names in `reasons`.

    It raises:
        LeftOutError: the name is left out.
        AttributeError: LangGraph's module has no such name either.
    """

    def missing(name: str) -> Any:
        if name in reasons:
            raise LeftOutError(f"{module}.{name} is left out: {reasons[name]}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return missing


def stand_in(module: str, name: str, reason: str) -> Any:
    """A class that can be named, and of which nobody can make an instance."""

    def refuse(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        raise LeftOutError(f"{module}.{name} is left out: {reason}")

    return type(name, (), {"__new__": refuse, "__module__": module, "__doc__": f"Left out: {reason}."})
