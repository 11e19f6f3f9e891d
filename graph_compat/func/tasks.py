"""`@task`: flowfn's, with LangGraph's arguments, and refused outside a graph as there."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from functools import partial, wraps
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from flowfn import Future, Task
from flowfn.definition import Definition
from flowfn.errors import AsyncInBlockingRun
from flowfn.functional.task import call_task
from flowfn.functional.wrapping import defined, plain
from flowfn.policies import CachePolicy, RetryPolicy, TimeoutPolicy, policies_of
from graph_compat.blocking import blocking
from graph_compat.cache.port import port_of
from graph_compat.injection import Wanted, filled, frame_here, is_coroutine_function, wanted_by
from graph_compat.langchain.node_runs import NodeRun, task_run
from graph_compat.warnings import renamed

P = ParamSpec("P")
R = TypeVar("R")


class TaskFunction(Task[P, R]):
    """A function whose calls inside a graph are durable. Made by `@task`; calling it gives a future."""

    _self_stub = None
    """What a test has set as `func`, and the definition of the author's function."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        frame_here()
        try:
            return call_task(self._self_definition, args, kwargs, sys._getframe().f_back)
        except AsyncInBlockingRun as error:
            raise RuntimeError(f"In an sync context async tasks cannot be called. {error}") from None

    @property
    def func(self) -> Callable[P, Any]:
        """The plain function, or what a test has set in its place: that is called then, in a run as well, and nothing
        of it is kept in a cache. Calls are named and matched as before.
        """
        return super().func if self._self_stub is None else self._self_stub[0]

    @func.setter
    def func(self, function: Callable[..., Any]) -> None:
        authors = self._self_definition if self._self_stub is None else self._self_stub[1]
        if function is authors.author_function:
            self._self_definition, self._self_stub = authors, None
        else:
            self._self_definition, self._self_stub = _replaced(authors, function), (function, authors)

    @func.deleter
    def func(self) -> None:
        self.func = self.__wrapped__

    @property
    def retry_policy(self) -> Sequence[RetryPolicy]:
        """When it is tried again."""
        return self._self_definition.retry

    @property
    def cache_policy(self) -> CachePolicy | None:
        """Whether its results are kept across runs."""
        return self._self_definition.cache

    @property
    def timeout(self) -> TimeoutPolicy | None:
        """How long an attempt may take."""
        return TimeoutPolicy.coerce(self._self_definition.timeout)

    def clear_cache(self, cache: Any) -> None:
        """Forget what the task has kept in a cache."""
        self._clear(port_of(cache))

    async def aclear_cache(self, cache: Any) -> None:
        """`clear_cache` for asyncio."""
        import asyncio

        await asyncio.to_thread(self._clear, port_of(cache))

    def _clear(self, cache: Any) -> None:
        cache.clear(f"{self._self_definition.qualified}:")


@overload
def task(function: Callable[P, Awaitable[R]], /) -> TaskFunction[P, R]: ...
@overload
def task(function: Callable[P, R], /) -> TaskFunction[P, R]: ...
@overload
def task(
    __func_or_none__: None = None,
    *,
    name: str | None = None,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: CachePolicy | None = None,
    timeout: float | timedelta | TimeoutPolicy | None = None,
    **deprecated: Any,
) -> _Decorator: ...
def task(
    __func_or_none__: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: CachePolicy | None = None,
    timeout: float | timedelta | TimeoutPolicy | None = None,
    **deprecated: Any,
) -> Any:
    """Make a function's calls durable inside a graph: `@task`, or `@task(...)`.

    Args:
        name: the name in streams and records; default: the function's.
        retry_policy: when and how often to try again; of several the first counts that fits.
        cache_policy: reuse results across runs, kept in the graph's cache.
        timeout: seconds per attempt, for an async function.

    Raises:
        ValueError: a timeout, and a function that isn't async.
    """
    policy = renamed(deprecated, "retry", "retry_policy", retry_policy)
    for unknown in deprecated:
        raise TypeError(f"task() got an unexpected keyword argument {unknown!r}")

    def decorate(function: Callable[..., Any]) -> TaskFunction[Any, Any]:
        definition = defined(
            plain(function), name=name, retry=policies_of(policy), cache=cache_policy, timeout=_limit(timeout)
        )
        if timeout is not None and not definition.is_async:
            raise ValueError(
                "Node timeouts are only supported for async nodes because sync Python execution cannot be safely"
                f" cancelled in-process. Task '{definition.name}' is sync."
            )
        return TaskFunction(_told(_filling(definition)), function)

    return decorate if __func_or_none__ is None else decorate(__func_or_none__)


class _Decorator(Protocol):
    @overload
    def __call__(self, function: Callable[P, Awaitable[R]], /) -> TaskFunction[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> TaskFunction[P, R]: ...


def _limit(timeout: float | timedelta | TimeoutPolicy | None) -> Any:
    """A timeout as a definition has it: seconds, where that says all."""
    policy = TimeoutPolicy.coerce(timeout)
    return policy if policy is not None and policy.idle_timeout is not None else policy and policy.run_timeout


def _replaced(authors: Definition, function: Callable[..., Any]) -> Definition:
    """The definition of a task for which something else is called."""
    is_async = is_coroutine_function(function)
    called = authors.with_options(
        function=function,
        stands_for=authors.author_function,
        is_async=is_async,
        is_generator=False,
        injects=False,
        cache=None,
        timeout=authors.timeout if is_async else None,
    )
    return _told(_filling(called, wanted_by(function)))


def _filling(definition: Definition, asked: Iterable[Wanted] | None = None) -> Definition:
    """The definition of a function whose `config`, `runtime` and such are a graph's."""
    if asked is None:
        asked = (
            want
            for want in wanted_by(definition.author_function)
            if want.name in definition.parameters.injected
        )
    wanted = list(asked)
    if not wanted:
        return definition
    function = definition.function

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = definition.parameters.bind(args, kwargs)
        missing = tuple(want for want in wanted if want.name not in bound)
        return function(*args, **kwargs, **filled(frame_here(), missing))

    return definition.with_options(function=call, stands_for=definition.author_function, injects=False)


def _told(definition: Definition) -> Definition:
    """The definition of a function whose calls LangChain's callbacks are told of, where anybody listens."""
    function = definition.function

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        run = task_run(frame_here(), partial(_inputs, definition, args, kwargs), on_loop=False)
        if run is None:
            return function(*args, **kwargs)
        return blocking(_watched(run, partial(function, *args, **kwargs), awaits=False))

    @wraps(function)
    async def call_on_loop(*args: Any, **kwargs: Any) -> Any:
        run = task_run(frame_here(), partial(_inputs, definition, args, kwargs), on_loop=True)
        if run is None:
            return await function(*args, **kwargs)
        return await _watched(run, partial(function, *args, **kwargs), awaits=True)

    told = call_on_loop if definition.is_async else call
    return definition.with_options(function=told, stands_for=definition.author_function)


async def _watched(
    run: AbstractAsyncContextManager[NodeRun], call: Callable[[], Any], *, awaits: bool
) -> Any:
    async with run as watched:
        watched.value = await call() if awaits else call()
        return watched.value


def _inputs(definition: Definition, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What a call was given, by parameter, defaults included: not its object, nor what is filled in."""
    bound = definition.parameters.signature.bind_partial(*args, **kwargs)
    given = bound.arguments.keys()
    bound.apply_defaults()
    found: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        if bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            found |= value
        elif name != "self" and (name in given or name not in definition.parameters.injected):
            found[name] = value
    return found
