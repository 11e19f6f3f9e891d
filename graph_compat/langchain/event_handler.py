"""The callback handler that shows models by the events of stream events v3. Importing it imports LangChain.

Rule: LangChain knows such handlers from the release on that has the events; ordinary streams don't need it.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from graph_compat.langchain.handler import Listening
from graph_compat.langchain.tokens import EVENTS

try:
    from langchain_core.tracers._streaming import _V2StreamingCallbackHandler
except ImportError as error:
    raise ImportError(
        "stream events v3 need a langchain-core that has them: python -m pip install -U langchain-core"
    ) from error


class EventHandler(Listening, _V2StreamingCallbackHandler):
    """Shows what chat models write by the events of stream events v3, or the whole where a model doesn't stream.

    Being a handler of that kind, it makes models stream that can.
    """

    form = EVENTS

    def on_stream_event(self, event: Any, *, run_id: UUID, **rest: Any) -> None:
        """Show an event."""
        if (run := self._runs.get(run_id)) is not None:
            shown, frame, metadata = run
            shown.show(frame, event, {**metadata, "run_id": str(run_id)}, self.form)
            if event.get("event") == "message-start":
                self._told.add(run_id)
