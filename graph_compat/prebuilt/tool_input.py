"""What a ToolNode may be given.

| input | calls |
|---|---|
| a state: a mapping or an object with messages | those of the last message that a model wrote |
| a list of messages | likewise |
| a list that ends with a call | that one, whose tool sees the state that its node would have as input, or the list |
| `ToolCallWithContext` | its call, whose tool sees the state beside it; without one, likewise |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graph_compat.prebuilt.chat import ToolCall, calls_of, last_of_model
from graph_compat.prebuilt.requests import CALL_WITH_CONTEXT
from graph_compat.pushing import state_here


def calls_in(given: Any, messages_key: str) -> tuple[list[ToolCall], Any, Any]:
    """The calls, the state that tools see, and the model's message that the calls are from, if it is known.

    Raises:
        ValueError: there is no message of a model.
    """
    if isinstance(given, list) and given and is_call(given[-1]):
        state = state_here()
        state = given if state is None else state
        return (
            [given[-1]],
            state,
            last_of_model(given[:-1]) or last_of_model(messages_in(state, messages_key)),
        )
    if isinstance(given, Mapping) and given.get("__type") == CALL_WITH_CONTEXT:
        state = given["state"] if "state" in given else state_here()
        return [given["tool_call"]], state, last_of_model(messages_in(state, messages_key))
    messages = messages_in(given, messages_key)
    if not messages:
        raise ValueError("No message found in input")
    source = last_of_model(messages)
    if source is None:
        raise ValueError("No AIMessage found in input")
    return calls_of(source), given, source


def is_call(value: Any) -> bool:
    """Whether a value is a call by itself."""
    return isinstance(value, Mapping) and value.get("type") == "tool_call"


def messages_in(state: Any, key: str) -> Sequence[Any]:
    """The messages of a state of any kind: a list of them, a mapping or an object that has them at `key`."""
    if isinstance(state, list):
        return state
    found = state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)
    return found or ()
