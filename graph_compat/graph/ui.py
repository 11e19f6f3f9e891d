"""Pieces of a user interface as state: what a node shows, by id."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, cast
from uuid import uuid4

from graph_compat.injection import config_of, frame_here
from graph_compat.langchain.messages import id_of
from graph_compat.pushing import push

__all__ = [
    "AnyUIMessage",
    "RemoveUIMessage",
    "UIMessage",
    "delete_ui_message",
    "push_ui_message",
    "ui_message_reducer",
]


class UIMessage(TypedDict):
    """A component to show, by its name, with its properties."""

    type: Literal["ui"]
    id: str
    name: str
    props: dict[str, Any]
    metadata: dict[str, Any]


class RemoveUIMessage(TypedDict):
    """Takes the component of an id away."""

    type: Literal["remove-ui"]
    id: str


AnyUIMessage = UIMessage | RemoveUIMessage


def push_ui_message(
    name: str,
    props: dict[str, Any],
    *,
    id: str | None = None,
    metadata: dict[str, Any] | None = None,
    message: Any = None,
    state_key: str | None = "ui",
    merge: bool = False,
) -> UIMessage:
    """Show a component to `custom` streams now, and write it to the state with what the node returns.

    Args:
        id: default: a fresh one.
        message: the chat message that it belongs to.
        state_key: None shows it only.
        merge: add the properties to those of the component that has this id.

    Raises:
        RuntimeError: no node is running here.
    """
    frame = frame_here()
    config = config_of(frame)
    shown: UIMessage = {
        "type": "ui",
        "id": id or str(uuid4()),
        "name": name,
        "props": props,
        "metadata": {
            "merge": merge,
            "run_id": config.get("run_id"),
            "tags": config.get("tags"),
            "name": config.get("run_name"),
            **(metadata or {}),
            **({"message_id": id_of(message)} if message is not None else {}),
        },
    }
    _show(frame, shown, state_key)
    return shown


def delete_ui_message(id: str, *, state_key: str = "ui") -> RemoveUIMessage:
    """Take a component away, from what is shown and from the state.

    Raises:
        RuntimeError: no node is running here.
    """
    removal: RemoveUIMessage = {"type": "remove-ui", "id": id}
    _show(frame_here(), removal, state_key)
    return removal


def _show(frame: Any, message: AnyUIMessage, state_key: str | None) -> None:
    frame.runtime.stream_writer(message)
    if state_key is not None:
        push(state_key, message)


def ui_message_reducer(
    left: list[AnyUIMessage] | AnyUIMessage, right: list[AnyUIMessage] | AnyUIMessage
) -> list[AnyUIMessage]:
    """Merge components by id: a reducer. Metadata with a true `merge` adds properties instead of replacing them.

    Raises:
        ValueError: a removal's id is unknown.
    """
    merged = list(left) if isinstance(left, list) else [left]
    removed = set()
    for message in right if isinstance(right, list) else [right]:
        place = next((i for i, known in enumerate(merged) if known["id"] == message["id"]), None)
        if message["type"] == "remove-ui":
            if place is None:
                raise ValueError(
                    f"Attempting to delete an UI message with an ID that doesn't exist ('{message['id']}')"
                )
            removed.add(message["id"])
        elif place is None:
            merged.append(message)
        else:
            removed.discard(message["id"])
            merged[place] = _combined(cast("UIMessage", merged[place]), message)
    return [message for message in merged if message["id"] not in removed]


def _combined(old: UIMessage, new: UIMessage) -> UIMessage:
    if not new["metadata"].get("merge"):
        return new
    return {**new, "props": {**old["props"], **new["props"]}}
