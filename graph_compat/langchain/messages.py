"""What a chat message is: one of LangChain's, or without it a dict of `role`, `content` and `id`.

Rule: a message without an id is given one, itself. Where the message becomes part of a run, the id is
derived from its place there, so that a superstep that is applied again makes the same ids again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha1
from operator import attrgetter
from typing import Any
from uuid import UUID, uuid4

from flowfn.context import current_frame
from flowfn.pregel import is_overwrite, unwrapped
from flowfn.python.loaded import loaded
from flowfn.values import Command, Overwrite
from graph_compat.langchain import is_installed

REMOVE_ALL_MESSAGES = "__remove_all__"
"""The id of a removal that removes every message before it."""

_NAMES = UUID("8f0e9a52-6a0c-4a4e-9a53-0a3f0d5f2c11")
_ROLES = {"human": "user", "ai": "assistant"}
_KINDS = frozenset(["user", "human", "assistant", "ai", "system", "tool", "function", "remove"])


def load_classes() -> None:
    """Load the classes of messages: a stored one is restored only as a class that is there."""
    if is_installed():
        import langchain_core.messages.utils  # noqa: F401


def coerced(given: Any) -> list[Any]:
    """Messages of what stands for them: one or a list of messages, texts, `(role, text)` pairs and dicts.

    Raises:
        NotImplementedError, ValueError: an item stands for no message.
    """
    items = given if isinstance(given, list) else [given]
    if not is_installed():
        return [_plain(item) for item in items]
    if all(map(_is_whole, {*map(type, items)})):
        return list(items)
    from langchain_core.messages import convert_to_messages, message_chunk_to_message

    found: list[Any] = []
    for item in items:
        found += (
            [item] if _is_whole(type(item)) else map(message_chunk_to_message, convert_to_messages([item]))
        )
    return found


def _is_whole_message(kind: type) -> bool:
    """Whether a class is one of LangChain's messages, and none of pieces of them."""
    from langchain_core.messages import BaseMessage, BaseMessageChunk

    return issubclass(kind, BaseMessage) and not issubclass(kind, BaseMessageChunk)


# Looked up once: `issubclass` of such classes is slow, and all messages are looked at whenever one is added.
_is_whole: Callable[[type], bool] = lru_cache(_is_whole_message)


def _plain(item: Any) -> dict[str, Any]:
    """A message as a chat-completion API takes it."""
    if isinstance(item, dict):
        return item
    if isinstance(item, str):
        return {"role": "user", "content": item}
    if isinstance(item, tuple) and len(item) == 2:
        return {"role": _ROLES.get(item[0], item[0]), "content": item[1]}
    raise NotImplementedError(
        f"Unsupported message type: {type(item)}: pass a dict of role and content, a text, or a (role, text) pair"
    )


def id_of(message: Any) -> str | None:
    """A message's id."""
    return message.get("id") if isinstance(message, dict) else message.id


def ids_of(messages: Sequence[Any]) -> list[str | None]:
    """The ids of messages, `coerced` before: of all that a state holds, whenever one is added to them."""
    return [*map(_id, messages)] if is_installed() else [message.get("id") for message in messages]


_id = attrgetter("id")


class Ids:
    """The ids that messages have, of which none is given again to those that have none."""

    def __init__(self, taken: Iterable[str | None] = ()) -> None:
        self._taken = {*taken}
        self._numbers: dict[str, int] = {}

    def give(self, messages: Iterable[Any], place: str) -> None:
        """Give each message that has none an id of a place."""
        for message in messages:
            self._taken.add(identify(message, self._taken, place, self._numbers))


def identify(
    message: Any, taken: Container[str | None], place: str = "", numbers: dict[str, int] | None = None
) -> str:
    """A message's id; one that has none is given one that isn't taken, derived from `place` if there is one.

    `numbers` counts the equal messages that there are of each place, so that what they were given isn't tried again.
    """
    known = id_of(message)
    if known is not None:
        return known
    made = _fresh(message, taken, place or _running(), {} if numbers is None else numbers)
    if isinstance(message, dict):
        message["id"] = made
    else:
        message.id = made
    return made


