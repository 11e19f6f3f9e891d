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
from graph_compat.langchain import MESSAGES, PROTOCOL, TOOLS
from graph_compat.langchain.messages import id_of, identify, is_of_tool, messages_in

if TYPE_CHECKING:
    from flowfn.context import Frame
    from flowfn.invocation import Order
    from flowfn.streams import Shaper


class Shown:
    """The ids of the messages that a stream has shown; `around` is that of a stream of the graph around.

    With `by_events` a model's call is shown by the events of stream events v3, and tools' answers aren't: what a tool
    came to is shown by the `tools` mode.
    """

    def __init__(self, shaper: Shaper, around: Shown | None, by_events: bool = False) -> None:
        self.ids: set[str] = set()
        self.by_events = by_events
        self._shaper = shaper
        self._around = around

    def _hearing(self, frame: Frame) -> list[Shown]:
        """The streams that show what a frame's run has to show."""
        here, shaper = frame.run.namespace, self._shaper
        hearing = [] if self._around is None else self._around._hearing(frame)
        return [self, *hearing] if shaper.subgraphs or here == shaper.place else hearing

    def show(self, frame: Frame, message: Any, metadata: Mapping[str, Any]) -> None:
        """Show a message, or a piece of one."""
        hearing = self._hearing(frame)
        if not hearing:
            return
        name = id_of(message)
        if name is not None:
            for each in hearing:
                each.ids.add(name)
        if (post := frame.run.post) is not None:
            post(Message(frame.run.namespace, message, metadata))

    def show_event(self, frame: Frame, event: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        """Show an event of stream events v3 of a message that a model writes."""
        hearing = self._hearing(frame)
        if hearing and event.get("event") == "message-start" and (name := event.get("id")) is not None:
            for each in hearing:
                each.ids.add(name)
        if hearing and (post := frame.run.post) is not None:
            post(Message(frame.run.namespace, event, metadata))

    def show_new(self, frame: Frame, given: Any, returned: Any, metadata: Mapping[str, Any]) -> None:
        """Show the messages that a node returns and was not given."""
        hearing = self._hearing(frame)
        if not hearing:
            return
        known = {name for message in messages_in(given) if (name := id_of(message)) is not None}
        for each in hearing:
            each.ids |= known
        ids, place = hearing[0].ids, frame.run.task_id(frame.scope)
        for message in messages_in(returned):
            if identify(message, ids, place) not in ids and not (self.by_events and is_of_tool(message)):
                self.show(frame, message, metadata)


def listening(order: Order, shaper: Shaper, printed: str | Sequence[str]) -> Order:
    """A call whose events are shaped so, with a `Shown` where messages are among them, and a mark where tools are."""
    modes = (*shaper.modes, *((printed,) if isinstance(printed, str) else printed))
    frame, config = current_frame.get(), order.config
    if by_events := PROTOCOL in config.configurable:
        said = {key: value for key, value in config.configurable.items() if key != PROTOCOL}
        order.config = config = replace(config, configurable=said)
    if "messages" in modes:
        shown = Shown(shaper, None if frame is None else shown_by(frame), by_events)
        order.config = config = replace(config, rest={**config.rest, MESSAGES: shown})
    if "tools" in modes:
        order.config = replace(config, rest={**config.rest, TOOLS: True})
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
