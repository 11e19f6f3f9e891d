"""A supervisor and two specialists, each a graph of its own; who has finished hands over by name.

`Command(goto=…)` says where to go on, and `update=` what to write, in one value. From inside a nested graph,
`graph=Command.PARENT` makes it a command to the graph around. The annotation `Command[Literal[…]]` names where
a node may go: pictures show it, and `compile()` checks it.

Output:
    supervisor: ask the researcher
    researcher: the tide is high at 6:12
    supervisor: ask the writer
    writer: Be there at 6:12, when the tide is high.
    supervisor: done
"""

import operator
from typing import Annotated, Any, Literal, TypedDict

# from langgraph.graph import START, StateGraph  # LangGraph
# from langgraph.types import Command
from graph_compat.graph import START, StateGraph
from graph_compat.types import Command


class State(TypedDict):
    said: Annotated[list[str], operator.add]


def supervisor(state: State) -> Command[Literal["research", "writing", "__end__"]]:
    """Stands for a language model that decides who is next."""
    goto = ["research", "writing", "__end__"][
        sum(not line.startswith("supervisor") for line in state["said"])
    ]
    decision = {"research": "ask the researcher", "writing": "ask the writer", "__end__": "done"}[goto]
    return Command(goto=goto, update={"said": [f"supervisor: {decision}"]})


def back(line: str) -> Command[Any]:
    return Command(graph=Command.PARENT, goto="supervisor", update={"said": [line]})


def researcher(state: State) -> Command[Any]:
    return back("researcher: the tide is high at 6:12")


def writer(state: State) -> Command[Any]:
    found = state["said"][1].removeprefix("researcher: ")
    what, when = found.split(" at ")
    return back(f"writer: Be there at {when}, when {what}.")


def specialist(name: str, node: Any) -> Any:
    """A graph of one node; a real one has more."""
    return StateGraph(State).add_node(name, node).add_edge(START, name).compile()


builder = StateGraph(State)
builder.add_node("supervisor", supervisor)
builder.add_node("research", specialist("researcher", researcher))
builder.add_node("writing", specialist("writer", writer))
builder.add_edge(START, "supervisor")
graph = builder.compile()


if __name__ == "__main__":
    print(*graph.invoke({"said": []})["said"], sep="\n")
