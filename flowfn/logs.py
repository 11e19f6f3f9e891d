"""The one logger of flowfn, silent unless the program configures logging; and where in a run a line was logged."""

from __future__ import annotations

import logging

from flowfn.context import current_frame

__all__ = ["RunContext", "logger"]

logger = logging.getLogger("flowfn")
logger.addHandler(logging.NullHandler())


class RunContext(logging.Filter):
    """Gives each record of a handler the ids of the run that its code is part of; it lets all of them pass.

    `flowfn_thread`, `flowfn_task` (the name), `flowfn_task_id` and `flowfn_attempt` (from 1) are for the handler's
    format; outside of runs they are empty.

        handler.addFilter(RunContext())
        handler.setFormatter(logging.Formatter("%(flowfn_thread)s %(flowfn_task)s %(message)s"))
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add what the record doesn't say itself."""
        frame = current_frame.get()
        for name in ("flowfn_thread", "flowfn_task", "flowfn_task_id", "flowfn_attempt"):
            record.__dict__.setdefault(name, "")
        if frame is not None and not record.__dict__["flowfn_task_id"]:
            call = frame.call
            record.__dict__.update(
                flowfn_thread=frame.run.thread,
                flowfn_task=call.definition.name,
                flowfn_task_id=call.id,
                flowfn_attempt=frame.attempt,
            )
        return True
