"""A call of a thread in the code that reads a stream of it: the run goes on when that code reads on.

Rule: nobody waits for himself. Whoever else calls the thread meanwhile waits, as for any run.
"""

import asyncio
import operator
from contextvars import copy_context
from threading import Event, Thread
from typing import Annotated, Any, TypedDict

import pytest

from checkpointers import MemorySaver
from flowfn import ThreadBusy
from flowfn.ports import Busy, Lease
from graph_compat.graph import START, StateGraph

CONFIG: Any = {"configurable": {"thread_id": "1"}}
NEW: Any = {"ran": ["new"]}
ENOUGH = 12
"""Looks at a busy thread, after which a call in vain would have been refused."""

MODES = pytest.mark.parametrize("mode", ["updates", ["updates", "custom"]])
"""A run that goes by turns, and one on a worker."""


class State(TypedDict):
    """What ran, in order."""

    ran: Annotated[list[str], operator.add]


class Looked(MemorySaver):
    """Tells when somebody has waited for some time."""

    def __init__(self) -> None:
        super().__init__()
        self.looks, self.enough = 0, Event()

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        found = super().claim(thread, force=force)
        self.looks += isinstance(found, Busy)
        if self.looks == ENOUGH:
            self.enough.set()
        return found


def graph_on(saver: MemorySaver) -> Any:
    """A graph of three nodes in turn, which note that they ran."""
    builder = StateGraph(State)
    builder.add_sequence([(name, lambda state, name=name: {"ran": [name]}) for name in "abc"])
    builder.add_edge(START, "a")
    return builder.compile(checkpointer=saver)


@MODES
@pytest.mark.parametrize("call", ["invoke", "updates", "custom"])
def test_a_call_in_the_loop_is_refused(mode: Any, call: str) -> None:
    """It would wait for ever; the stream can be read on."""
    graph = graph_on(MemorySaver())
    stream = graph.stream({"ran": []}, CONFIG, stream_mode=mode)
    next(stream)
    with pytest.raises(ThreadBusy, match=r"whose stream this code reads itself.*close it"):
        graph.invoke(NEW, CONFIG) if call == "invoke" else [*graph.stream(NEW, CONFIG, stream_mode=call)]
    assert len([*stream]) == 2
    assert graph.invoke(NEW, CONFIG) == {"ran": ["a", "b", "c", "new", "a", "b", "c"]}


@pytest.mark.parametrize("call", ["ainvoke", "astream"])
def test_a_call_in_the_asyncio_loop_is_refused(call: str) -> None:
    """So it is in asyncio, where a stream that was closed lets it in."""
    graph = graph_on(MemorySaver())

    async def run() -> Any:
        stream = graph.astream({"ran": []}, CONFIG)
        await anext(stream)
        again = graph.ainvoke(NEW, CONFIG) if call == "ainvoke" else anext(graph.astream(NEW, CONFIG))
        with pytest.raises(ThreadBusy, match="whose stream this code reads itself"):
            await again
        await stream.aclose()
        return await graph.ainvoke(None, CONFIG)

    assert asyncio.run(run()) == {"ran": ["a", "b", "c"]}


@MODES
def test_another_thread_waits(mode: Any) -> None:
    """Its reader reads on meanwhile; what the context says of who opened the stream isn't enough."""
    saver, results = Looked(), list[Any]()
    graph = graph_on(saver)
    stream = graph.stream({"ran": []}, CONFIG, stream_mode=mode)
    next(stream)
    context = copy_context()
    other = Thread(target=lambda: context.run(lambda: results.append(graph.invoke(NEW, CONFIG))))
    other.start()
    assert saver.enough.wait(10)
    assert len([*stream]) == 2
    other.join()
    assert results == [{"ran": ["a", "b", "c", "new", "a", "b", "c"]}]


@MODES
def test_the_thread_that_read_last_for_somebody_waits(mode: Any) -> None:
    """A web server's thread, which asks for a chunk in its request's context, then serves another request."""
    saver, results = Looked(), list[Any]()
    graph = graph_on(saver)
    stream = graph.stream({"ran": []}, CONFIG, stream_mode=mode)

    def serve() -> None:
        copy_context().run(next, stream)
        copy_context().run(lambda: results.append(graph.invoke(NEW, CONFIG)))

    other = Thread(target=serve)
    other.start()
    assert saver.enough.wait(10)
    assert len([*stream]) == 2
    other.join()
    assert results == [{"ran": ["a", "b", "c", "new", "a", "b", "c"]}]


def test_another_task_waits() -> None:
    """One that the loop's body begins may end once the loop has."""
    saver = Looked()
    graph = graph_on(saver)

    async def run() -> Any:
        stream = graph.astream({"ran": []}, CONFIG)
        await anext(stream)
        other = asyncio.create_task(graph.ainvoke(NEW, CONFIG))
        assert await asyncio.to_thread(saver.enough.wait, 10)
        assert len([chunk async for chunk in stream]) == 2
        return await other

    assert asyncio.run(run()) == {"ran": ["a", "b", "c", "new", "a", "b", "c"]}


def test_a_run_that_ends_by_itself_is_waited_for() -> None:
    """It has told all that it will, and needs no reader."""
    graph = graph_on(MemorySaver())
    stream = graph.stream({"ran": []}, CONFIG, stream_mode=["updates", "custom"])
    for _ in "abc":
        next(stream)
    assert graph.invoke(NEW, CONFIG) == {"ran": ["a", "b", "c", "new", "a", "b", "c"]}
