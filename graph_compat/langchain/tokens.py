"""`messages` streams: what a run has shown to one, so that each message is shown once.

A message is shown token by token where its model streams, as it is pushed, or when the node ends that
returns it. One that came in with a node's input isn't shown again when the node returns it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame
from flowfn.events import Message
from graph_compat.langchain import MESSAGES
from graph_compat.langchain.messages import id_of, identify, messages_in

if TYPE_CHECKING:
    from flowfn.engine.frame import Frame
    from flowfn.invocation import Order

class Shown:
    """The ids of the messages that a stream has shown."""

    def __init__(self) -> None:
        self.ids: set[str] = set()

    def show(self, frame: Frame, message: Any, metadata: Mapping[str, Any]) -> None:
        """Show a message, or a piece of one."""
        name = id_of(message)
        if name is not None:
            self.ids.add(name)
        if (post := frame.run.root.post) is not None:
            post(Message(frame.run.namespace, message, metadata))

    def show_new(self, frame: Frame, given: Any, returned: Any, metadata: Mapping[str, Any]) -> None:
        """Show the messages that a node returns and was not given."""
        self.ids.update(name for message in messages_in(given) if (name := id_of(message)) is not None)
        place = frame.run.task_id(frame.scope)
        for message in messages_in(returned):
            if identify(message, self.ids, place) not in self.ids:
                self.show(frame, message, metadata)


def listening(order: Order, *modes: str | Sequence[str]) -> Order:
    """A call whose stream modes are these, with a `Shown` where one is `messages`."""
    frame = current_frame.get()
    nested = frame is not None and shown_by(frame) is not None
    if not nested and any(mode == "messages" if isinstance(mode, str) else "messages" in mode for mode in modes):
        order.config = replace(order.config, rest={**order.config.rest, MESSAGES: Shown()})
    return order


def shown_by(frame: Frame) -> Shown | None:
    """What the run that a frame belongs to has shown; None where nobody listens."""
    found: Shown | None = frame.run.config.rest.get(MESSAGES)
    return found


def tell(message: Any) -> None:
    """Show a message of the running code.

    Raises:
        RuntimeError: none is running here.
    """
    from graph_compat.injection import config_of

    frame = current_frame.get()
    if frame is None:
        raise RuntimeError("Called get_config outside of a runnable context")
    shown = shown_by(frame)
    if shown is not None:
        shown.show(frame, message, config_of(frame)["metadata"])
