"""Answers to interrupts: which question an id names, and answers that are checked (`response_schema`)."""

import operator
from dataclasses import dataclass
from typing import Annotated

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import is_invalid_resume
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from ..trace import differs


class State(TypedDict):
    x: Annotated[list, operator.add]


class Model(BaseModel):
    n: int


@dataclass
class Record:
    n: int


class Dict(TypedDict):
    n: int


THREAD = {"configurable": {"thread_id": "1"}}


def asking(t, ask):
    """A graph of one node that asks."""
    builder = StateGraph(State)
    builder.add_node("ask", t.node(ask))
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=InMemorySaver())


async def every_question_has_its_id(t):
    """The second question of a node has another id than the first; a question asked again has the same."""
    graph = asking(t, lambda state: {"x": [interrupt("1"), interrupt("2")]})
    first = await t.invoke(graph, {"x": []}, THREAD)
    again = await t.invoke(graph, None, THREAD)
    second = await t.invoke(graph, Command(resume={first["__interrupt__"][0].id: "A"}), THREAD)
    ids = [result["__interrupt__"][0].id for result in (first, again, second)]
    t.note("same", (ids[0] == ids[1], ids[0] == ids[2]))
    await t.invoke(graph, Command(resume={ids[2]: "B"}), THREAD)


@differs("answers that nobody waits for")
async def an_answer_to_the_question_before(t):
    """An answer by the id of the first question answers the second, if that's what its node is at."""
    graph = asking(t, lambda state: {"x": [interrupt("1"), interrupt("2")]})
    first = await t.invoke(graph, {"x": []}, THREAD)
    answer = Command(resume={first["__interrupt__"][0].id: "A"})
    await t.invoke(graph, answer, THREAD)
    await t.invoke(graph, answer, THREAD)


async def answers_of_a_model(t):
    """An answer that doesn't fit its model is refused, and the question can be answered again."""

    def ask(state):
        answer = interrupt("n?", response_schema=Model)
        return {"x": [type(answer).__name__, answer.n]}

    graph = asking(t, ask)
    await t.invoke(graph, {"x": []}, THREAD)
    await t.invoke(graph, Command(resume={"n": "z"}), THREAD)
    await t.state(graph, THREAD)
    await t.invoke(graph, Command(resume={"n": "3"}), THREAD)


@differs("answers that nobody waits for")
async def answers_of_other_schemas(t):
    """A dataclass and a TypedDict check their answers; a dict is only shown."""
    for schema in (Record, Dict, {"type": "integer"}):

        def ask(state, schema=schema):
            answer = interrupt("n?", response_schema=schema)
            return {"x": [type(answer).__name__]}

        graph = asking(t, ask)
        await t.invoke(graph, {"x": []}, THREAD)
        await t.invoke(graph, Command(resume="no"), THREAD)
        await t.invoke(graph, Command(resume={"n": "3"}), THREAD)


@differs("an empty mapping is an answer")
async def an_answer_that_is_refused_is_told(t):
    """`is_invalid_resume` tells a refused answer from other errors."""
    seen = []

    def ask(state):
        try:
            answer = interrupt("n?", response_schema=Model)
        except ValueError as error:
            seen.append(is_invalid_resume(error))
            raise
        return {"x": [answer.n]}

    graph = asking(t, ask)
    await t.invoke(graph, {"x": []}, THREAD)
    await t.invoke(graph, Command(resume={}), THREAD)
    await t.invoke(graph, Command(resume={"n": None}), THREAD)
    t.note("seen", seen)
    t.note("another", is_invalid_resume(ValueError("another")))


async def interrupts_show_their_schema(t):
    """An interrupt shows the JSON schema of its answer, in streams too."""
    graph = asking(t, lambda state: {"x": [interrupt("n?", response_schema=Model).n]})
    await t.stream(graph, {"x": []}, THREAD, stream_mode=["updates", "tasks"])
    t.note("by hand", Interrupt("v", "id", response_schema={"type": "integer"}))
    t.note("equal", Interrupt("v", "id") == Interrupt("v", "id"))


async def parallel_questions_of_a_graph_that_keeps_nothing(t):
    """A nested graph without a checkpointer asks in the name of the node around it: every question is shown."""
    builder = StateGraph(State)
    for name in ("a", "b", "c"):
        builder.add_node(name, t.node(lambda state, name=name: {"x": [interrupt(name)]}))
        builder.add_edge(START, name)
    inner = builder.compile(checkpointer=False)

    async def calls(state):
        return {"x": ["called", *(await t.call(inner, "invoke", {"x": []}))["x"]]}

    graph = asking(t, calls)
    await t.invoke(graph, {"x": []}, THREAD, unordered=True)
    state = await t.call(graph, "get_state", THREAD)
    t.note("asked", sorted(question.value for question in state.interrupts))
