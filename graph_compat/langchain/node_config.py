"""The configuration that LangChain's code finds in a node that nobody listens to.

Rule: most nodes call nothing of LangChain's, so it is worked out when something first looks at it. Who is handed it
finds a dict, whichever way it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import TYPE_CHECKING, Any

from graph_compat.injection import nobody_at, unheard_config_of

if TYPE_CHECKING:
    from contextvars import ContextVar

    from flowfn.context import Frame


@cache
def var_child_runnable_config() -> ContextVar[Any]:
    """LangChain's variable, in which its code looks for the configuration around it."""
    from langchain_core.runnables import config

    return config.var_child_runnable_config


class NodeConfig(dict[str, Any]):
    """A node's configuration with nobody's callbacks, filled at the first look."""

    __slots__ = ("_frame",)

    def __init__(self, frame: Frame) -> None:
        super().__init__()
        self._frame: Frame | None = frame

    def _fill(self) -> None:
        """Work it out; two threads may, and find the same."""
        frame = self._frame
        if frame is not None:
            config = unheard_config_of(frame)
            dict.update(self, config, callbacks=nobody_at(frame, config))
            self._frame = None


def _filled_first(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: NodeConfig, *args: Any, **kwargs: Any) -> Any:
        self._fill()
        return method(self, *args, **kwargs)

    return call


for _name, _method in vars(dict).items():
    if callable(_method) and _name not in (
        "__init__",
        "__new__",
        "__getattribute__",
        "__class_getitem__",
        "fromkeys",
    ):
        setattr(NodeConfig, _name, _filled_first(_method))
"""Also what reads a dict without a method of it, such as `{**config}`, asks a subclass that has its own."""
