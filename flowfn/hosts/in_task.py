"""Running a taken job in an asyncio task until its future is settled: that of whoever awaits it, or one of its own.

Rule: a cancellation of the task cancels the future. Apart from `settling`, which blocking programs need, as these never
load asyncio.
"""

from __future__ import annotations

import asyncio
from sys import exc_info
from typing import Any

from flowfn.errors import Stopped
from flowfn.futures import Future, Job
from flowfn.python.handling import part_from


async def settle_in_task(future: Future[Any], job: Job, turn: asyncio.Future[None] | None = None) -> None:
    """Run a job to its end, once its `turn` has come to begin."""
    around = exc_info()[1]
    try:
        if turn is not None:
            await turn
        value = await job()
    except asyncio.CancelledError:
        future.abandon()
        raise
    except Stopped:
        future.abandon()
    except BaseException as error:
        part_from(error, around)
        future.set_exception(error)
    else:
        future.set_result(value)
    finally:
        del around  # the error's traceback names this frame
