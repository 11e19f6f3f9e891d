"""The source of a recorded call is kept, for reports (section 4.4), without a cost per call."""

import asyncio
from collections.abc import Mapping

import pytest

from checkpointers import MemorySaver
from flowfn import entrypoint, task
from flowfn.errors import SaverError


class Blocking(MemorySaver):
    """A saver whose calls may block, as a server's do; counts what it is asked to keep, and refuses the first times."""

    inline = False

    def __init__(self, *, refuses: int = 0) -> None:
        super().__init__()
        self.asked = 0
        self.refuses = refuses

    def keep_sources(self, sources: Mapping[str, bytes]) -> None:
        self.asked += 1
        if self.asked <= self.refuses:
            raise SaverError("not now")
        super().keep_sources(sources)


def fan(saver: MemorySaver) -> None:
    """A run of many calls at once, of a function that nobody called before."""

    @task
    async def step(number: int) -> int:
        return number

    @entrypoint(checkpointer=saver)
    async def workflow(size: int) -> int:
        return sum(await asyncio.gather(*[step(number) for number in range(size)]))

    assert asyncio.run(workflow.ainvoke(50, thread_id="t")) == sum(range(50))


@pytest.mark.parametrize("refuses", [0, 1])
def test_many_calls_at_once_keep_their_source_once(refuses: int) -> None:
    """None waits for it; where the backend refuses, a later call tries again."""
    saver = Blocking(refuses=refuses)
    for _ in range(1 + refuses):
        fan(saver)
    assert saver.asked == 1 + refuses
    assert any(b"async def step" in text for text in saver._sources.values())
