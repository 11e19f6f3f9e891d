"""A graph that waits for a human before it pays, with what it did so far on record.

`interrupt(question)` in a node ends the run; the question is in the result and in the thread's state, and
`Command(resume=answer)` goes on, from any process, any time later. The node that asked runs from its top
again, so what mustn't happen twice stands in a task, or after the question. The nodes before don't run again.

Output:
    pricing 3 chairs
    asks: {'pay?': 1200}
    waiting in: approve
    paid 1200
    {'item': 'chairs', 'cents': 1200, 'paid': True}
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypedDict

# from langgraph.graph import END, START, StateGraph  # LangGraph
# from langgraph.types import Command, interrupt
from graph_compat.graph import END, START, StateGraph
from graph_compat.types import Command, interrupt

folder = TemporaryDirectory()


class State(TypedDict, total=False):
    item: str
    cents: int
    paid: bool


def price(state: State) -> State:
    print("pricing 3", state["item"])
    return {"cents": 3 * 400}


def approve(state: State) -> Command[Literal["pay", "__end__"]]:
    answer = interrupt({"pay?": state["cents"]})
    return Command(goto="pay") if answer == "yes" else Command(goto=END, update={"paid": False})


def pay(state: State) -> State:
    print("paid", state["cents"])
    return {"paid": True}


builder = StateGraph(State)
builder.add_node("price", price)
builder.add_node("approve", approve)
builder.add_node("pay", pay)
builder.add_edge(START, "price")
builder.add_edge("price", "approve")
graph = builder.compile(checkpointer=Path(folder.name) / "runs.db")


if __name__ == "__main__":
    thread = {"configurable": {"thread_id": "order-42"}}
    waiting = graph.invoke({"item": "chairs"}, thread)
    print("asks:", waiting["__interrupt__"][0].value)
    print("waiting in:", *graph.get_state(thread).next)
    print(graph.invoke(Command(resume="yes"), thread))
