"""`@task`: a function whose calls, inside a run, are durable.

Outside a run the function simply runs; its retries, its timeout and its cache policy apply, and the
future is done.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from flowfn.context import current_frame, site_of
from flowfn.definition import Definition, InDoubtPolicy, OnCodeChange, OnDivergence, check_options
from flowfn.executors.opening import check_executor, travelling
from flowfn.functional.wrapping import BoundWrapper, Wrapper, defined, rebuild, reference, undecorated, unused
from flowfn.futures import Future
from flowfn.options import refuse_others
from flowfn.policies import CachePolicy, RetryPolicy, TimeoutPolicy, attempt_limit, policies_of

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")

if TYPE_CHECKING:
    from flowfn.caching.task_cache import TaskCache


class Task(Wrapper[P, R]):
    """A function whose calls are durable inside a run. Made by `@task`.

    `func` is the plain function. Calling a task inside a run gives a `Future`, outside one it runs.
    """

    __flowfn__ = "task"

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Itself: a proxy's class is its function's, and whoever pickles functions would ship that alone."""
        return type(self)

    def __init__(self, definition: Definition, function: Any = None) -> None:
        super().__init__(definition.author_function if function is None else function, unused)
        # Not in the class: annotations of its own would hide those of the function.
        self._self_definition: Definition = definition

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        return call_task(self._self_definition, args, kwargs, sys._getframe().f_back)

    @property
    def func(self) -> Callable[P, Any]:
        """The plain function."""
        function: Callable[P, Any] = self._self_definition.author_function
        return function

    @property
    def name(self) -> str:
        """What streams and records call it."""
        return self._self_definition.name

    @property
    def cache(self) -> TaskCache:
        """What is kept of its results: `task.cache.explain(...)`, `task.cache.clear()`."""
        return _cache_of(self._self_definition)

    def map(self, /, *iterables: Iterable[Any], **kwargs: Any) -> list[Future[R]]:
        """Call the task once per item; of several iterables, once per row, until the shortest ends."""
        site = sys._getframe().f_back
        return [call_task(self._self_definition, row, kwargs, site) for row in zip(*iterables, strict=False)]

    def with_options(
        self,
        *,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        cache_policy: CachePolicy | None = None,
        cache: Any = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
        executor: Any = None,
        key: Callable[..., Any] | str | Sequence[str] | None = None,
        ignore: Sequence[str] | None = None,
        version: str | None = None,
        on_code_change: OnCodeChange | None = None,
        on_divergence: OnDivergence | None = None,
        in_doubt: InDoubtPolicy | None = None,
    ) -> Task[P, R]:
        """The same task with other options, for one call or for many; None leaves an option as it is."""
        changes: dict[str, Any] = {
            "retry": None if retry_policy is None else policies_of(retry_policy),
            "cache": cache_policy,
            "place": check_cache(cache),
            "timeout": attempt_limit(timeout),
            "executor": check_executor(executor),
            "key": key,
            "ignore": None if ignore is None else tuple(ignore),
            "version": version,
            "on_code_change": on_code_change,
            "on_divergence": on_divergence,
            "in_doubt": in_doubt,
        }
        given = {name: value for name, value in changes.items() if value is not None}
        definition = self._self_definition.with_options(**given)
        check_options(definition)
        return Task(definition)

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type) -> Task[P, R]: ...
        @overload
        def __get__(self: Task[Concatenate[Any, Q], R], instance: object, owner: type) -> Task[Q, R]: ...
        def __get__(self, instance: Any, owner: type) -> Any: ...

    def __reduce_ex__(self, protocol: Any) -> Any:
        definition = self._self_definition
        if definition.executor is not None:
            definition = definition.with_options(executor=travelling(definition.executor))
        return rebuild, reference(self, Task, definition)

    def __repr__(self) -> str:
        return f"<task {self._self_definition.qualified}>"

    __str__ = __repr__


