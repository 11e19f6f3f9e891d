"""Functions as runnables: what libraries wrap a node's blocking and asyncio form in.

Rule: a parameter that a node's function could ask for is filled, from the given configuration or from the node around.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs, var_child_runnable_config

from flowfn.config import RECURSION_LIMIT
from flowfn.context import current_frame
from graph_compat.injection import Wanted, filled, is_coroutine_function, wanted_by

__all__ = ["RunnableCallable"]


class RunnableCallable(Runnable[Any, Any]):
    """A function as a runnable, in a blocking form, an asyncio form, or both.

    Args:
        func: the blocking form; one that has to be awaited counts as `afunc`.
        afunc: the asyncio form; without it `func` runs in a thread.
        name: the name in traces; default: the function's.
        tags: for callbacks.
        trace: whether callbacks are told of its runs.
        recurse: whether a runnable that it returns is invoked in its place.
        explode_args: whether its input is a pair of positional and keyword arguments.
        kwargs: more keyword arguments of every call.

    Raises:
        ValueError: neither form is given.
    """

    def __init__(
        self,
        func: Callable[..., Any] | None,
        afunc: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        tags: Sequence[str] | None = None,
        trace: bool = True,
        recurse: bool = True,
        explode_args: bool = False,
        **kwargs: Any,
    ) -> None:
        if func is not None and is_coroutine_function(func):
            func, afunc = None, afunc or func
        self.name = name or getattr(func or afunc, "__name__", type(self).__name__)
        self.func = func
        self.afunc = afunc
        self.tags = tags
        self.trace = trace
        self.recurse = recurse
        self.explode_args = explode_args
        self.kwargs = kwargs
        if func is None and afunc is None:
            raise ValueError("At least one of func or afunc must be provided")
        self._wanted = () if func is None else wanted_by(func)
        self._awanted = () if afunc is None else wanted_by(afunc)

    @property
    def only_blocks(self) -> bool:
        """Whether nothing in it is awaited: it is a function that blocks, and what that returns is the value."""
        return self.afunc is None and type(self).ainvoke is RunnableCallable.ainvoke

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """What the function returns.

        Raises:
            TypeError: it has to be awaited.
        """
        if self.func is None:
            raise TypeError(
                f'No synchronous function provided to "{self.name}".\nEither initialize with a synchronous function or'
                " invoke via the async API (ainvoke, astream, etc.)"
            )
        config = _limited(config)
        if self.trace:
            called: Callable[..., Any] = self._called
            return self._call_with_config(called, input, self._tagged(config), **kwargs)
        config = ensure_config(config)
        with _around(config):
            return self._called(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """`invoke` for asyncio."""
        config = _limited(config)
        if self.trace:
            called: Callable[..., Awaitable[Any]] = self._acalled
            return await self._acall_with_config(called, input, self._tagged(config), **kwargs)
        config = ensure_config(config)
        with _around(config):
            return await self._acalled(input, config, **kwargs)

    def _called(self, input: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        assert self.func is not None
        arguments, named = self._arguments(self._wanted, input, config, kwargs)
        value = self.func(*arguments, **named)
        return value.invoke(input, config) if self.recurse and isinstance(value, Runnable) else value

    async def _acalled(self, input: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        if self.afunc is None:
            from flowfn.hosts.on_thread import on_thread

            return await on_thread(self._called, input, config, **kwargs)
        arguments, named = self._arguments(self._awanted, input, config, kwargs)
        value = await self.afunc(*arguments, **named)
        return await value.ainvoke(input, config) if self.recurse and isinstance(value, Runnable) else value

    def _arguments(
        self, wanted: tuple[Wanted, ...], input: Any, config: RunnableConfig, given: Mapping[str, Any]
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """The arguments of a call: the input's, those that were given, and those that the function asks for."""
        arguments, named = input if self.explode_args else ((input,), {})
        named = {**self.kwargs, **named, **given}
        missing = tuple(want for want in wanted if want.name not in named)
        if any(want.name == "config" for want in missing):
            # As a plain function of a node, it isn't told of a limit that nobody said.
            named["config"] = {
                key: value
                for key, value in config.items()
                if (key, value) != ("recursion_limit", RECURSION_LIMIT)
            }
        others = tuple(want for want in missing if want.name != "config")
        frame = current_frame.get()
        found = _alone(others) if frame is None else filled(frame, others)
        return arguments, {**named, **found}

    def _tagged(self, config: RunnableConfig) -> RunnableConfig:
        return merge_configs({"tags": list(self.tags)}, config) if self.tags else config


def _limited(config: RunnableConfig | None) -> RunnableConfig:
    """A configuration with a graph's limit where nobody said another: LangChain's own, of 25, is for chains."""
    around = var_child_runnable_config.get() or {}
    unsaid = "recursion_limit" not in {**around, **(config or {})}
    return {**(config or {}), "recursion_limit": RECURSION_LIMIT} if unsaid else config or {}


def _alone(wanted: Sequence[Wanted]) -> dict[str, Any]:
    """What a function is given outside of any node: defaults, and a writer that nobody reads."""
    return {want.name: _unread if want.name == "writer" else want.default for want in wanted}


def _unread(chunk: Any) -> None:
    """Write a chunk to no stream."""


class ShownCallable(RunnableCallable):
    """The function of a compiled node, shown as what it is in LangGraph; no run uses it, so no other can be set."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("func", "afunc") and name in self.__dict__:
            raise AttributeError(
                f"{name!r} of a compiled node's function can't be set: set nodes[…].bound instead"
            )
        super().__setattr__(name, value)


ShownCallable.__name__ = ShownCallable.__qualname__ = "RunnableCallable"


@contextmanager
def _around(config: RunnableConfig) -> Iterator[None]:
    """Have a configuration be that of the runnables which the body calls."""
    token = var_child_runnable_config.set(config)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)
