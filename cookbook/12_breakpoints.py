"""Stop a graph before a node, look at its state, mend it, and go on.

`interrupt_before=["send"]` stops each time before `send`, without a change to any node. `update_state` writes
as a node would, and is a checkpoint of its own; `invoke(None)` goes on from there. Given to a call instead of
`compile()`, it stops that call only.

Output:
    next: send
    draft: Deer Ada, the tide is high.
    sent: Dear Ada, the tide is high.
    who wrote what, oldest first: input, loop, loop, update, loop
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict

# from langgraph.graph import START, StateGraph  # LangGraph
from graph_compat.graph import START, StateGraph

folder = TemporaryDirectory()


class State(TypedDict, total=False):
    to: str
    draft: str
    sent: bool


def write(state: State) -> State:
    return {"draft": f"Deer {state['to']}, the tide is high."}


def send(state: State) -> State:
    print("sent:", state["draft"])
    return {"sent": True}


builder = StateGraph(State)
builder.add_node("write", write)
builder.add_node("send", send)
builder.add_edge(START, "write")
builder.add_edge("write", "send")
graph = builder.compile(checkpointer=Path(folder.name) / "runs.db", interrupt_before=["send"])


if __name__ == "__main__":
    thread = {"configurable": {"thread_id": "letter"}}
    graph.invoke({"to": "Ada"}, thread)
    stopped = graph.get_state(thread)
    print("next:", *stopped.next)
    print("draft:", stopped.values["draft"])

    graph.update_state(thread, {"draft": stopped.values["draft"].replace("Deer", "Dear")})
    graph.invoke(None, thread)
    sources = [str(state.metadata["source"]) for state in graph.get_state_history(thread)]
    print("who wrote what, oldest first:", ", ".join(reversed(sources)))
