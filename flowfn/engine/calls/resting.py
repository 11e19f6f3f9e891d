"""The rest between two attempts at a call.

Rule: no other attempt follows where its call is given up, or its run ends: the call was under way, and runs again. The
rest is over at once then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from flowfn.errors import Stopped
from flowfn.futures import Future

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.ports import Host


async def rest(call: Call, host: Host, seconds: float, tell: Callable[[], None]) -> None:
    """Wait for the next attempt at a call, and tell of it before.

    Raises:
        Stopped: there is to be none.
    """
    over: Future[None] = Future()
    root = call.run.root
    root.rests[over] = call
    try:
        # Asked once it can be ended: who gives a call up says so, and then ends its rest.
        if not call.in_vain:
            tell()
            await host.rest(seconds, over)
        if call.in_vain:
            raise root.fatal or Stopped
    finally:
        del root.rests[over]
