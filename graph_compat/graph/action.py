"""What a node runs: a function, an object that can be called or invoked, or another graph.

Rule: an action has a blocking form, an asyncio form, or both; which one a run uses is decided by its caller. A
generator's value is what it yields, added up.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterator
from copyreg import __newobj__  # type: ignore[attr-defined]
from dataclasses import dataclass
from functools import lru_cache, partial
from types import CellType, CodeType, FunctionType
from typing import Any, Literal, Protocol, runtime_checkable

from flowfn.python.cached_property import cached_property
from flowfn.workflow import Workflow
from graph_compat.blocking import blocking
from graph_compat.injection import body_of, caller, is_coroutine_function
from graph_compat.langchain import is_loaded, is_of_langchain
from graph_compat.langchain.invoking import (
    aadded_up,
    added_up,
    awaits_itself,
    config_here,
    invoked,
    steps_of,
)
from graph_compat.runtime import Runtime
from graph_compat.typing import ContextT, NodeInputT

Form = Callable[[Any], Any]

StateNode = Callable[[NodeInputT], Any] | Callable[[NodeInputT, Runtime[ContextT]], Any]
"""What a program gives as a node, for its annotations."""


@dataclass(frozen=True)
class Action:
    """A node's or a branch's function, in the forms that it has; `source` is what its author gave."""

    source: Any
    name: str
    blocking: Form | None
    awaited: Form | None

    def __reduce__(self) -> tuple[Any, ...]:
        """Made anew of its source: its forms are functions of no module."""
        if self.source is None:
            return __newobj__, (type(self),), vars(self)
        asks = isinstance(self.blocking, partial) and self.blocking.func is _ask
        return (router_of if asks else action_of), (self.source, self.name)

    @cached_property
    def graph(self) -> Workflow[Any, Any] | None:
        """The graph that it is, or that its code names.

        It is looked for once, when the graph around is made: one that names itself isn't there yet, and isn't nested
        in itself.
        """
        return next(named_graphs(self.source), None)

    @property
    def only_blocks(self) -> bool:
        """Whether its form for an event loop, if it has one, is no more than a way to a thread."""
        return self.awaited is None or getattr(self.source, "only_blocks", False) is True

    @property
    def can_be_stopped(self) -> bool:
        """Whether an event loop can stop it, and doesn't merely leave it behind on a thread."""
        return self.blocking is None or (is_runnable(self.source) and awaits_itself(self.source))

    @property
    def told(self) -> str | None:
        """The name by which callbacks are told of a branch; None for a runnable, which tells of itself, or doesn't."""
        return None if is_runnable(self.source) else self.name

    @property
    def nested(self) -> Literal["anew", "remembering"] | None:
        """Whether a graph runs in it, and whether that keeps its state from call to call."""
        graph = self.graph
        if graph is None or getattr(graph, "checkpointer", None) is False:
            return None
        return "remembering" if getattr(graph, "checkpointer", None) is True else "anew"


@runtime_checkable
class Nested(Protocol):
    """A workflow that knows how to run as a node."""

    def as_node(self, state: Any) -> Any:
        """What it comes to."""

    async def as_node_on_loop(self, state: Any) -> Any:
        """`as_node` for asyncio."""


def action_of(source: Any, name: str) -> Action:
    """An action of what a graph's author gave.

    Raises:
        TypeError: it can be neither called nor invoked.
    """
    is_workflow = issubclass(type(source), Workflow)  # not by `isinstance`: a mock of one says that it is one
    if is_workflow and isinstance(source, Nested):
        return Action(source, name, source.as_node, source.as_node_on_loop)
    if is_runnable(source):
        return Action(source, name, partial(_invoke, source), partial(_ainvoke, source))
    if isinstance(source, dict) and is_loaded():
        from langchain_core.runnables import RunnableParallel

        return action_of(RunnableParallel(source), name)
    if isinstance(source, dict) and source and all(map(callable, source.values())):
        parts = {key: action_of(part, key) for key, part in source.items()}
        awaits = any(part.blocking is None for part in parts.values())
        return Action(source, name, None if awaits else partial(_each, parts), partial(_aeach, parts))
    if not callable(source):
        raise TypeError(
            f"Expected a Runnable, callable or dict.Instead got an unsupported type: {type(source)}"
        )
    call = caller(source)
    body = body_of(source)
    if inspect.isgeneratorfunction(body):
        return Action(source, name, lambda state: added_up(call(state)), None)
    if inspect.isasyncgenfunction(body):
        return Action(source, name, None, lambda state: aadded_up(call(state)))
    if is_coroutine_function(source):
        return Action(source, name, None, call)
    return Action(source, name, call, None)


