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
from graph_compat.injection import config_of, frame_here
from graph_compat.langchain import MESSAGES
from graph_compat.langchain.messages import id_of, identify, messages_in

if TYPE_CHECKING:
    from flowfn.context import Frame
    from flowfn.invocation import Order
    from flowfn.streams import Shaper


class Shown:
    """The ids of the messages that a stream has shown; of nested graphs, if it shows `subgraphs`."""

    def __init__(self, subgraphs: bool) -> None:
        self.ids: set[str] = set()
        self._subgraphs = subgraphs

    def show(self, frame: Frame, message: Any, metadata: Mapping[str, Any]) -> None:
        """Show a message, or a piece of one."""
        if frame.run.namespace and not self._subgraphs:
            return
        name = id_of(message)
        if name is not None:
            self.ids.add(name)
        if (post := frame.run.root.post) is not None:
            post(Message(frame.run.namespace, message, metadata))

    def show_new(self, frame: Frame, given: Any, returned: Any, metadata: Mapping[str, Any]) -> None:
        """Show the messages that a node returns and was not given."""
        if frame.run.namespace and not self._subgraphs:
            return
        self.ids.update(name for message in messages_in(given) if (name := id_of(message)) is not None)
        place = frame.run.task_id(frame.scope)
        for message in messages_in(returned):
            if identify(message, self.ids, place) not in self.ids:
                self.show(frame, message, metadata)


def listening(order: Order, shaper: Shaper, printed: str | Sequence[str]) -> Order:
    """A call whose events are shaped so, with a `Shown` where messages are among them."""
    modes = (*shaper.modes, *((printed,) if isinstance(printed, str) else printed))
    frame = current_frame.get()
    if "messages" in modes and (frame is None or shown_by(frame) is None):
        order.config = replace(order.config, rest={**order.config.rest, MESSAGES: Shown(shaper.subgraphs)})
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
    frame = frame_here()
    shown = shown_by(frame)
    if shown is not None:
        shown.show(frame, message, config_of(frame)["metadata"])
