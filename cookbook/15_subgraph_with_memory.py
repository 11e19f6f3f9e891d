"""A nested graph that remembers what it did when it last ran on the thread, beside one that doesn't.

A graph that is a node begins anew each time. Compiled with `checkpointer=True` it has a memory of its own on
the thread of the graph around: keys that the graph around doesn't have are there again on the next turn.

Output:
    turn 1: counted 1 with memory, 1 without
    turn 2: counted 2 with memory, 1 without
    turn 3: counted 3 with memory, 1 without
    another thread: counted 1 with memory, 1 without
"""

import operator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, TypedDict

# from langgraph.graph import START, StateGraph  # LangGraph
from graph_compat.graph import START, StateGraph

folder = TemporaryDirectory()


class Counting(TypedDict, total=False):
    turns: Annotated[int, operator.add]  # its own: the graph around has no such key
    report: Annotated[dict[str, int], operator.or_]


class State(TypedDict):
    report: Annotated[dict[str, int], operator.or_]


def counter(name: str, **options: Any) -> Any:
    builder = StateGraph(Counting)
    builder.add_node("count", lambda state: {"turns": 1})
    builder.add_node("tell", lambda state: {"report": {name: state["turns"]}})
    builder.add_edge(START, "count")
    builder.add_edge("count", "tell")
    return builder.compile(**options)


builder = StateGraph(State)
builder.add_node("with memory", counter("with memory", checkpointer=True))
builder.add_node("without", counter("without"))
builder.add_edge(START, "with memory")
builder.add_edge("with memory", "without")
graph = builder.compile(checkpointer=Path(folder.name) / "runs.db")


def turn(thread_id: str) -> str:
    report = graph.invoke({"report": {}}, {"configurable": {"thread_id": thread_id}})["report"]
    return f"counted {report['with memory']} with memory, {report['without']} without"


if __name__ == "__main__":
    for number in (1, 2, 3):
        print(f"turn {number}:", turn("ada"))
    print("another thread:", turn("bob"))