def _running() -> str:
    """The place of code that makes messages in a task; empty outside of any."""
    frame = current_frame.get()
    if frame is None:
        return ""
    task = frame.run.task_id(frame.scope)
    return f"{task}:{frame.calls.position('graph_compat.message')}"


def _fresh(message: Any, taken: Container[str | None], place: str, numbers: dict[str, int]) -> str:
    if not place:
        return str(uuid4())
    content = message if isinstance(message, dict) else (message.type, message.content)
    name = f"{place}:{content!r}"
    number = numbers.get(name, 0)
    while (made := name_uuid(f"{name}:{number}")) in taken:
        number += 1
    numbers[name] = number + 1
    return made


def name_uuid(name: str) -> str:
    """`str(uuid5(…, name))` in messages' own namespace, without the two objects and the number in between."""
    data = bytearray(sha1(_NAMES.bytes + name.encode(), usedforsecurity=False).digest()[:16])
    data[6] = data[6] & 0x0F | 0x50  # the version
    data[8] = data[8] & 0x3F | 0x80  # and the variant
    digits = data.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def identified(write: Any, *, coerces: bool = False) -> Any:
    """What somebody writes, in which each message has an id: messages themselves, and dicts that spell some.

    A dict in a list becomes a message; others stay dicts. With `coerces` all that stands for a message becomes one.

    Raises:
        NotImplementedError, ValueError: something stands for no message.
    """
    if is_overwrite(write):
        value = _identified_whole(unwrapped(write), coerces)
        return replace(write, value=value) if isinstance(write, Overwrite) else {"__overwrite__": value}
    if coerces or is_message(write):
        return _identified_whole(write, coerces)
    if isinstance(write, list):
        return [_with_id(coerced(item)[0]) if is_message(item) or _spells(item) else item for item in write]
    return _with_id({**write}) if _spells(write) else write


def _identified_whole(value: Any, coerces: bool) -> Any:
    found = coerced(value) if coerces else value if isinstance(value, list) else [value]
    found = [_with_id(item) if is_message(item) else item for item in found]
    return found if isinstance(value, list) else found[0]


def _with_id(message: Any) -> Any:
    identify(message, ())
    return message


def _spells(item: Any) -> bool:
    """Whether it is a dict that says which kind of message it is."""
    return isinstance(item, dict) and item.get("role", item.get("type")) in _KINDS


def is_removal(message: Any) -> bool:
    """Whether a message stands for the removal of the one with its id."""
    kind = message.get("role", message.get("type")) if isinstance(message, dict) else message.type
    return bool(kind == "remove")


def is_message(value: Any) -> bool:
    """Whether a value is a message by itself; with LangChain installed, only its own are."""
    if not is_installed():
        return isinstance(value, dict) and "role" in value and "content" in value
    messages = loaded("langchain_core.messages.base")
    return messages is not None and isinstance(value, messages.BaseMessage)


def is_of_tool(message: Any) -> bool:
    """Whether a message is a tool's answer to a call."""
    return bool((message.get("role") if isinstance(message, dict) else message.type) == "tool")


def messages_in(value: Any) -> Iterator[Any]:
    """The messages of a node's input or output: itself, its values, and one level of the sequences in it."""
    if isinstance(value, Command):
        yield from messages_in(value.update)
    elif is_message(value):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _among(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            if is_message(item):
                yield item
            elif isinstance(item, Command | Mapping):
                yield from messages_in(item)
    elif hasattr(value, "__dict__"):
        for item in vars(value).values():
            yield from _among(item)


def _among(value: Any) -> Iterator[Any]:
    if is_message(value):
        yield value
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from filter(is_message, value)
