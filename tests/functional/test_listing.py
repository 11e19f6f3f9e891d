"""What a thread is said to wait for while its run goes on: nothing that was asked is missing when the run is left."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import Command, entrypoint, interrupt, task
from flowfn.context import current_frame
from flowfn.ports import Commit, Loaded, Writes
from flowfn.row_channels import QUESTION, RUN_TASK
from flowfn.saver_around import SaverAround

from ..worlds import World, asked


class Slow(SaverAround):
    """Calls `reading` whenever something is read, on a thread; `lists` is how many questions each list had."""

    inline = False  # type: ignore[assignment]

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.reading: Callable[[], Any] = lambda: None
        self.lists: list[int] = []

    def load(self, thread: str, namespace: str = "", checkpoint: str | None = None) -> Loaded | None:
        found = super().load(thread, namespace, checkpoint)
        self.reading()
        return found

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        items = [item for commit in commits for item in commit.items if isinstance(item, Writes)]
        rows = [row for item in items for row in item.rows if (row.task, row.channel) == (RUN_TASK, QUESTION)]
        self.lists += [len(self.serde.loads(row.value)) for row in rows]
        return super().commit(commits, wait=wait)


async def test_what_was_asked_is_listed_though_the_run_is_left_while_its_list_is_made() -> None:
    """G1: the answer is taken, whenever the run is cancelled."""
    saver, is_read, goes_on = Slow(MemorySaver()), threading.Event(), threading.Event()

    def read() -> None:
        is_read.set()
        goes_on.wait()

    @task
    async def ask() -> str:
        saver.reading = read
        return str(interrupt("approve?"))

    @task
    async def work() -> None:
        while not goes_on.is_set():
            await asyncio.sleep(0)

    @entrypoint(checkpointer=saver)
    async def wf() -> str:
        working, asking = work(), ask()
        answer = await asking
        await working
        return answer

    running = asyncio.create_task(wf.ainvoke(thread_id="t"))
    await asyncio.to_thread(is_read.wait)
    running.cancel()
    goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    state = await wf.aget_state({"configurable": {"thread_id": "t"}})
    assert [question.value for question in state.interrupts] == ["approve?"]
    assert await wf.ainvoke(Command(resume="yes"), thread_id="t") == "yes"


def test_no_list_of_what_waits_replaces_a_longer_one(world: World) -> None:
    """G1: of two that ask at once, the one that is slower to write takes nothing from the other's list."""
    saver = Slow(world.saver)
    roots: list[Any] = []

    def wait_for_another() -> None:
        saver.reading = lambda: None
        while not roots[0].questions.listing.is_wanted:
            time.sleep(0)

    @world.task
    async def ask(x: int) -> Any:
        frame = current_frame.get()
        assert frame is not None
        if not roots:
            saver.reading = wait_for_another
        roots.append(frame.run.root)
        return interrupt(x)

    @world.entrypoint(checkpointer=saver)
    async def wf() -> list[Any]:
        both = [ask(0), ask(1)]
        return [await world.value(each) for each in both]

    assert sorted(asked(world.invoke(wf, thread_id="t"))) == [0, 1]  # whichever thread was the first
    assert saver.lists == sorted(saver.lists)
    assert saver.lists[-1] == 2
