"""A state that is a list of chat messages, merged by their ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typing_extensions import TypedDict

from flowfn.python.lazy import lend
from graph_compat.graph.state import StateGraph
from graph_compat.langchain.messages import (
    REMOVE_ALL_MESSAGES,
    Ids,
    coerced,
    id_of,
    identify,
    ids_of,
    is_removal,
)
from graph_compat.langchain.tokens import tell
from graph_compat.pushing import push
from graph_compat.warnings import LangGraphDeprecatedSinceV10, warn

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage, MessageLikeRepresentation
    from langchain_core.messages import BaseMessage as BaseMessage
    from langchain_core.messages import BaseMessageChunk as BaseMessageChunk
    from langchain_core.messages import RemoveMessage as RemoveMessage
    from langchain_core.messages import convert_to_messages as convert_to_messages

    Messages = list[MessageLikeRepresentation] | MessageLikeRepresentation
else:
    AnyMessage = Messages = Any

__all__ = ["REMOVE_ALL_MESSAGES", "MessageGraph", "Messages", "MessagesState", "add_messages"]

# What programs also import from here.
lend(
    __name__,
    dict.fromkeys(
        ("BaseMessage", "BaseMessageChunk", "RemoveMessage", "convert_to_messages"), "langchain_core.messages"
    ),
)

Format = Literal["langchain-openai"] | None


def add_messages(left: Any = None, right: Any = None, *, format: Format = None) -> Any:
    """Merge two lists of messages by id: a reducer.

    A message of a known id takes the place of the one before it, a removal removes it, any other is appended.
    Messages without an id are given one, themselves. Without arguments, or with `format` alone, a reducer with
    that format.

    Args:
        left, right: one or a list of messages, texts, `(role, text)` pairs and dicts. Without langchain-core
            messages are dicts, and `{"role": "remove", "id": …}` is a removal.
        format: "langchain-openai" turns contents into blocks of OpenAI's kinds.

    Raises:
        ValueError: one side is missing, a removal's id is unknown, or `format` is.
    """
    if left is None and right is None:
        return _reducer(format)
    return _added(left, right, format=format)


def _added(
    left: Any, right: Any, *, place: str = "", format: Format = None, is_named: bool = False
) -> list[Any]:
    """`add_messages` with the ids of a place; `is_named` says that what is added is messages that have theirs."""
    if left is None or right is None:
        given = "left" if right is None else "right"
        raise ValueError(
            f"Must specify non-null arguments for both 'left' and 'right'. Only received: '{given}'."
        )
    merged = _merged(coerced(left), right if is_named else coerced(right), place)
    return _formatted(merged, format) if format else merged


def _reducer(format: Format) -> Callable[[Any, Any], Any]:
    made = partial(add_messages, format=format)
    vars(made).update(at_place=partial(_at_place, format=format), named=_named, ids=Ids)
    return made


def _at_place(place: str, format: Format = None) -> Callable[[Any, Any], Any]:
    """The reducer that makes the ids of a place for what is there; what it adds is `_named`."""
    return partial(_added, place=place, format=format, is_named=True)


def _named(given: Any, place: str, ids: Ids) -> Any:
    """What somebody adds, with ids of a place."""
    if given is None:
        return None
    messages = coerced(given)
    ids.give(messages, place)
    return messages


vars(add_messages).update(at_place=_at_place, named=_named, ids=Ids)


def _merged(left: list[Any], right: list[Any], place: str = "") -> list[Any]:
    if len(right) == 1 and (grown := _grown(left, right[0], place)) is not None:
        return grown
    places = _places(left)
    Ids((*places, *ids_of(right))).give((*(left if None in places else ()), *right), place)
    if None in places:
        places = _places(left)
    last = max(
        (i for i, m in enumerate(right) if id_of(m) == REMOVE_ALL_MESSAGES and is_removal(m)), default=-1
    )
    if last >= 0:
        return right[last + 1 :]
    merged = left.copy()
    removed: set[str | None] = set()
    for message in right:
        name = id_of(message)
        if is_removal(message):
            if name not in places:
                raise ValueError(f"Attempting to delete a message with an ID that doesn't exist ('{name}')")
            removed.add(name)
        elif name in places:
            removed.discard(name)
            merged[places[name]] = message
        else:
            places[name] = len(merged)
            merged.append(message)
    return [message for message in merged if id_of(message) not in removed] if removed else merged


def _grown(left: list[Any], message: Any, place: str) -> list[Any] | None:
    """Messages with one more, as almost always; None where it replaces or removes one, or another one needs an id."""
    ids = ids_of(left)
    if None in ids or is_removal(message) or (id_of(message) or identify(message, ids, place)) in ids:
        return None
    return [*left, message]


def _places(messages: list[Any]) -> dict[str | None, int]:
    """Where the message of each id stands; of an id that is there twice, the last."""
    return dict(zip(ids_of(messages), range(len(messages)), strict=True))


def _formatted(messages: list[Any], format: str) -> list[Any]:
    if format != "langchain-openai":
        raise ValueError(f"Unrecognized format={format!r}. Expected one of 'langchain-openai', None.")
    from langchain_core.messages import convert_to_messages, convert_to_openai_messages

    return convert_to_messages(convert_to_openai_messages(messages))


def _messages_delta_reducer(state: Sequence[Any], writes: Sequence[Any]) -> list[Any]:
    """Merge a superstep's writes at once, for a `DeltaChannel`; makes no ids, and ignores unknown removals.

    What is written to the channel has ids by then.
    """
    merged: dict[Any, Any] = {}
    right = [message for write in writes for message in coerced(write)]
    for message in (*coerced(list(state)), *right):
        name = id_of(message)
        if not is_removal(message):
            merged[id(message) if name is None else name] = message
        elif name == REMOVE_ALL_MESSAGES:
            merged.clear()
        else:
            merged.pop(name, None)
    return list(merged.values())


vars(_messages_delta_reducer)["coerces"] = True


class MessagesState(TypedDict):
    """A state whose `messages` are merged by id."""

    messages: Annotated[list[AnyMessage], add_messages]


class MessageGraph(StateGraph[Any, Any, Any, Any]):
    """A graph whose whole state is a list of messages. Deprecated: use a `messages` key."""

    def __init__(self) -> None:
        warn(
            "MessageGraph is deprecated in LangGraph v1.0.0, to be removed in v2.0.0. Please use StateGraph with a"
            " `messages` key instead.",
            LangGraphDeprecatedSinceV10,
        )
        super().__init__(Annotated[list[AnyMessage], add_messages])  # type: ignore[arg-type]


def push_message(message: Any, *, state_key: str | None = "messages") -> Any:
    """Show a message to `messages` streams now, and write it to the state with what the node returns.

    Args:
        message: a message, or what stands for one.
        state_key: None shows it only.

    Raises:
        ValueError: it has no id, so that nobody could tell it from the one in the state.
        RuntimeError: no node is running here.
    """
    (pushed,) = coerced([message])
    if id_of(pushed) is None:
        raise ValueError("Message ID is required")
    tell(pushed)
    if state_key is not None:
        push(state_key, pushed)
    return pushed
