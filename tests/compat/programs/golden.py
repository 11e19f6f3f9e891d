"""The golden traces of the behaviour page's appendix C, one program each."""

import operator
from typing import Annotated, Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from ..trace import Trace

ONE = {"configurable": {"thread_id": "1"}}
TWO = {"configurable": {"thread_id": "2"}}


class State(TypedDict):
    x: Annotated[list, operator.add]


def _says(t: Trace, name: str) -> Any:
    """A node that appends its own name."""

    def node(state: State) -> dict[str, list[str]]:
        return {"x": [name]}

    return t.node(node)


def _graph(t: Trace, *names: str, **nodes: Any) -> StateGraph:
    builder = StateGraph(State)
    for name in names:
        builder.add_node(name, _says(t, name))
    for name, node in nodes.items():
        builder.add_node(name, node)
    return builder


async def diamond(t: Trace) -> None:
    """C1: d runs once, for both of its edges fire in one superstep; a second call goes on counting steps."""
    builder = _graph(t, "a", "b", "c", "d")
    for edge in [(START, "a"), ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", END)]:
        builder.add_edge(*edge)
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.history(graph, ONE)
    await t.invoke(graph, {"x": ["j"]}, ONE)
    t.note("sources", [(s.metadata["source"], s.metadata["step"]) for s in await t.history(graph, ONE)])
    plain = builder.compile()
    await t.stream(plain, {"x": ["i"]}, stream_mode="values")
    for mode in ["updates", "tasks", ["values", "updates"]]:
        await t.stream(plain, {"x": ["i"]}, stream_mode=mode, unordered=True)
    await t.stream(plain, {"x": ["i"]}, stream_mode="updates", version="v2", unordered=True)
