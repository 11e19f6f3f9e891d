"""The functional API: workflows that are functions, and the tasks that they call.

An entrypoint is a graph of one node, with an input, a result, and what its next call sees as `previous`.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import flowfn
from flowfn.policies import CachePolicy, RetryPolicy, TimeoutPolicy
from flowfn.pregel import Channel, Result
from flowfn.python.annotations import signature_of
from flowfn.python.lazy import lend
from graph_compat.channels import EphemeralValue, LastValue
from graph_compat.constants import END, PREVIOUS, START
from graph_compat.func.tasks import task
from graph_compat.graph.action import name_of
from graph_compat.injection import body_of
from graph_compat.pregel import Pregel
from graph_compat.pregel.builder import PregelNode
from graph_compat.warnings import LangGraphDeprecatedSinceV10, renamed

if TYPE_CHECKING:
    from graph_compat.cache.base import BaseCache as BaseCache
    from graph_compat.checkpoint.base import BaseCheckpointSaver as BaseCheckpointSaver
    from graph_compat.store.base import BaseStore as BaseStore

__all__ = ["entrypoint", "task"]

R = TypeVar("R")
S = TypeVar("S")


# What programs also import from here.
lend(
    __name__,
    {
        "BaseCache": "graph_compat.cache.base",
        "BaseCheckpointSaver": "graph_compat.checkpoint.base",
        "BaseStore": "graph_compat.store.base",
    },
)


class entrypoint:
    """Makes a graph of a function: `@entrypoint()`, always called. The interface is LangGraph's.

    The function's first parameter is the input; `config`, `previous`, `runtime`, `store` and `writer` are
    filled where it names them. Tasks that it calls are durable.

    Args:
        checkpointer: where its threads are kept: a saver, a path or a URL.
        store: what the function sees as `store`.
        cache: where tasks with a cache policy keep results.
        context_schema: the type of `context=`.
        cache_policy: keep the result of the whole call.
        retry_policy: of the function, and of tasks that have none of their own.
        timeout: seconds, for an async function.

    Raises:
        NotImplementedError: what is decorated is a generator function.
        ValueError: it has no parameter, or a timeout and isn't async.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class final(flowfn.final[R, S]):
        """Return `value` to the caller and save `save` as what the next call sees as `previous`."""

        value: R
        save: S

    def __init__(
        self,
        checkpointer: Any = None,
        store: Any = None,
        cache: Any = None,
        context_schema: type[Any] | None = None,
        cache_policy: CachePolicy | None = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
        **deprecated: Any,
    ) -> None:
        self.checkpointer = checkpointer
        self.store = store
        self.cache = cache
        self.context_schema = renamed(
            deprecated, "config_schema", "context_schema", context_schema, LangGraphDeprecatedSinceV10
        )
        self.cache_policy = cache_policy
        self.retry_policy = renamed(deprecated, "retry", "retry_policy", retry_policy)
        self.timeout = TimeoutPolicy.coerce(timeout)
        for unknown in deprecated:
            raise TypeError(f"entrypoint() got an unexpected keyword argument {unknown!r}")

    def __call__(self, func: Callable[..., Any]) -> Pregel[Any, Any, Any, Any]:
        """The graph of a function."""
        name = name_of(func) or "entrypoint"
        given, result, saved = _types(func)
        node = PregelNode(
            channels=START,
            triggers=(START,),
            actions=(func,),
            writes=((END, _returned), (PREVIOUS, _kept)),
            timeout=self.timeout,
            is_program=True,
        )
        return Pregel(
            nodes={name: node},
            channels={START: EphemeralValue(given), END: _Result(result), PREVIOUS: LastValue(saved)},
            input_channels=START,
            output_channels=END,
            stream_channels=END,
            stream_mode="updates",
            checkpointer=self.checkpointer,
            store=self.store,
            cache=self.cache,
            context_schema=self.context_schema,
            cache_policy=self.cache_policy,
            retry_policy=self.retry_policy or (),
        )


class _Result(LastValue[Any]):
    """The result: decoded only if somebody reads it, since the next call replaces it."""

    __slots__ = ()
    rule: Channel = Result()


def _returned(value: Any) -> Any:
    return value.value if isinstance(value, flowfn.final) else value


def _kept(value: Any) -> Any:
    return value.save if isinstance(value, flowfn.final) else value


def _types(func: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """What a function takes, returns, and saves, as far as its annotations say.

    Raises:
        NotImplementedError, ValueError: it can't be an entrypoint.
    """
    body = body_of(func)
    if inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
        raise NotImplementedError(
            "Generators are not supported in the Functional API. Write to the stream with get_stream_writer()"
        )
    parameters = list(signature_of(func).parameters)
    if not parameters:
        raise ValueError("Entrypoint function must have at least one parameter. The first one is its input")
    try:
        hints = typing.get_type_hints(body)
    except Exception:
        hints = {}
    result = saved = hints.get("return", Any)
    if result is entrypoint.final:
        result = saved = Any
    elif typing.get_origin(result) is entrypoint.final:
        result, saved = typing.get_args(result)
    return hints.get(parameters[0], Any), result, saved
