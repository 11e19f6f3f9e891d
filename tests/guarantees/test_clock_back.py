"""G2: a clock that goes backwards changes no order: what came first is told by commits, never by an id's time."""

from __future__ import annotations

import operator
from itertools import count
from typing import Annotated, Any, TypedDict

import pytest

from flowfn.hosts import ids
from flowfn.ports import Saver
from graph_compat.graph import START, StateGraph

from ..worlds import SAVERS

CONFIG: Any = {"configurable": {"thread_id": "one"}}


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def remembering(saver: Saver) -> Any:
    """A graph around one that remembers how much it has seen."""
    inner: Any = StateGraph(State)
    inner.add_node("look", lambda state: {"log": [f"saw {len(state['log'])}"]})
    inner.add_edge(START, "look")
    outer: Any = StateGraph(State)
    outer.add_node("inner", inner.compile(checkpointer=True))
    outer.add_edge(START, "inner")
    return outer.compile(checkpointer=saver)


def replayed(saver: Saver) -> Any:
    """What three runs, and replays of each checkpoint of theirs, come to."""
    graph = remembering(saver)
    runs = [graph.invoke({"log": [f"in {number}"]}, CONFIG) for number in range(3)]
    past = list(graph.get_state_history(CONFIG))
    replays = [graph.invoke(None, at.config) for at in past]
    return runs, replays, [at.metadata["step"] for at in graph.get_state_history(CONFIG)]


@pytest.mark.parametrize("kind", SAVERS)
def test_replays_of_nested_graphs_go_by_commits(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay finds what a nested graph remembered at its checkpoint, though each id is older than the last."""
    saver: Saver = request.getfixturevalue(f"{kind}_saver")
    calm = replayed(saver)
    saver.delete_thread("one")  # type: ignore[attr-defined]
    times = count(10**18, -(10**6))

    def of_a_process_behind() -> int:
        monkeypatch.setattr(ids, "_last", 0)
        return next(times)

    monkeypatch.setattr(ids, "time_ns", of_a_process_behind)
    first, second = ids.new_id(), ids.new_id()
    assert first > second
    assert replayed(saver) == calm
