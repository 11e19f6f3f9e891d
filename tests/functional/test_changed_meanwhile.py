"""A thread that is changed from outside, while others change it too (G4): who changes it goes by what there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypedDict

import pytest

from checkpointers import MemorySaver
from flowfn import Interrupted, entrypoint, interrupt
from flowfn.errors import InvalidInput, SaverError, ThreadBusy
from flowfn.ports import Busy, Commit, Lease
from graph_compat.graph import StateGraph


class Beside(MemorySaver):
    """Others are at work on its threads: what they do comes just before the next claim."""

    before_claim: Callable[[], Any] | None = None
    error: SaverError | None = None

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        do, self.before_claim = self.before_claim, None
        if do is not None:
            do()
        return super().claim(thread, force=force)

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        if self.error is not None:
            return [self.error] * len(commits)
        return super().commit(commits, wait=wait)


def asking(saver: MemorySaver) -> Any:
    @entrypoint(checkpointer=saver)
    def ask(n: int) -> str:
        return f"{n} {interrupt('ok?')}"

    return ask


def asked(workflow: Any) -> Any:
    """A thread whose run waits."""
    with pytest.raises(Interrupted):
        workflow.thread("t")(1)
    return workflow.thread("t")


MEANWHILE: list[Callable[[], Any]] = []
"""What others do as the reducer adds for the second time."""


def add(old: list[int], new: list[int]) -> list[int]:
    if new == [3] and MEANWHILE:
        MEANWHILE.pop()()
    return [*old, *new]


class State(TypedDict):
    log: Annotated[list[int], add]


def logging(saver: MemorySaver) -> Any:
    builder = StateGraph(State)
    builder.add_node("one", lambda state: {"log": [1]})
    builder.set_entry_point("one")
    return builder.compile(checkpointer=saver)


def test_an_update_adds_to_what_another_has_written_meanwhile() -> None:
    """Else what a run or another update came to between its look and its commit is gone."""
    saver = Beside()
    graph, config = logging(saver), {"configurable": {"thread_id": "t"}}
    graph.invoke({"log": []}, config)
    saver.before_claim = lambda: graph.update_state(config, {"log": [2]})
    graph.update_state(config, {"log": [4]})
    assert graph.get_state(config).values == {"log": [1, 2, 4]}


def test_nobody_writes_between_two_supersteps_of_an_update() -> None:
    """It holds the thread until the last one; then it is free."""
    saver = MemorySaver()
    graph, config = logging(saver), {"configurable": {"thread_id": "t"}}
    found = []

    def write() -> None:
        with pytest.raises(ThreadBusy) as refused:
            graph.update_state(config, {"log": [0]}, as_node="one")
        found.append(refused.value)

    MEANWHILE.append(write)
    graph.bulk_update_state(config, [[({"log": [2]}, "one")], [({"log": [3]}, "one")]])
    assert len(found) == 1
    assert graph.get_state(config).values == {"log": [2, 3]}
    assert isinstance(saver.claim("t"), Lease)


def test_an_update_that_fails_leaves_the_thread_free() -> None:
    """Whatever it was: the process lives on, and nobody else would get it."""
    saver = MemorySaver()
    workflow = asking(saver)
    with pytest.raises(Exception, match="nobody"):
        workflow.update_state({"configurable": {"thread_id": "t"}}, 5, "nobody")
    assert isinstance(saver.claim("t"), Lease)


def test_two_forks_to_one_id_are_one() -> None:
    """The second is refused, also where both began before there was any."""
    saver = Beside()
    thread = asked(asking(saver))

    def fork_and_end() -> None:
        thread.fork(thread_id="copy").resume("yes")

    saver.before_claim = fork_and_end
    with pytest.raises(InvalidInput, match="'copy' exists already"):
        thread.fork(thread_id="copy")
    row = saver.thread("copy")
    assert row is not None
    assert (row.status, row.owner) == ("done", None)


def test_what_ended_as_it_was_cancelled_is_done() -> None:
    """It had a result, which somebody has seen; `once` gives it, and doesn't go on."""
    saver = Beside()
    thread = asked(asking(saver))
    saver.before_claim = lambda: thread.resume("yes")
    thread.cancel()
    assert thread.status == "done"
    assert thread.once(1) == "1 yes"


def test_a_thread_whose_cancellation_fails_is_left_free() -> None:
    """As by a disk that is full: the next one who wants it gets it."""
    saver = Beside()
    thread = asked(asking(saver))
    saver.error = SaverError("the disk is full")
    with pytest.raises(SaverError, match="disk is full"):
        thread.cancel()
    saver.error = None
    assert thread.resume("yes") == "1 yes"