class BoundTask(BoundWrapper[P, R]):
    """A task taken from an instance or a class, as a method is."""

    __flowfn__ = "task"

    @property
    def _self_definition(self) -> Definition:
        definition: Definition = self._self_parent._self_definition
        return definition

    def _bound(self, args: Sequence[Any]) -> Sequence[Any]:
        owner = getattr(self.__wrapped__, "__self__", None)
        return args if owner is None else (owner, *args)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        return call_task(self._self_definition, self._bound(args), kwargs, sys._getframe().f_back)

    def map(self, /, *iterables: Iterable[Any], **kwargs: Any) -> list[Future[R]]:
        """Call the method once per item; of several iterables, once per row, until the shortest ends."""
        site = sys._getframe().f_back
        rows = zip(*iterables, strict=False)
        return [call_task(self._self_definition, self._bound(row), kwargs, site) for row in rows]

    def with_options(self, **options: Any) -> BoundTask[P, R]:
        """The same method with other options; see `Task.with_options`."""
        task = self._self_parent.with_options(**options)
        bound: BoundTask[P, R] = task.__get__(self._self_instance, type(self._self_instance))
        return bound

    @property
    def cache(self) -> TaskCache:
        """What is kept of the method's results; `explain(...)` and `clear(...)` are about those of this instance."""
        return _cache_of(self._self_definition, self._bound(()))

    @property
    def func(self) -> Callable[P, Any]:
        """The plain bound method."""
        return self.__wrapped__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return getattr, (self._self_instance, self.__wrapped__.__name__)


Task.__bound_function_wrapper__ = BoundTask  # type: ignore[attr-defined]


def _cache_of(definition: Definition, args: Sequence[Any] = ()) -> TaskCache:
    from flowfn.caching.task_cache import TaskCache

    return TaskCache(definition, args)


def check_cache(cache: Any) -> Any:
    """What can be a cache; a path or a URL is opened at the first use.

    Raises:
        InvalidInput: it can't.
    """
    if cache is None:
        return None
    from flowfn.caching.opening import checked

    return checked(cache)


def call_task(
    definition: Definition, args: Sequence[Any], kwargs: dict[str, Any], caller: Any
) -> Future[Any]:
    """Call a task, in a run or outside any."""
    frame = current_frame.get()
    if frame is not None:
        return frame.run.spawn(frame, definition, args, kwargs, site_of(caller))
    from flowfn.functional.outside import call_outside

    return call_outside(definition, args, kwargs)


def _names_of(ignore: Any) -> tuple[str, ...]:
    if isinstance(ignore, str):
        return (ignore,)
    if not isinstance(ignore, Iterable):
        raise TypeError(f"ignore={ignore!r}: name a parameter, or list several")
    return tuple(ignore)


