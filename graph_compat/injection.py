"""What a function asks for by the names of its parameters: config, runtime, store, writer, previous, error.

Rule: a parameter counts if its annotation is missing or the one that belongs to its name; the first
positional parameter is the state, whatever it is called. Looked at once, when the graph is built.
"""

from __future__ import annotations

import inspect
import types
import typing
import warnings
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.config import GIVEN_THREAD, RECURSION_LIMIT, TRACED
from flowfn.context import current_frame
from flowfn.python.annotations import signature_of
from flowfn.runtime import Runtime, StreamWriter
from flowfn.values import MISSING
from graph_compat.constants import CONFIG_KEY_READ, CONFIG_KEY_RUNTIME, CONFIG_KEY_SEND
from graph_compat.langchain import MESSAGES, callbacks_here, nobody
from graph_compat.pushing import read, send

if TYPE_CHECKING:
    from flowfn.context import Frame
    from flowfn.invocation import Run

ANY = None
"""Any annotation will do."""

_NAMES: dict[str, tuple[str, ...] | None] = {
    "config": ("RunnableConfig", "Optional[RunnableConfig]", "RunnableConfig | None"),
    "writer": ("StreamWriter",),
    "store": ("BaseStore", "Optional[BaseStore]", "BaseStore | None"),
    "previous": ANY,
    "runtime": ANY,
    "error": ("NodeError",),
}


class Wanted(NamedTuple):
    """A parameter to fill; `default` stands in where there is nothing to fill it with."""

    name: str
    default: Any


def wanted_by(function: Callable[..., Any]) -> tuple[Wanted, ...]:
    """The parameters of a function that are to be filled."""
    try:
        parameters = list(signature_of(function).parameters.values())
    except (TypeError, ValueError):
        return ()
    found = []
    for place, parameter in enumerate(parameters):
        fillable = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        is_state = place == 0 and parameter.kind is not parameter.KEYWORD_ONLY
        if parameter.name in _NAMES and fillable and not is_state and _fits(function, parameter):
            given = parameter.default is not parameter.empty
            found.append(Wanted(parameter.name, parameter.default if given else None))
    return tuple(found)


def _fits(function: Callable[..., Any], parameter: inspect.Parameter) -> bool:
    names = _NAMES[parameter.name]
    annotation = parameter.annotation
    if names is ANY:
        return True
    if annotation is parameter.empty:
        return parameter.name != "error"
    if _spelled(annotation) in names:
        return True
    if parameter.name == "config":
        warnings.warn(
            f"The 'config' parameter should be typed as 'RunnableConfig' or 'RunnableConfig | None', not "
            f"'{annotation}'. ",
            UserWarning,
            stacklevel=6,
        )
    return False


def _spelled(annotation: Any) -> str:
    """An annotation as the names above have it."""
    if isinstance(annotation, str):
        return (
            annotation.rsplit(".", 1)[-1] if "[" not in annotation and "|" not in annotation else annotation
        )
    if annotation is StreamWriter:
        return "StreamWriter"
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        inner = [_spelled(part) for part in typing.get_args(annotation) if part is not type(None)]
        return f"{inner[0]} | None" if len(inner) == 1 else ""
    return str(getattr(annotation, "__name__", annotation))


runtime_outside: ContextVar[Runtime[Any] | None] = ContextVar("graph_compat.outside", default=None)
"""What code may know of itself that runs outside any run; see `graph_compat.outside`."""


def filled(frame: Frame, wanted: tuple[Wanted, ...]) -> dict[str, Any]:
    """The keyword arguments of one call."""
    arguments = {}
    for parameter in wanted:
        value = _PROVIDERS[parameter.name](frame)
        arguments[parameter.name] = parameter.default if value is None else value
    return arguments


def filled_outside(wanted: tuple[Wanted, ...]) -> dict[str, Any]:
    """`filled`, for code outside any run."""
    runtime = runtime_here()
    values = {
        "config": runtime.config,
        "writer": runtime.stream_writer,
        "store": runtime.store,
        "runtime": runtime,
    }
    found = ((name, values.get(name), default) for name, default in wanted)
    return {name: default if value is None else value for name, value, default in found}


def runtime_here() -> Runtime[Any]:
    """What the code that calls may know of itself.

    Raises:
        RuntimeError: it is called outside a graph.
    """
    runtime = runtime_outside.get() if current_frame.get() is None else None
    return frame_here().runtime if runtime is None else runtime


def frame_here() -> Frame:
    """The frame of the code that calls.

    Raises:
        RuntimeError: it is called outside a graph.
    """
    frame = current_frame.get()
    if frame is None:
        raise RuntimeError("Called get_config outside of a runnable context")
    return frame


_OF_THE_RUN = ("callbacks", "run_id", "run_name", MESSAGES)
"""What a run is configured with that isn't for what runs in it."""


_UNSAID: Mapping[str, Any] = {"tags": [], "max_concurrency": None, "recursion_limit": RECURSION_LIMIT}
"""What a configuration has where nobody said anything else: a node isn't told of it."""


def config_of(frame: Frame) -> dict[str, Any]:
    """The configuration that code in a node sees, with what it may want to know of the node."""
    config = unheard_config_of(frame)
    return {**config, "callbacks": callbacks_here() or nobody_at(frame, config)}


