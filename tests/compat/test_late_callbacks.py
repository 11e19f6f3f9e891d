"""A worker wakes whoever waits for a node before it runs the callbacks of the node's future (G2)."""

from concurrent.futures import Future
from typing import Any

import pytest

from graph_compat.graph import START, StateGraph


def test_an_error_counts_before_its_callback_has_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A superstep doesn't go on without a node that failed."""
    call_back = Future._invoke_callbacks  # type: ignore[attr-defined]

    def late(future: Any) -> None:
        if future.exception(0) is None:
            call_back(future)

    def fails(state: dict[str, Any]) -> None:
        raise ConnectionError("lost")

    graph = StateGraph(dict)
    graph.add_node("fails", fails)
    graph.add_node("ends well", lambda state: {})
    graph.add_edge(START, "fails")
    graph.add_edge(START, "ends well")
    monkeypatch.setattr(Future, "_invoke_callbacks", late)
    with pytest.raises(ConnectionError):
        graph.compile().invoke({})