@overload
def task(function: Callable[P, Coroutine[Any, Any, R]], /) -> Task[P, R]: ...
@overload
def task(function: Callable[P, Awaitable[R]], /) -> Task[P, R]: ...
@overload
def task(function: Callable[P, AsyncIterator[S]], /) -> Task[P, list[S]]: ...
@overload
def task(function: Callable[P, Iterator[S]], /) -> Task[P, list[S]]: ...
@overload
def task(function: Callable[P, R], /) -> Task[P, R]: ...
@overload
def task(
    *,
    name: str | None = None,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: CachePolicy | None = None,
    cache: Any = None,
    timeout: float | timedelta | TimeoutPolicy | None = None,
    executor: Any = None,
    key: Callable[..., Any] | str | Sequence[str] | None = None,
    ignore: str | Sequence[str] = (),
    version: str | None = None,
    on_code_change: OnCodeChange = "reuse",
    on_divergence: OnDivergence | None = None,
    in_doubt: InDoubtPolicy = "rerun",
    transaction: Any = None,
) -> _Decorator: ...
def task(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: CachePolicy | None = None,
    cache: Any = None,
    timeout: float | timedelta | TimeoutPolicy | None = None,
    executor: Any = None,
    key: Callable[..., Any] | str | Sequence[str] | None = None,
    ignore: str | Sequence[str] = (),
    version: str | None = None,
    on_code_change: OnCodeChange = "reuse",
    on_divergence: OnDivergence | None = None,
    in_doubt: InDoubtPolicy = "rerun",
    transaction: Any = None,
    **others: Any,
) -> Any:
    """Make a function's calls durable: `@task`, `@task(...)`, or `task(function)`.

    A method's object is an argument like any other. Write `@task` above `@classmethod` or `@staticmethod`: since Python
    3.13 a classmethod doesn't bind a wrapper inside it. A pydantic model accepts tasks as methods if its `model_config`
    has `"ignored_types": (flowfn.Task,)`.

    Args:
        name: the name in records and streams; default: module and qualified name. A given name lets the
            function be renamed or moved without losing its records.
        retry_policy: when and how often to try again. Of a list, the first policy that matches the error decides.
        cache_policy: reuse results across runs, threads and processes.
        cache: where results are kept: a cache of `flowfn.caching`, the path of a folder, or a URL. Without
            `cache_policy=` it implies `CachePolicy()`. Default: the entrypoint's `cache=`, else what FLOWFN_CACHE
            names, else this process's memory.
        timeout: seconds (or a `timedelta`) for each attempt. When they have passed, an async function is cancelled and
            a worker process killed; a sync function can't be stopped, and is left behind on its thread.
            `TimeoutPolicy(idle_timeout=30)` is for one that shows that it is alive, by `current().heartbeat()`; not on
            an executor.
        executor: where it runs: a `concurrent.futures.Executor`, "threads", "processes", "dask://host:port" or
            "ray://host:port". Default: the entrypoint's `executor=`, else threads, or the event loop.
        key: what identifies a call instead of all its arguments: a parameter, several, or a function of the
            arguments.
        ignore: parameters that don't count in a call's identity: a connection, a logger, a token.
        version: counts in place of the function's code: as long as it stays the same, the code counts as unchanged.
        on_code_change: what to do with a recorded result whose code has changed since: "reuse" (default,
            reported), "rerun" or "error".
        on_divergence: overrides the entrypoint's for calls of this task.
        in_doubt: what to do with a call that had started and not finished when the process died: it runs again
            ("rerun", default), a human is asked ("ask"), or a function decides: it gets an `InDoubt`, and returns
            `Done(value)` or `NotDone()`. Under the last two the start of each call costs a commit of its own.
        transaction: the database that the function writes to: a path (SQLite), a URL (Postgres too), or a function
            that opens a connection of sqlite3 or psycopg. The parameter `transaction` gets the connection, with a
            transaction begun. What the function writes and the fact that the call is done are committed together,
            exactly once.

    Raises:
        TypeError: an option doesn't fit the function, or there is no such option.
        InvalidInput: `cache=` is no cache, or `executor=` no executor.
        ValueError: a timeout that isn't positive.
    """
    refuse_others("task()", others, task.__kwdefaults__)
    options: dict[str, Any] = {
        "retry": policies_of(retry_policy),
        "cache": CachePolicy() if cache_policy is None and cache is not None else cache_policy,
        "place": check_cache(cache),
        "timeout": attempt_limit(timeout),
        "executor": check_executor(executor),
        "key": key,
        "ignore": _names_of(ignore),
        "version": version,
        "on_code_change": on_code_change,
        "on_divergence": on_divergence,
        "in_doubt": in_doubt,
        "transaction": transaction,
    }

    def decorate(function: Any) -> Any:
        return Task(defined(undecorated(function), name=name, **options), function)

    return decorate if function is None else decorate(function)


if TYPE_CHECKING:

    class _Decorator:
        @overload
        def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Task[P, R]: ...
        @overload
        def __call__(self, function: Callable[P, Awaitable[R]], /) -> Task[P, R]: ...
        @overload
        def __call__(self, function: Callable[P, AsyncIterator[S]], /) -> Task[P, list[S]]: ...
        @overload
        def __call__(self, function: Callable[P, Iterator[S]], /) -> Task[P, list[S]]: ...
        @overload
        def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...
        def __call__(self, function: Any, /) -> Any: ...
