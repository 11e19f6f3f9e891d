"""Chat messages in two forms: LangChain's classes, and dicts as chat-completion APIs have them.

Rule: an answer has the form of what it answers; nothing here loads LangChain for a program that hasn't.

| | a dict |
|---|---|
| a human's | `{"role": "user", "content": "…"}` |
| a model's | `{"role": "assistant", "content": "…", "tool_calls": [CALL, …]}` |
| a call | `{"id": "…", "type": "function", "function": {"name": "…", "arguments": "JSON"}}` |
| its answer | `{"role": "tool", "tool_call_id": "…", "name": "…", "content": "…"}` |
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from flowfn.python.lazy import Later
from graph_compat.langchain.messages import REMOVE_ALL_MESSAGES

if TYPE_CHECKING:
    from langchain_core.messages import tool as tool_messages
else:
    tool_messages = Later("langchain_core.messages.tool")

_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "developer": "system"}


class ToolCall(TypedDict):
    """A call that a model asks for; `args` is a string where what the model wrote is no JSON object."""

    name: str
    args: Any
    id: str | None
    type: Literal["tool_call"]


def uses_langchain() -> bool:
    """Whether the program has loaded LangChain."""
    return sys.modules.get("langchain_core") is not None


def is_dict(message: Any) -> bool:
    """Whether a message has the form of a dict."""
    return _is_mapping(type(message))


# Looked up once: `issubclass` of an abstract class is slow, and all messages are looked at in every round.
_is_mapping: Callable[[type], bool] = lru_cache(lambda kind: issubclass(kind, Mapping))


def role_of(message: Any) -> str | None:
    """Who wrote a message: "user", "assistant", "tool", "system"; None for what is no message."""
    dict_form = _is_mapping(type(message))
    role = message.get("role", message.get("type")) if dict_form else getattr(message, "type", None)
    return _ROLES.get(role, role) if isinstance(role, str) else None


def field_of(message: Any, name: str) -> Any:
    """A field of a message of either form; None where it has none."""
    return message.get(name) if _is_mapping(type(message)) else getattr(message, name, None)


def ids_of_calls(messages: Iterable[Any]) -> tuple[set[Any], set[Any]]:
    """The ids of the tool calls in messages, and of those that are answered.

    It is asked of all messages in every round, so that it calls nothing for each of them.
    """
    asked: set[Any] = set()
    done: set[Any] = set()
    for message in messages:
        as_dict = _is_mapping(type(message))
        role = message.get("role", message.get("type")) if as_dict else getattr(message, "type", None)
        if role in _OF_MODELS:
            calls = message.get("tool_calls") if as_dict else getattr(message, "tool_calls", None)
            for call in calls or ():
                asked.add(call.get("id"))
        elif role == "tool":
            done.add(message.get("tool_call_id") if as_dict else getattr(message, "tool_call_id", None))
    return asked, done


_OF_MODELS = ("ai", "assistant", "AIMessageChunk")


def calls_of(message: Any) -> list[ToolCall]:
    """The tool calls in a model's message."""
    return [_call(call) for call in field_of(message, "tool_calls") or ()]


def _call(call: Mapping[str, Any]) -> ToolCall:
    if "function" not in call:
        return ToolCall(name=call["name"], args=call["args"], id=call.get("id"), type="tool_call")
    function = call["function"]
    given = function.get("arguments") or "{}"
    try:
        arguments = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        arguments = given
    return ToolCall(name=function["name"], args=arguments, id=call.get("id"), type="tool_call")


def last_of_model(messages: Sequence[Any]) -> Any:
    """The last message that a model wrote; None if there is none."""
    return next((message for message in reversed(messages) if role_of(message) == "assistant"), None)


def open_calls_in(messages: Sequence[Any]) -> list[ToolCall]:
    """The calls of a model's last message that no message after it answers; models use an id again in later rounds."""
    after: list[Any] = []
    for message in reversed(messages):
        if role_of(message) == "assistant":
            done = answered(after)
            return [call for call in calls_of(message) if call["id"] not in done]
        after.append(message)
    return []


def answered(messages: Iterable[Any]) -> set[Any]:
    """The ids of the calls that messages answer."""
    return {field_of(message, "tool_call_id") for message in messages if role_of(message) == "tool"}


def answer(
    call: ToolCall, content: Any, *, as_dict: bool, status: Literal["success", "error"] = "success"
) -> Any:
    """The answer to a tool's call."""
    if as_dict:
        return {"role": "tool", "tool_call_id": call["id"], "name": call["name"], "content": content}
    return tool_messages.ToolMessage(content, name=call["name"], tool_call_id=call["id"], status=status)


def said(text: str, *, like: Any) -> Any:
    """A model's message in place of another one."""
    if is_dict(like):
        return {"role": "assistant", "content": text}
    from langchain_core.messages import AIMessage

    return AIMessage(id=like.id, content=text)


def named(message: Any, name: str | None) -> Any:
    """A model's message, signed."""
    if name is None:
        return message
    if is_dict(message):
        return {**message, "name": name}
    message.name = name
    return message


def system(text: Any, *, as_dict: bool) -> Any:
    """A system message."""
    if as_dict:
        return {"role": "system", "content": text}
    from langchain_core.messages import SystemMessage

    return SystemMessage(content=text)


# -- dicts for models that know nothing else --------------------------------------------------------


def as_dicts(given: Any) -> list[dict[str, Any]]:
    """What a prompt may come to, as dicts: a text, a message, a list of messages of any form, a prompt value."""
    if hasattr(given, "to_messages"):
        given = given.to_messages()
    many = isinstance(given, list | tuple) and not _is_pair(given)
    return [_as_dict(message) for message in (given if many else [given])]


def _as_dict(message: Any) -> dict[str, Any]:
    """A message as a dict.

    Raises:
        TypeError: it is none.
    """
    if is_dict(message):
        return dict(message)
    if isinstance(message, str):
        return {"role": "user", "content": message}
    if _is_pair(message):
        role, content = message
        return {"role": _ROLES.get(role, role), "content": content}
    if uses_langchain():
        from langchain_core.messages import BaseMessage, convert_to_openai_messages

        if isinstance(message, BaseMessage):
            return dict(convert_to_openai_messages([message])[0])
    raise TypeError(f"{message!r} is no message: write {{'role': 'user', 'content': '…'}}, or just the text")


def _is_pair(value: Any) -> bool:
    """Whether a value is a message written `("user", "text")`."""
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(part, str) for part in value)


def merge_dicts(left: list[dict[str, Any]], right: Any) -> list[dict[str, Any]]:
    """A reducer of dict messages: new ones are appended; one with the `id` of an earlier one replaces it.

    `{"role": "remove", "id": "…"}` removes that message, with the id `"__remove_all__"` all before it.
    """
    merged = list(left)
    for message in as_dicts(right):
        known = message.get("id")
        place = next(
            (at for at, old in enumerate(merged) if known is not None and old.get("id") == known), None
        )
        if message.get("role") == "remove":
            merged = [] if known == REMOVE_ALL_MESSAGES else [old for old in merged if old.get("id") != known]
        elif place is None:
            merged.append(message)
        else:
            merged[place] = message
    return merged