def router_of(source: Any, name: str) -> Action:
    """An action of a conditional edge; as a runnable it is a run of its own, a sequence too.

    Raises:
        TypeError: it can be neither called nor invoked.
    """
    if is_runnable(source) and not isinstance(source, Workflow):
        return Action(source, name, partial(_ask, source), partial(_aask, source))
    return action_of(source, name)


def immediate(source: Any, name: str, function: Form) -> Action:
    """An action that takes no time: on an event loop it is called there, which spares it a thread."""

    async def call(state: Any) -> Any:
        return function(state)

    return Action(source, name, function, call)


def name_of(source: Any) -> str | None:
    """The name that an action goes by where its author gives none."""
    if hasattr(source, "get_name") and is_runnable(source):
        return str(source.get_name())
    name = getattr(source, "__name__", None)
    return str(name) if name is not None else type(source).__name__ if callable(source) else None


def is_runnable(source: Any) -> bool:
    """Whether it is asked by `invoke`: a graph, or LangChain's, or what can't be called. What can is called, whatever
    else it has: a mock has all."""
    if not (hasattr(source, "invoke") and hasattr(source, "ainvoke")):
        return False
    return not callable(source) or isinstance(source, Workflow) or is_of_langchain(source)


def _ask(source: Any, state: Any) -> Any:
    return source.invoke(state, config_here())


async def _aask(source: Any, state: Any) -> Any:
    return await source.ainvoke(state, config_here())


def _invoke(source: Any, state: Any) -> Any:
    if isinstance(source, Workflow):
        return source.invoke(state)
    return blocking(invoked(source, state, on_loop=False))


async def _ainvoke(source: Any, state: Any) -> Any:
    if isinstance(source, Workflow):
        return await source.ainvoke(state)
    return await invoked(source, state, on_loop=True)


def _each(parts: dict[str, Action], state: Any) -> Any:
    return {key: called(part, state) for key, part in parts.items()}


async def _aeach(parts: dict[str, Action], state: Any) -> Any:
    import asyncio

    return dict(
        zip(parts, await asyncio.gather(*(awaited(part, state) for part in parts.values())), strict=True)
    )


def called(action: Action, state: Any) -> Any:
    """An action's value in a blocking run, which is refused before anything in it is called that has to be awaited."""
    assert action.blocking is not None
    return action.blocking(state)


async def awaited(action: Action, state: Any) -> Any:
    """An action's value on an event loop; blocking code goes to a thread."""
    if action.awaited is not None:
        return await action.awaited(state)
    from flowfn.hosts.on_thread import on_thread

    assert action.blocking is not None
    return await on_thread(action.blocking, state)


def named_graphs(source: Any) -> Iterator[Workflow[Any, Any]]:
    """The graph that somebody gave as a node's action; or those in a chain, or that a function's code names."""
    if isinstance(source, Workflow):
        yield source
    for part in steps_of(source):
        yield from named_graphs(part)
    for form in ("func", "afunc"):  # of a runnable made of functions
        source = getattr(source, "__dict__", {}).get(form) or source
    function = inspect.unwrap(getattr(source, "__func__", source))
    if inspect.isfunction(function):  # what a partial or an object calls is its own affair
        yield from (value for value in _named(function) if isinstance(value, Workflow))


def _named(function: FunctionType) -> Iterator[Any]:
    """The variables and globals that a function's code names, and what it names in them: `graphs`, `graphs.one`."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    found: Any = None
    for load, name in _names_in(function.__code__):
        match load:
            case "LOAD_GLOBAL":
                found = function.__globals__.get(name)
            case "LOAD_DEREF":
                found = _content(cells[name])
            case _:
                found = inspect.getattr_static(found, name, None)
        yield found


# Kept: a program may make its graph anew for each request, and reading instructions is most of what that takes.
@lru_cache(maxsize=1024)
def _names_in(code: CodeType) -> tuple[tuple[str, str], ...]:
    """Which instruction loads which name in a function's code, in their order: an attribute's comes after that which
    loads what it is taken from."""
    found: list[tuple[str, str]] = []
    follows = False
    for step in dis.get_instructions(code):
        is_name = step.opname == "LOAD_GLOBAL" or (
            step.opname == "LOAD_DEREF" and step.argval in code.co_freevars
        )
        follows = is_name or (follows and step.opname in ("LOAD_ATTR", "LOAD_METHOD"))
        if follows:
            found.append((step.opname, step.argval))
    return tuple(found)


def _content(cell: CellType) -> Any:
    """What a variable of a closure is; None while nothing was assigned to it."""
    try:
        return cell.cell_contents
    except ValueError:
        return None
