"""What a tutorial prints as it is: states and their history, metadata of tokens, and what a node is configured with."""

import operator
import re
from typing import Annotated

from langchain_core.language_models import FakeListChatModel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

CONFIG = {
    "configurable": {"thread_id": "1", "user": "ann"},
    "metadata": {"topic": "tides"},
    "tags": ["demo"],
}
IDS = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00")


class State(MessagesState):
    facts: Annotated[list[str], operator.add]
    topic: str


def printed(*values):
    print(*(TIMES.sub("<time>", IDS.sub("<id>", str(value))) for value in values))


def ask(state, config):
    printed(config["metadata"])
    return {"messages": [model.invoke(state["messages"])], "facts": ["Salty."]}


def write(state):
    return Command(update={"facts": ["Wet."], "topic": state["topic"].upper()}, goto="ask")


model = FakeListChatModel(responses=["Ab", "ab", "Ba", "ba"])
inner = StateGraph(State).add_node("ask", ask, metadata={"asks": True}).add_edge(START, "ask").compile()
outer = StateGraph(State).add_node("write", write).add_node("ask", inner).add_edge(START, "write")
graph = outer.compile(checkpointer=InMemorySaver(), interrupt_before=["ask"])

for mode in ("values", "tasks"):
    given = {"topic": mode, "messages": [{"role": "user", "content": "Seas?"}]}
    for chunk in graph.stream(given, CONFIG, stream_mode=mode):
        printed(chunk)
    printed(graph.get_state(CONFIG))
    for chunk in graph.stream(None, CONFIG, stream_mode="messages", subgraphs=True):
        printed(chunk)
printed(graph.get_state(CONFIG).metadata)
for state in graph.get_state_history(CONFIG):
    printed(state.metadata, state.tasks)
graph.update_state(CONFIG, {"topic": "rain"})
printed(graph.get_state(CONFIG))
printed(graph.checkpointer.get_tuple(CONFIG).metadata)
