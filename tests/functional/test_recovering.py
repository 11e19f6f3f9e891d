"""`workflow.recover()`: every run that would go on if somebody called does."""

from datetime import timedelta
from typing import Any, TypedDict

import pytest

from checkpointers import MemorySaver
from flowfn import AsyncInBlockingRun, InvalidInput, ThreadBusy, entrypoint, interrupt
from flowfn.ports import ThreadRow
from flowfn.saver_around import SaverAround
from flowfn.testing import VirtualClock
from graph_compat.graph import START, StateGraph

from ..worlds import World, asked
from .test_threads import PowerCut, left_behind


def test_all_that_was_killed_goes_on(world: World) -> None:
    """What one run comes to is its own affair: its result, its question, its error. What wasn't killed is left."""

    dies = {"asks", "ends", "fails"}

    @world.task
    async def work(x: str) -> str:
        world.ran.append(x)
        return x

    @world.entrypoint
    async def wf(x: str) -> str:
        found: str = await world.value(work(x))
        if found in dies:
            raise PowerCut
        if found == "fails":
            raise ConnectionError("lost")
        return interrupt("sure?") if found.startswith("asks") else found

    for x in sorted(dies):
        with pytest.raises(PowerCut):
            world.do(wf.thread(x), "invoke", x)
    dies.clear()
    world.do(wf.thread("done"), "invoke", "done")
    world.do(wf.thread("waits"), "invoke", "asks too")
    world.ran.clear()
    found = world.do(wf, "recover")
    assert list(found) == ["asks", "ends", "fails"]
    assert (found["ends"], repr(found["fails"])) == ("ends", "ConnectionError('lost')")
    assert asked(found["asks"]) == ["sure?"]
    assert world.do(wf, "recover") == {}
    assert world.ran == []


def test_what_somebody_has_ended_since_it_was_listed(world: World) -> None:
    """G4: a run is looked at again once its thread is held: one that was cancelled, or has failed, is left."""
    dies = {"first", "second"}

    @world.entrypoint
    async def wf(x: str) -> str:
        world.ran.append(x)
        if x in dies:
            raise PowerCut
        wf.thread("second").cancel()
        return x

    for x in sorted(dies):
        with pytest.raises(PowerCut):
            world.do(wf.thread(x), "invoke", x)
    dies.clear()
    world.ran.clear()
    found = world.do(wf, "recover", {"max_concurrency": 1})
    assert (found["first"], str(found["second"])) == (
        "first",
        "thread 'second' is cancelled by now: somebody else went on with it, or ended it",
    )
    assert isinstance(found["second"], ThreadBusy)
    assert (world.ran, wf.thread("second").status) == (["first"], "cancelled")


class State(TypedDict):
    said: str


def graph(says: str, saver: MemorySaver, dies: bool, **options: Any) -> Any:
    """A graph of one node, which dies or says what it is told to."""

    def say(state: State) -> State:
        if dies:
            raise PowerCut
        return {"said": says}

    return StateGraph(State).add_node(say).add_edge(START, "say").compile(checkpointer=saver, **options)


def test_a_graph_that_nobody_named() -> None:
    """G2: a run of its name may be another graph's, whose nodes would be run by this one's functions."""
    saver = MemorySaver()
    for name in (None, "orders"):
        with pytest.raises(PowerCut):
            graph("order", saver, dies=True, name=name).thread(name or "t").invoke({"said": ""})
    with pytest.raises(InvalidInput, match=r"name this one, by compile\(name=…\)"):
        graph("mail", saver, dies=False).recover()
    assert graph("mail", saver, dies=False, name="mails").recover() == {}
    assert graph("order", saver, dies=False, name="orders").recover() == {"orders": {"said": "order"}}


def test_what_another_process_goes_on_with_is_that_one_s() -> None:
    """G4: nobody waits for it."""

    class Overtaken(SaverAround):
        def unfinished(self, workflow: str, *, limit: int | None = None) -> list[ThreadRow]:
            found = self.inner.unfinished(workflow, limit=limit)
            self.inner.claim("t")
            return found

    saver = Overtaken(MemorySaver())

    @entrypoint(checkpointer=saver)
    def wf() -> None:
        interrupt("sure?")

    wf.thread("t").invoke()
    left_behind(saver, "t")
    (busy,) = wf.recover({"max_concurrency": 1}).values()
    assert isinstance(busy, ThreadBusy)


def test_a_question_whose_time_is_up() -> None:
    """The run goes on with the default; before its time it isn't touched."""

    @entrypoint(checkpointer=MemorySaver())
    def trial(user: str) -> str:
        answer: str = interrupt(f"{user}: keep it?", timeout=timedelta(days=30), default="silence")
        return answer

    with VirtualClock() as clock:
        trial.thread("ada").invoke("ada")
        assert trial.recover() == {}
        clock.advance(timedelta(days=31))
        assert trial.recover() == {"ada": "silence"}


def test_an_async_workflow_is_awaited() -> None:
    """G7: a blocking call is refused at once, and not when there is something to go on with."""

    @entrypoint(checkpointer=MemorySaver())
    async def wf() -> None: ...

    with pytest.raises(AsyncInBlockingRun, match="call the workflow by ainvoke"):
        wf.recover()
