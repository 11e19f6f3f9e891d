"""Callbacks of a graph's life (section 4.5), compared with LangGraph's."""

import asyncio
import importlib
import logging
from typing import Any, TypedDict

import pytest

from graph_compat.callbacks import GraphCallbackHandler
from graph_compat.checkpoint.memory import InMemorySaver
from graph_compat.graph import START, StateGraph
from graph_compat.types import interrupt

from .loading import CALLERS, GRAPH_COMPAT, LANGGRAPH
from .trace import Mask, render


class State(TypedDict):
    x: str


def told(library: str, caller: str) -> list[Any]:
    """The events of runs that stop for questions, at breakpoints, in a nested graph, and go on."""
    graphs, types, callbacks, memory = (
        importlib.import_module(f"{library}.{name}")
        for name in ("graph", "types", "callbacks", "checkpoint.memory")
    )
    events: list[Any] = []

    class Handler(callbacks.GraphCallbackHandler):  # type: ignore[name-defined,misc]
        def on_interrupt(self, event: Any) -> None:
            self.note(event)

        def on_resume(self, event: Any) -> None:
            self.note(event)

        def note(self, event: Any) -> None:
            asked = [question.value for question in getattr(event, "interrupts", ())]
            events.append(
                (type(event).__name__, event.status, event.checkpoint_ns, bool(event.run_id), asked)
            )

    def ask(state: State) -> Any:
        return {"x": types.interrupt("q")}

    def after(state: State) -> Any:
        return {"x": state["x"] + "!"}

    def compiled(node: Any, **options: Any) -> Any:
        builder = graphs.StateGraph(State)
        builder.add_sequence([("ask", node), ("after", after)])
        builder.add_edge(graphs.START, "ask")
        return builder.compile(**options)

    def run(graph: Any, thread: str, *inputs: Any) -> None:
        config = {"configurable": {"thread_id": thread}, "callbacks": [Handler()]}
        for given in inputs:
            events.append(
                graph.invoke(given, config)
                if caller == "blocking"
                else asyncio.run(graph.ainvoke(given, config))
            )

    saver = memory.InMemorySaver()
    answer = types.Command(resume="r")
    run(compiled(ask, checkpointer=saver), "1", {"x": "a"}, answer)
    stops = {"interrupt_before": ["after"], "interrupt_after": ["ask"]}
    run(compiled(ask, checkpointer=saver, **stops), "2", {"x": "a"}, answer, None, None)
    run(compiled(compiled(ask), checkpointer=saver), "3", {"x": "a"}, answer)
    return [event if isinstance(event, tuple) else event["x"] for event in events]


@pytest.mark.parametrize("caller", CALLERS)
def test_handlers_are_told_when_a_graph_stops_and_goes_on(caller: str) -> None:
    """Questions, breakpoints of either kind, and a nested graph that goes on with its root."""
    theirs, ours = (render(told(library, caller), Mask()) for library in (LANGGRAPH, GRAPH_COMPAT))

    assert ours.splitlines() == theirs.splitlines()


def asking(checkpointer: Any = None) -> Any:
    def ask(state: State) -> Any:
        return {"x": interrupt("q")}

    builder = StateGraph(State)
    builder.add_node(ask)
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=checkpointer or InMemorySaver())


def test_a_failing_handler_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A handler that raises is logged, and the run goes on."""

    class Failing(GraphCallbackHandler):
        def on_interrupt(self, event: Any) -> None:
            raise ValueError("boom")

    with caplog.at_level(logging.WARNING):
        asking().invoke({"x": "a"}, {"configurable": {"thread_id": "1"}, "callbacks": [Failing()]})

    assert caplog.messages == ["Error in Failing.on_interrupt callback: ValueError('boom')"]


def test_a_failing_handler_may_fail_the_call() -> None:
    """With `raise_error` the caller gets the error; the thread waits for its answer all the same."""

    class Failing(GraphCallbackHandler):
        raise_error = True

        def on_interrupt(self, event: Any) -> None:
            raise ValueError("boom")

    graph, config = asking(), {"configurable": {"thread_id": "1"}}
    with pytest.raises(ValueError, match="boom"):
        graph.invoke({"x": "a"}, {**config, "callbacks": [Failing()]})

    assert graph.get_state(config).next == ("ask",)


def test_async_handlers(caplog: pytest.LogCaptureFixture) -> None:
    """An async handler is awaited, for a blocking caller too."""
    seen = []

    class Async(GraphCallbackHandler):
        async def on_interrupt(self, event: Any) -> None:
            await asyncio.sleep(0)
            seen.append(event.status)

    config = {"configurable": {"thread_id": "1"}, "callbacks": [Async()]}
    asking().invoke({"x": "a"}, config)
    asyncio.run(asking().ainvoke({"x": "a"}, config))

    assert (seen, caplog.messages) == (["pending", "pending"], [])


def test_handlers_without_langchain(run_python: Any) -> None:
    """Handlers need no LangChain."""
    code = """
import sys; sys.modules['langchain_core'] = None
from graph_compat.callbacks import GraphCallbackHandler
from graph_compat.graph import START, StateGraph
from graph_compat.types import interrupt
class Handler(GraphCallbackHandler):
    def on_interrupt(self, event): print(event.status, event.run_id, event.interrupts[0].value)
builder = StateGraph(int)
builder.add_node("ask", lambda state: interrupt("q"))
builder.add_edge(START, "ask")
builder.compile(checkpointer="db.sqlite").invoke(1, {"configurable": {"thread_id": "1"}, "callbacks": [Handler()]})
"""
    done = run_python("-c", code)

    assert (done.stdout, done.stderr) == ("pending None q\n", "")
