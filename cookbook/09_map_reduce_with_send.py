"""A node that runs once for each item of a list, all at once, and one that puts the results together.

`Send(node, what)` starts a node with an input of its own. However many are sent, they form one superstep:
the next node runs when all have finished. Each has its record, so that one that fails takes nothing from the
others: the run goes on with the failed one alone.

Output:
    counting: moon, sun, tide
    stopped: the page 'tide' can't be reached
    counting: tide
    {'moon': 4, 'sun': 3, 'tide': 4}
"""

import operator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, TypedDict

# from langgraph.graph import END, START, StateGraph  # LangGraph
# from langgraph.types import Send
from graph_compat.graph import END, START, StateGraph
from graph_compat.types import Send

folder = TemporaryDirectory()
counted: list[str] = []
offline = {"tide"}


class State(TypedDict):
    pages: list[str]
    lengths: Annotated[dict[str, int], operator.or_]  # what the nodes write at once is merged


def each_page(state: State) -> list[Send]:
    return [Send("count", page) for page in state["pages"]]


def count(page: str) -> dict[str, dict[str, int]]:
    counted.append(page)
    if page in offline:
        raise ConnectionError(f"the page {page!r} can't be reached")
    return {"lengths": {page: len(page)}}


def put_together(state: State) -> dict[str, list[str]]:
    return {"pages": sorted(state["lengths"])}


builder = StateGraph(State)
builder.add_node("count", count)
builder.add_node("put_together", put_together)
builder.add_conditional_edges(START, each_page, ["count"])
builder.add_edge("count", "put_together")
builder.add_edge("put_together", END)
graph = builder.compile(checkpointer=Path(folder.name) / "runs.db")


if __name__ == "__main__":
    thread = {"configurable": {"thread_id": "words"}}
    try:
        graph.invoke({"pages": ["sun", "moon", "tide"]}, thread)
    except ConnectionError as error:
        print("counting:", ", ".join(sorted(counted)))
        print("stopped:", error)

    counted.clear()
    offline.clear()
    lengths = graph.invoke(None, thread)["lengths"]
    print("counting:", ", ".join(counted))
    print(dict(sorted(lengths.items())))
