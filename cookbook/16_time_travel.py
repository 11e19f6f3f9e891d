"""Go back to an earlier state of a thread, look, run from there again, or change it first.

Each superstep leaves a checkpoint. A config with a `checkpoint_id` names one: `invoke(None, …)` runs again from
there, and `update_state` makes a branch that starts with a change. Nothing is lost: the history has both.

Output:
    a joke about cats
    before write: {'topic': 'cats'}
    again: a joke about cats
    changed: a joke about tides
    states now: 8
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict

# from langgraph.graph import START, StateGraph  # LangGraph
from graph_compat.graph import START, StateGraph

folder = TemporaryDirectory()


class State(TypedDict, total=False):
    topic: str
    joke: str


def choose(state: State) -> State:
    return {"topic": "cats"}


def write(state: State) -> State:
    return {"joke": f"a joke about {state['topic']}"}


builder = StateGraph(State)
builder.add_sequence([choose, write])
builder.add_edge(START, "choose")
graph = builder.compile(checkpointer=Path(folder.name) / "runs.db")


if __name__ == "__main__":
    thread = {"configurable": {"thread_id": "jokes"}}
    print(graph.invoke({}, thread)["joke"])

    before = next(state for state in graph.get_state_history(thread) if state.next == ("write",))
    print("before write:", before.values)
    print("again:", graph.invoke(None, before.config)["joke"])

    branch = graph.update_state(before.config, {"topic": "tides"})
    print("changed:", graph.invoke(None, branch)["joke"])
    print("states now:", len(list(graph.get_state_history(thread))))
