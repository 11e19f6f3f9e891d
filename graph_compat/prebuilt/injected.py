"""Which parameters of a tool the graph fills, and with what: its state, its store, its runtime, the call's id.

Rule: looked at once, when a ToolNode is made. What a model says in place of such a parameter doesn't count, nor in
place of one that is marked as not the model's, which keeps its default. LangGraph's own marks count as the same ones
here: a program whose imports were changed may have them from LangChain, which hands them on.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final, NamedTuple, get_args, get_origin

from flowfn.python.loaded import loaded
from flowfn.values import MISSING

WITHHELD = "withheld"
"""A parameter that nobody fills: LangChain's `InjectedToolArg` says no more than that a model mustn't."""

_LANGGRAPHS: Final = {"InjectedState": "state", "InjectedStore": "store", "ToolRuntime": "runtime"}
"""What a parameter is given by a mark of LangGraph's own, `langchain.tools.InjectedState` for one."""


class Injection(NamedTuple):
    """What a parameter is given: "state" (or its `key`), "store", "runtime" or "tool_call_id"; or `WITHHELD`.

    `made` is the class of runtime that the parameter's annotation has; None for that of graph_compat.
    """

    kind: str
    key: str | None = None
    default: Any = MISSING
    made: type | None = None


@dataclass(frozen=True)
class Source:
    """What one call can be given."""

    state: Any
    messages_key: str
    store: Any
    runtime: Callable[[], Any]
    tool_call_id: str | None


def injections_of(function: Callable[..., Any]) -> dict[str, Injection]:
    """The parameters of a function that the graph fills.

    Raises:
        NameError: an annotation names what doesn't exist.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        default = MISSING if parameter.default is parameter.empty else parameter.default
        injection = _injection(name, hints.get(name), default)
        if injection is not None:
            found[name] = injection
    return found


def injections_of_schema(schema: Any) -> dict[str, Injection]:
    """`injections_of` for a pydantic model of arguments."""
    fields = getattr(schema, "model_fields", {})
    found = {}
    for name, hint in typing.get_type_hints(schema, include_extras=True).items() if fields else ():
        known = fields.get(name)
        default = (
            MISSING if known is None or known.is_required() else known.get_default(call_default_factory=True)
        )
        injection = _injection(name, hint, default)
        if injection is not None:
            found[name] = injection
    return found


def _injection(name: str, hint: Any, default: Any) -> Injection | None:
    if name == "runtime":
        return Injection("runtime", made=next(filter(_is_langgraphs_runtime, _marks(hint)), None))
    for mark in _marks(hint):
        kind = getattr(mark, "injects", None) or _langgraphs(mark)
        if kind is not None:
            key = getattr(mark, "field", None) if kind == "state" else None
            return Injection(kind, key, default, mark if _is_langgraphs_runtime(mark) else None)
        if (kind := _langchains(mark)) is not None:
            return Injection(kind)
    return None


def _marks(hint: Any) -> Iterator[Any]:
    """Everything in a hint that may be a mark: its extras, and the type itself, also as a part of a union."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *extras = get_args(hint)
        yield from extras
        yield from _marks(inner)
    elif origin in (typing.Union, types.UnionType):
        for part in get_args(hint):
            yield from _marks(part)
    else:
        yield origin or hint


def _langgraphs(mark: Any) -> str | None:
    """What a parameter is given by a mark of LangGraph's own, if it is one."""
    kind = mark if isinstance(mark, type) else type(mark)
    return _LANGGRAPHS.get(kind.__name__) if kind.__module__ == "langgraph.prebuilt.tool_node" else None


def _is_langgraphs_runtime(mark: Any) -> bool:
    return _langgraphs(mark) == "runtime"


def _langchains(mark: Any) -> str | None:
    """What a parameter is given by a mark of LangChain's, if it is one."""
    tools = loaded("langchain_core.tools.base")
    kind = mark if isinstance(mark, type) else type(mark)
    if tools is None or not issubclass(kind, tools.InjectedToolArg):
        return None
    return "tool_call_id" if issubclass(kind, tools.InjectedToolCallId) else WITHHELD


def injected(tool: str, wanted: Mapping[str, Injection], source: Source) -> dict[str, Any]:
    """The arguments of one call that the model doesn't give.

    Raises:
        KeyError, AttributeError: the state lacks a key, and the parameter has no default.
        ValueError: there is no store, or the state is a list and has no keys.
    """
    return {
        name: _value(tool, injection, source)
        for name, injection in wanted.items()
        if injection.kind != WITHHELD
    }


def _value(tool: str, injection: Injection, source: Source) -> Any:
    if injection.kind == "state":
        return _state(tool, injection, source)
    if injection.kind == "store":
        if source.store is None:
            raise ValueError(
                "Cannot inject store into tools with InjectedStore annotations - please compile your graph with a"
                " store."
            )
        return source.store
    if injection.kind == "tool_call_id":
        return source.tool_call_id
    runtime = source.runtime()
    return runtime if injection.made is None else _as_theirs(runtime, injection.made)


def _as_theirs(runtime: Any, made: Any) -> Any:
    """A runtime as LangGraph's class, of which a tool's schema asks for an instance."""
    return made(
        **{each.name: getattr(runtime, each.name) for each in fields(made) if hasattr(runtime, each.name)}
    )


def _state(tool: str, injection: Injection, source: Source) -> Any:
    state, key = source.state, injection.key
    if isinstance(state, list):
        if key not in (None, source.messages_key):
            raise ValueError(
                f"Invalid input to ToolNode. Tool {tool} requires graph state dict as input. State should contain"
                f" fields {key}."
            )
        state = {source.messages_key: state}
    if key is None:
        return state
    if injection.default is MISSING:
        return state[key] if isinstance(state, Mapping) else getattr(state, key)
    if isinstance(state, Mapping):
        return state.get(key, injection.default)
    return getattr(state, key, injection.default)
