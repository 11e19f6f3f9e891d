"""`messages` streams: what a run has shown to one, so that each message is shown once.

A message is shown token by token where its model streams, as it is pushed, or when the node ends that
returns it. One that came in with a node's input isn't shown again when a model repeats it, or the node returns it:
what a node was given is looked at before its code runs, which may add to the very list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from flowfn.context import current_frame
from flowfn.events import Message
from graph_compat.injection import config_of, frame_here
from graph_compat.langchain import MESSAGES, PROTOCOL, TOOLS
from graph_compat.langchain.messages import id_of, identify, is_of_tool, messages_in

if TYPE_CHECKING:
    from flowfn.context import Frame
    from flowfn.invocation import Order
    from flowfn.streams import Shaper


PIECES: Final = "pieces"
EVENTS: Final = "events"
"""The forms in which streams show what a model is writing: in pieces, or by the events of stream events v3."""


class Place:
    """Where a run is that is shown by stream events v3; known once it has begun."""

    shaper: Shaper | None = None

    def own(self, part: dict[str, Any]) -> dict[str, Any]:
        """A chunk with the namespace that it has as seen from that run."""
        depth = self.shaper.place.count("|") + 1 if self.shaper is not None and self.shaper.place else 0
        return {**part, "ns": part["ns"][depth:]} if depth else part


class Shown:
    """The ids of the messages that a stream has shown; `around` is that of a stream of the graph around.

    A stream that shows events doesn't show tools' answers: what a tool came to is shown by the `tools` mode.
    """

    def __init__(self, shaper: Shaper, around: Shown | None) -> None:
        self.ids: set[str] = set()
        self._shaper = shaper
        self._around = around

    @property
    def form(self) -> str:
        """How it shows what a model is writing."""
        return self._shaper.form

    def forms(self) -> set[str]:
        """The forms of its stream, and of those around it."""
        return {self.form} if self._around is None else {self.form, *self._around.forms()}

    def _hearing(self, frame: Frame, form: str = "") -> list[Shown]:
        """The streams that show what a frame's run has to show, those of one form or all."""
        here, shaper = frame.run.namespace, self._shaper
        hearing = [] if self._around is None else self._around._hearing(frame, form)
        hears = (shaper.subgraphs or here == shaper.place) and form in ("", self.form)
        return [self, *hearing] if hears else hearing

    def show(self, frame: Frame, message: Any, metadata: Mapping[str, Any], form: str = "") -> None:
        """Show a message, or a piece of one, in streams of one form or all."""
        hearing = self._hearing(frame, form)
        if not hearing:
            return
        name = id_of(message)
        if name is not None:
            for each in hearing:
                each.ids.add(name)
        if (post := frame.run.post) is not None:
            post(Message(frame.run.namespace, message, metadata, form))

    def know(self, frame: Frame, message: Any, form: str) -> None:
        """Not show a message that was shown in streams of one form, under an id of its own or another one."""
        for each in self._hearing(frame, form):
            each.ids.add(message.id)

    def show_whole(self, frame: Frame, message: Any, metadata: Mapping[str, Any], form: str) -> None:
        """Show a message that a model has written in streams of one form, unless it was shown there."""
        hearing = self._hearing(frame, form)
        if hearing and message.id not in hearing[0].ids:
            self.show(frame, message, metadata, form)

    def know_given(self, frame: Frame, given: Any) -> None:
        """Not show the messages that a node is given."""
        hearing = self._hearing(frame)
        if not hearing:
            return
        known = {name for message in messages_in(given) if (name := id_of(message)) is not None}
        for each in hearing:
            each.ids |= known

    def show_new(self, frame: Frame, returned: Any, metadata: Mapping[str, Any]) -> None:
        """Show the messages that a node returns and that aren't known."""
        hearing = self._hearing(frame)
        if not hearing:
            return
        place = frame.run.task_id(frame.scope)
        for first in {each.form: each for each in reversed(hearing)}.values():
            for message in messages_in(returned):
                if identify(message, first.ids, place) in first.ids:
                    continue
                if first.form != EVENTS or not is_of_tool(message):
                    self.show(frame, message, metadata, first.form)


def listening(order: Order, shaper: Shaper, printed: str | Sequence[str]) -> Order:
    """A call whose events are shaped so, with a `Shown` where messages are among them, and a mark where tools are."""
    modes = (*shaper.modes, *((printed,) if isinstance(printed, str) else printed))
    frame, config = current_frame.get(), order.config
    if (place := config.configurable.get(PROTOCOL)) is not None:
        said = {key: value for key, value in config.configurable.items() if key != PROTOCOL}
        order.config = config = replace(config, configurable=said)
        place.shaper, shaper.form = shaper, EVENTS
    if "messages" in modes:
        shown = Shown(shaper, None if frame is None else shown_by(frame))
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