def nobody_at(frame: Frame, config: Mapping[str, Any]) -> Any:
    """The callbacks of a frame's code, which is configured so, where nobody listens."""
    return nobody(frame.call.id, config, on_loop=frame.call.definition.is_async)


def unheard_config_of(frame: Frame) -> dict[str, Any]:
    """`config_of` without callbacks."""
    runtime = frame.runtime
    config = {k: v for k, v in runtime.config.items() if k not in _OF_THE_RUN}
    node = top_call(frame).node
    info = runtime.execution_info
    assert info is not None
    config["configurable"] = configurable = {
        **_configurable(frame.run, config["configurable"], info.checkpoint_ns),
        CONFIG_KEY_READ: read,
        CONFIG_KEY_RUNTIME: runtime,
        CONFIG_KEY_SEND: send,
    }
    if node is not None and node.tags:
        config["tags"] = [*config["tags"], *node.tags]
    config["metadata"] = {
        **config["metadata"],
        **known_by({**configurable, "checkpoint_id": gone_back_to(frame.run)}),
        **config["metadata"],
        **place_of(frame, info.checkpoint_ns),
        **_around(frame.run),
        **((node.metadata or {}) if node is not None else {}),
    }
    return {key: value for key, value in config.items() if value != _UNSAID.get(key, MISSING)}


_KNOWN_BY = ("thread_id", "checkpoint_id", *TRACED)


def known_by(configurable: Mapping[str, Any]) -> dict[str, Any]:
    """What metadata that code sees repeat of a `configurable`."""
    return {key: value for key in _KNOWN_BY if (value := configurable.get(key))}


def gone_back_to(run: Run) -> str | None:
    """The checkpoint that the outermost run's caller named."""
    while run.parent is not None:
        run = run.parent
    return run.config.checkpoint_id


def _around(run: Run) -> dict[str, Any]:
    """What metadata say of the graph around a nested one: in which node's task of the outermost one that is."""
    if not run.namespace:
        return {}
    task = run.namespace.partition("|")[0]
    if ":" not in task:  # it remembers, and so is called the same in each task
        while run.parent is not None and run.parent.parent is not None:
            run = run.parent
        assert run.frame is not None
        info = run.frame.runtime.execution_info
        assert info is not None
        task = info.checkpoint_ns.partition("|")[0]
    return {"checkpoint_ns": task}


def place_of(frame: Frame, namespace: str) -> dict[str, Any]:
    """What metadata say of where the running code is; `namespace` is its checkpoints'."""
    call = frame.call.shown
    return {
        "langgraph_step": call.run.step + 1,
        "langgraph_node": call.definition.name,
        "langgraph_triggers": call.triggers,
        "langgraph_path": path_of(call),
        "langgraph_checkpoint_ns": namespace,
    }


def _configurable(run: Run, given: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    """The caller's `configurable`, with where the running task is: under which checkpoints of the runs around."""
    found = {**given, "checkpoint_ns": namespace, "checkpoint_id": None, "checkpoint_map": _checkpoints(run)}
    thread = found.pop(GIVEN_THREAD, run.thread or run.config.thread_id)
    del found["thread_id"]
    return found if thread is None else {**found, "thread_id": thread}


def _checkpoints(run: Run) -> dict[str, str]:
    around = {} if run.parent is None else _checkpoints(run.parent)
    return {**around, run.namespace: run.checkpoint.id}


def path_of(call: Any) -> tuple[Any, ...]:
    """The path of a node's task or of a call in one, in LangGraph's words."""
    if call.node_task is None:
        return ("__pregel_push", path_of(call.parent.call.shown), call.nth, True)
    kind, *rest = call.node_task.path
    return (f"__pregel_{kind}", *rest, *((False,) if kind == "push" and len(rest) == 1 else ()))


def top_call(frame: Frame) -> Any:
    """The node's call that a frame belongs to."""
    while frame.call.parent is not None:
        frame = frame.call.parent
    return frame.call


def _error(frame: Frame) -> Any:
    from graph_compat.errors import NodeError

    task = top_call(frame).node_task
    given: Any = None if task is None else task.input
    return NodeError(given.node, given.error) if top_call(frame).is_handler else None


_PROVIDERS: Mapping[str, Callable[[Frame], Any]] = {
    "config": config_of,
    "writer": lambda frame: frame.runtime.stream_writer,
    "store": lambda frame: frame.runtime.store,
    "previous": lambda frame: frame.runtime.previous,
    "runtime": lambda frame: frame.runtime,
    "error": _error,
}


def caller(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """The function of its state alone, filled from where it is called: in a run, or by an update."""
    wanted = wanted_by(function)
    if not wanted:
        return function

    def call(state: Any) -> Any:
        frame = current_frame.get()
        return function(state, **(filled_outside(wanted) if frame is None else filled(frame, wanted)))

    return call


def body_of(function: Any) -> Any:
    """The function whose code runs: inside partials, and of an object its `__call__`."""
    while isinstance(function, partial):
        function = function.func
    if inspect.isroutine(function) or isinstance(function, type):
        return function
    return type(function).__call__


def is_coroutine_function(function: Any) -> bool:
    """Whether a call has to be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(body_of(function))
