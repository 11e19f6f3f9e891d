"""What goes in, what comes out, and what two nodes pass to each other that nobody else sees.

A node reads the keys that its parameter's type names. `input_schema` and `output_schema` say what callers give
and get; a key that only nodes name is private to those that name it, and still recorded, as a run that is
resumed needs it.

Output:
    look_up saw: ['question']
    reply saw: ['page', 'question']
    {'answer': 'the tides: see page 12'}
"""

from typing import Any, TypedDict

# from langgraph.graph import START, StateGraph  # LangGraph
from graph_compat.graph import START, StateGraph


class Question(TypedDict):
    question: str


class Answer(TypedDict):
    answer: str


class State(Question, Answer):
    pass


class Found(TypedDict):
    """Between the two nodes: not in `State`."""

    page: int


class ReplyInput(Question, Found):
    pass


def look_up(state: Question) -> Found:
    print("look_up saw:", sorted(state))
    return {"page": 12}


def reply(state: ReplyInput) -> Answer:
    print("reply saw:", sorted(state))
    return {"answer": f"{state['question']}: see page {state['page']}"}


builder: Any = StateGraph(State, input_schema=Question, output_schema=Answer)
builder.add_sequence([look_up, reply])
builder.add_edge(START, "look_up")
graph = builder.compile()


if __name__ == "__main__":
    print(graph.invoke({"question": "the tides"}))
