"""What a tool may return, and what the node makes of it.

| a tool returns | the state gets |
|---|---|
| text, or a list of content blocks | an answer with that content |
| anything else | an answer with its JSON, else with what `str()` makes of it |
| an answer | it |
| a `Command` | its update, in which the answer has to be |
| a list of commands and answers | all of them, one of which is the answer |
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flowfn.values import Command, Send
from graph_compat.langchain.messages import REMOVE_ALL_MESSAGES
from graph_compat.prebuilt.chat import ToolCall, answer, field_of, is_dict, role_of

TOOL_MESSAGE_BLOCK_TYPES = (
    "text",
    "image_url",
    "image",
    "json",
    "search_result",
    "custom_tool_call_output",
    "document",
    "file",
)
"""The types of content blocks that chat models take in an answer."""

_NO_ANSWER = (
    "Expected to have a matching ToolMessage in Command.update for tool '{name}', got: {messages}. Every tool call"
    " (LLM requesting to call a tool) in the message history MUST have a corresponding ToolMessage. You can fix it"
    " by modifying the tool to return"
    ' `Command(update={{"messages": [ToolMessage("Success", tool_call_id=tool_call_id), ...]}}, ...)`.'
)


def msg_content_output(output: Any) -> str | list[Any]:
    """What a tool returned as a message's content: text and content blocks stay, the rest becomes JSON or text."""
    if isinstance(output, str) or _is_blocks(output):
        return output  # type: ignore[no-any-return]
    try:
        return _as_json(output)
    except Exception:
        return str(output)


_as_json = json.JSONEncoder(ensure_ascii=False).encode
"""`json.dumps` would make an encoder for each."""


def _is_blocks(output: Any) -> bool:
    return isinstance(output, list) and all(
        isinstance(item, dict) and item.get("type") in TOOL_MESSAGE_BLOCK_TYPES for item in output
    )


def normalised(value: Any, call: ToolCall, *, listed: bool, as_dict: bool, messages_key: str) -> Any:
    """What a tool returned as the node returns it: an answer, a command, or a list of such.

    Raises:
        ValueError: the call is left without its answer, or with two; or an update has another shape than the state.
    """
    if isinstance(value, Command):
        return _checked(value, call, listed=listed, messages_key=messages_key)
    if isinstance(value, list) and value and all(isinstance(v, Command) or is_answer(v) for v in value):
        return _checked_list(value, call, listed=listed, messages_key=messages_key)
    if is_answer(value):
        return _with_content(value)
    return answer(call, msg_content_output(value), as_dict=as_dict)


def _with_content(message: Any) -> Any:
    """A tool's own answer, whose content chat models take."""
    given = field_of(message, "content")
    content = msg_content_output(given)
    if content is given:
        return message
    return (
        {**message, "content": content}
        if is_dict(message)
        else message.model_copy(update={"content": content})
    )


def is_answer(value: Any) -> bool:
    """Whether a value is the answer to a tool's call."""
    if is_dict(value):
        return value.get("role") == "tool" and "tool_call_id" in value
    return role_of(value) == "tool" and hasattr(value, "tool_call_id")


def _checked_list(values: Sequence[Any], call: ToolCall, *, listed: bool, messages_key: str) -> list[Any]:
    count = 0
    for value in values:
        messages = _messages_in(value, call, listed, messages_key) if isinstance(value, Command) else [value]
        count += sum(_answers(message, call) for message in messages)
    if count != 1:
        raise ValueError(
            f"Tool {call['name']} returned a list with {count} messages bound to tool_call_id '{call['id']}'; expected"
            " exactly one terminating ToolMessage."
        )
    return [_signed(v, call, messages_key) if isinstance(v, Command) else v for v in values]


def _checked(command: Command[Any], call: ToolCall, *, listed: bool, messages_key: str) -> Command[Any]:
    messages = _messages_in(command, call, listed, messages_key)
    has_update = isinstance(command.update, Mapping | list)
    if has_update and command.graph is None and not any(_answers(m, call) or _clears(m) for m in messages):
        raise ValueError(_NO_ANSWER.format(name=call["name"], messages=messages))
    return _signed(command, call, messages_key)


def _messages_in(command: Command[Any], call: ToolCall, listed: bool, messages_key: str) -> list[Any]:
    update = command.update
    if isinstance(update, Mapping):
        if listed:
            raise ValueError(
                f"Tools can provide a dict in Command.update only when using dict with '{messages_key}' key as ToolNode"
                f" input, got: {update} for tool '{call['name']}'"
            )
        found = update.get(messages_key, [])
        return found if isinstance(found, list) else [found]
    if isinstance(update, list):
        if not listed:
            raise ValueError(
                "Tools can provide a list of messages in Command.update only when using list of messages as ToolNode"
                f" input, got: {update} for tool '{call['name']}'"
            )
        return update
    return []


def _answers(message: Any, call: ToolCall) -> bool:
    return is_answer(message) and field_of(message, "tool_call_id") == call["id"]


def _clears(message: Any) -> bool:
    return bool(field_of(message, "id") == REMOVE_ALL_MESSAGES)


def _signed(command: Command[Any], call: ToolCall, messages_key: str) -> Command[Any]:
    """A command whose answer has the tool's name; the tool's own objects stay as they are."""
    update = command.update
    if isinstance(update, Mapping) and messages_key in update:
        found = update[messages_key]
        messages = found if isinstance(found, list) else [found]
        return replace(command, update={**update, messages_key: [_with_name(m, call) for m in messages]})
    if isinstance(update, list):
        return replace(command, update=[_with_name(message, call) for message in update])
    return command


def _with_name(message: Any, call: ToolCall) -> Any:
    if not _answers(message, call):
        return message
    if is_dict(message):
        return {**message, "name": call["name"]}
    return message.model_copy(update={"name": call["name"]})


def combined(results: Sequence[Any], *, listed: bool, messages_key: str) -> Any:
    """What the node returns: the answers alone, or, if a tool returned a command, a list of updates and commands."""
    flat = [item for result in results for item in (result if isinstance(result, list) else [result])]
    if not any(isinstance(item, Command) for item in flat):
        return flat if listed else {messages_key: flat}
    outputs: list[Any] = []
    handovers = [item for item in flat if _is_handover(item)]
    for item in flat:
        if isinstance(item, Command):
            if not _is_handover(item):
                outputs.append(item)
        else:
            outputs.append([item] if listed else {messages_key: [item]})
    return [*outputs, _merged(handovers)] if handovers else outputs


def _is_handover(item: Any) -> bool:
    """Whether a result sends something to the graph around, which takes one command alone."""
    return (
        isinstance(item, Command)
        and item.graph == Command.PARENT
        and isinstance(item.goto, list)
        and all(isinstance(target, Send) for target in item.goto)
    )


def _merged(handovers: Sequence[Command[Any]]) -> Command[Any]:
    """Several commands for the graph around as one: all that they send, and all that they update."""
    if len(handovers) == 1:
        return handovers[0]
    goto: list[Any] = []
    for command in handovers:
        goto.extend(command.goto)  # type: ignore[arg-type]
    updates: list[Any] = []
    for command in handovers:
        given = command.update or ()
        updates.extend(given.items() if isinstance(given, Mapping) else given)
    return replace(handovers[0], goto=goto, update=updates or None)
