"""Where the running code is: the one context variable of flowfn.

A worker thread and an asyncio task each see the frame of the task that their user code belongs to.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowfn.engine.frame import Frame as Frame

current_frame: ContextVar[Frame | None] = ContextVar("flowfn.frame", default=None)
