"""The one logger of flowfn, all but silent unless the program configures logging; and where in a run a line was logged.

Rule: what a program wrote that nothing in it takes is lost for good, and often misspelt: that is told on stderr too. So
is a task's result that nobody looks at, where its future was taken for it: the code goes on with another one.
"""

from __future__ import annotations

import logging

from flowfn.context import current_frame

__all__ = ["LOST", "RunContext", "logger"]

LOST = {"flowfn_lost": True}
"""The `extra` of a line that tells what is lost for good."""


class _Unconfigured(logging.NullHandler):
    """Tells what is lost for good as Python tells what has no handler, where the program gave flowfn's lines none."""

    def handle(self, record: logging.LogRecord) -> bool:
        """Tell of it, or don't."""
        others = any(each is not self for each in logger.handlers) or logging.getLogger().handlers
        last = logging.lastResort
        if last is None or others or not hasattr(record, "flowfn_lost"):
            return False
        return bool(last.handle(record))


logger = logging.getLogger("flowfn")
logger.addHandler(_Unconfigured())


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
