"""`@entrypoint`: a function as a workflow, which can be called, resumed and inspected."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from flowfn.config import Durability, OnBusy
from flowfn.definition import Definition, OnDivergence
from flowfn.executors.opening import check_executor, travelling
from flowfn.functional.final import final as _Final
from flowfn.functional.task import check_cache
from flowfn.functional.wrapping import (
    Wrapper,
    defined,
    is_class_method,
    plain,
    rebuild,
    reference,
    runnable,
    undecorated,
    unused,
)
from flowfn.options import check_option, refuse_others
from flowfn.policies import CachePolicy, RetryPolicy, policies_of, timeout_seconds
from flowfn.ports import Begin, Saver, ThreadRow
from flowfn.workflow import ENGINE, Workflow

if TYPE_CHECKING:
    from flowfn.drawing.graph import Graph
    from flowfn.functional.calling import Calls
    from flowfn.invocation import Setup

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")


_NEEDED = (*ENGINE, "flowfn.functional.calling")
"""The modules that calls load."""


class Entrypoint(Wrapper[P, R], Workflow[P, R]):
    """A workflow that is called as its function is. Made by `@entrypoint`.

    A direct call runs to the end and returns the result. With a checkpointer it continues an unfinished run of the
    very same call, if no live process holds one (one log line says so), and else starts a new thread. The call of a
    method is the same only if its object was made with the same arguments, and so it is with a function that a factory
    made. A run on a thread that had runs before, or that is a fork, is continued only by calls that name the thread.
    Inside another run the call is a part of that run.
    """

    __flowfn__ = "workflow"

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Itself; see `Task.__class__`."""
        return type(self)

    def __init__(self, function: Any, definition: Definition, options: Mapping[str, Any]) -> None:
        super().__init__(function, unused)
        self._self_definition = definition
        self._self_options = dict(options)
        self._self_made: Calls | None = None

    @property
    def _self_calls(self) -> Calls:
        """What calls of it are made of, at its first use."""
        if self._self_made is None:
            from flowfn.functional.calling import Calls

            self._self_made = Calls(self._self_definition, self._self_options)
        return self._self_made

    @property
    def _self_setup(self) -> Setup:
        return self._self_calls.setup

    @property
    def _is_awaited(self) -> bool:
        return self._self_definition.is_async

    def _needed(self) -> tuple[str, ...]:
        return _NEEDED

    def _refuse_others(self, others: dict[str, Any]) -> None:
        named = [each.name for each in self._self_definition.parameters.of_caller]
        if not set(named).isdisjoint(others):
            given = "…" if len(named) == 1 else "{" + ", ".join(f"{name!r}: …" for name in named) + "}"
            raise TypeError(
                f"a call of {self._self_setup.name!r} got its arguments by name: write invoke({given}), as they "
                "are one input, or call it as the function"
            )
        super()._refuse_others(others)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        workflow: Any = self
        given: tuple[Any, ...] = args
        if given and isinstance(given[0], type) and is_class_method(self, given[0]):
            workflow, given = self.__get__(given[0]), given[1:]
        result: R = workflow._self_calls.call(given, kwargs, sys._getframe().f_back)
        return result

    def _call_on(
        self, thread: str, args: Sequence[Any], kwargs: dict[str, Any], *, once: bool = False
    ) -> Any:
        return self._self_calls.call_on(thread, args, kwargs, once=once)

    def with_checkpointer(self, checkpointer: Any) -> Entrypoint[P, R]:
        """The same workflow, keeping its runs elsewhere: in a saver, a path, a URL, or (None) nowhere."""
        check_checkpointer(checkpointer)
        options = {**self._self_options, "checkpointer": checkpointer}
        return Entrypoint(self.__wrapped__, self._self_definition, options)

    def with_executor(self, executor: Any) -> Entrypoint[P, R]:
        """The same workflow, whose tasks run elsewhere: on an executor, or one that is named; see `entrypoint`."""
        options = {**self._self_options, "executor": check_executor(executor)}
        return Entrypoint(self.__wrapped__, self._self_definition, options)

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Entrypoint[P, R]: ...
    @overload
    def __get__(
        self: Entrypoint[Concatenate[Any, Q], R], instance: object, owner: type | None = None
    ) -> Entrypoint[Q, R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """The workflow of a method: bound as the method is, so that the instance is no part of its input."""
        bound = self.__wrapped__.__get__(instance, owner)
        if bound is self.__wrapped__:
            return self
        return Entrypoint(bound, runnable(self._self_definition, bound), self._self_options)

    def _is_of(self, row: ThreadRow) -> bool:
        return self._self_calls.shape.is_of(Begin(row.workflow, row.call))

    def get_graph(self, config: Any = None, *, xray: int | bool = False) -> Graph:
        """What the workflow may do, read from its source: a node for each call of a task, a workflow or `interrupt`.

        Args:
            xray: draw the calls inside tasks and child workflows too: all, or so many levels of them.
        """
        from flowfn.drawing.sketch import sketch

        return sketch(self, self._self_definition.name, self.func, xray)

    async def aget_graph(self, config: Any = None, *, xray: int | bool = False) -> Graph:
        """`get_graph` for asyncio."""
        return self.get_graph(config, xray=xray)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """What a notebook shows."""
        return {**self.get_graph()._repr_mimebundle_(), "text/plain": repr(self)}

    @property
    def func(self) -> Callable[P, Any]:
        """The plain function."""
        function: Callable[P, Any] = self._self_definition.author_function
        return function

    def __reduce_ex__(self, protocol: Any) -> Any:
        options = {**self._self_options, "executor": travelling(self._self_options["executor"])}
        return rebuild, reference(
            self, Entrypoint, self._self_definition.author_function, self._self_definition, options
        )

    def __repr__(self) -> str:
        return f"<entrypoint {self._self_definition.qualified}>"

    __str__ = __repr__


def check_checkpointer(checkpointer: Any) -> None:
    """Refuse what can't be a checkpointer; a path or a URL is opened later, at the first run.

    Raises:
        TypeError: says what can.
    """
    if (
        checkpointer is None
        or (isinstance(checkpointer, str | os.PathLike | Saver) and checkpointer != "")
        or _is_of_langgraph(checkpointer)
    ):
        return
    raise TypeError(
        f'checkpointer={checkpointer!r} is not a checkpointer. Pass a saver, a path such as "runs.db", or a URL such '
        'as "sqlite:///runs.db" or "memory://".'
    )


def check_store(store: Any) -> Any:
    """What can be a store; a path or a URL is opened at the first call.

    Raises:
        InvalidInput: it can't.
    """
    if store is None:
        return None
    from flowfn.stores.opening import checked_store

    return checked_store(store)


def _is_of_langgraph(saver: Any) -> bool:
    """Whether it has the methods of LangGraph's savers, blocking ones or asyncio's."""
    named = any(hasattr(saver, name) for name in ("get_tuple", "aget_tuple"))
    return named and not isinstance(saver, type)


class entrypoint:
    """Make a function a workflow: `@entrypoint`, or `@entrypoint(checkpointer="runs.db")`.

    Any signature will do. Write `@entrypoint` above `@classmethod`: since Python 3.13 a classmethod doesn't bind a
    wrapper inside it, and only a direct call can still tell its class. The parameters `previous`, `config`, `runtime`,
    `store` and `writer` are filled where the function names them.

    Args:
        checkpointer: where runs are kept: a saver of flowfn's or of LangGraph's, a path (SQLite), or a URL.
            None keeps nothing. A path or a URL is opened by the first call, and stays open as long as the
            workflow exists. A relative path is one from the folder that the process is in when it calls.
        store: long-term memory, which functions get as their parameter `store`: a store of `flowfn.stores`, a
            path (SQLite), a URL, or an object of your own.
        cache: where tasks with a cache policy keep results: a cache of `flowfn.caching`, the path of a folder, or a
            URL. Default: what FLOWFN_CACHE names, else this process's memory.
        context_schema: the type of `context=`; a mapping that is given as context is converted to it.
        cache_policy: reuse whole results of this workflow, called directly or inside another run.
        retry_policy: for the workflow, and for each task that has none of its own. A task that has used up its
            attempts fails the workflow's attempt, which may then be retried in turn.
        timeout: seconds (or a `timedelta`) for one attempt at the whole function.
        executor: where tasks run that have no `executor=` of their own: a `concurrent.futures.Executor`,
            "processes", "dask://host:port" or "ray://host:port". Default: "threads", or the event loop. The config
            of a run may name another: `{"executor": …}`.
        durability: when an outcome is committed: "sync" before anybody sees it, "async" in the background,
            "exit" when the run ends, fails or waits.
        on_busy: what a second caller on a busy thread does: wait ("wait"), raise `ThreadBusy` ("reject"), or
            cancel the first one's run and take over ("cancel").
        on_divergence: what to do with a call that differs from its record only in something random: refuse
            ("doubt"), run it ("rerun"), or take the record by position ("reuse"); "error" refuses every new
            call while a recorded one of its name is left.
        progress: show each run as a live tree of its calls, on stderr where that is a terminal, or in a
            notebook (extra `cli`); elsewhere nothing. For one call: `config={"progress": True}`.
        name: the name in records; default: module and qualified name. Of one that was renamed or moved give the old
            name, so that what it left unfinished goes on.

    Raises:
        TypeError: what is decorated is no function, `checkpointer=` can't be one, or there is no such option.
        InvalidInput: `cache=` is no cache, `store=` no store, or `executor=` no executor.
    """

    # Imported here, and under its own name: only so do mypy and pyright both take `entrypoint.final[V, S]` for a type.
    from flowfn.functional.final import final as final

    # What mypy doesn't like is that no call makes an instance: it makes a workflow, or a decorator.
    @overload
    def __new__(  # type: ignore[misc]
        cls, function: Callable[P, Coroutine[Any, Any, _Final[R, Any]]], /
    ) -> Entrypoint[P, Coroutine[Any, Any, R]]: ...
    @overload
    def __new__(cls, function: Callable[P, _Final[R, Any]], /) -> Entrypoint[P, R]: ...  # type: ignore[misc]
    @overload
    def __new__(cls, function: Callable[P, R], /) -> Entrypoint[P, R]: ...  # type: ignore[misc]
    @overload
    def __new__(  # type: ignore[misc]
        cls,
        /,
        *,
        checkpointer: Any = None,
        store: Any = None,
        cache: Any = None,
        context_schema: type[Any] | None = None,
        cache_policy: CachePolicy | None = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        timeout: float | timedelta | None = None,
        executor: Any = None,
        durability: Durability = "sync",
        on_busy: OnBusy = "wait",
        on_divergence: OnDivergence = "doubt",
        progress: bool = False,
        name: str | None = None,
    ) -> _EntrypointDecorator: ...
    def __new__(
        cls,
        function: Any = None,
        /,
        *,
        checkpointer: Any = None,
        store: Any = None,
        cache: Any = None,
        context_schema: type[Any] | None = None,
        cache_policy: CachePolicy | None = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        timeout: float | timedelta | None = None,
        executor: Any = None,
        durability: Durability = "sync",
        on_busy: OnBusy = "wait",
        on_divergence: OnDivergence = "doubt",
        progress: bool = False,
        name: str | None = None,
        **others: Any,
    ) -> Any:
        refuse_others("entrypoint()", others, cls.__new__.__kwdefaults__)
        options = {
            "checkpointer": checkpointer,
            "store": check_store(store),
            "cache": check_cache(cache),
            "executor": check_executor(executor),
            "durability": durability,
            "on_busy": on_busy,
            "on_divergence": on_divergence,
            "context_schema": context_schema,
            "progress": progress,
        }

        check_checkpointer(checkpointer)

        def decorate(function: Any) -> Any:
            definition = defined(
                undecorated(function),
                name=name,
                retry=policies_of(retry_policy),
                cache=cache_policy,
                timeout=timeout_seconds(timeout),
            )
            return Entrypoint(function, definition, options)

        check_option("durability", durability, Durability)
        check_option("on_busy", on_busy, OnBusy)
        check_option("on_divergence", on_divergence, OnDivergence)

        if function is None:
            return decorate
        if not (callable(plain(function)) or isinstance(function, property)):
            raise TypeError(f"@entrypoint got {function!r}: write @entrypoint(checkpointer={function!r})")
        return decorate(function)


if TYPE_CHECKING:

    class _EntrypointDecorator:
        @overload
        def __call__(
            self, function: Callable[P, Coroutine[Any, Any, _Final[R, Any]]], /
        ) -> Entrypoint[P, Coroutine[Any, Any, R]]: ...
        @overload
        def __call__(self, function: Callable[P, _Final[R, Any]], /) -> Entrypoint[P, R]: ...
        @overload
        def __call__(self, function: Callable[P, R], /) -> Entrypoint[P, R]: ...
        def __call__(self, function: Any, /) -> Any: ...


entrypoint.__new__.__qualname__ = "entrypoint"
"""How Python's own errors about its arguments name it."""

__all__ = ["Entrypoint", "entrypoint"]
