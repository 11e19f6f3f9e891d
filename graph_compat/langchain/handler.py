"""The callback handler that shows the tokens of chat models. Importing it imports LangChain."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers._streaming import _StreamingCallbackHandler

from flowfn.context import current_frame
from graph_compat.constants import TAG_NOSTREAM
from graph_compat.langchain.tokens import EVENTS, PIECES, Shown, shown_by

if TYPE_CHECKING:
    from flowfn.context import Frame


class Listening(BaseCallbackHandler):
    """Knows which of a run's models are to be shown, and to whom."""

    run_inline = True
    form: str

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._runs: dict[UUID, tuple[Shown, Frame, Mapping[str, Any]]] = {}
        self._told: set[UUID] = set()
        """The runs of which pieces were shown whose ids needn't be that of the message: so it is with events."""

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: Any,
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **rest: Any,
    ) -> None:
        """Note whose tokens the model's are."""
        frame = current_frame.get()
        if frame is None or TAG_NOSTREAM in (tags or ()):
            return
        told = [tag for tag in tags or () if not tag.startswith("seq:step")]
        found = {**(metadata or {}), **({"tags": told} if told else {})}
        self._runs[run_id] = shown_by(frame) or self._shown, frame, found

    def on_llm_end(self, response: Any, *, run_id: UUID, **rest: Any) -> None:
        """Show the message, unless it was shown by pieces."""
        run = self._runs.pop(run_id, None)
        generations = response.generations[0] if response.generations else ()
        message = getattr(generations[0], "message", None) if generations else None
        if run is None or message is None:
            return
        shown, frame, metadata = run
        if run_id in self._told:
            self._told.discard(run_id)
            shown.know(frame, message, self.form)
        else:
            shown.show_whole(frame, message, metadata, self.form)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **rest: Any) -> None:
        """Forget the run."""
        self._told.discard(run_id)
        self._runs.pop(run_id, None)


class TokenHandler(Listening, _StreamingCallbackHandler[Any]):
    """Shows what chat models write: each piece, or the whole where a model doesn't stream.

    Being a streaming handler, it makes models stream that can.
    """

    form = PIECES

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: UUID, **rest: Any) -> None:
        """Show a piece."""
        run, message = self._runs.get(run_id), getattr(chunk, "message", None)
        if run is not None and message is not None:
            shown, frame, metadata = run
            shown.show(frame, message, metadata, self.form)
            if EVENTS in shown.forms():
                self._told.add(run_id)

    def tap_output_aiter(self, run_id: UUID, output: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """The output as it is: only models are listened to."""
        return output

    def tap_output_iter(self, run_id: UUID, output: Iterator[Any]) -> Iterator[Any]:
        """The output as it is."""
        return output
