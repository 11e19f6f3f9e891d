"""Equal calls in graphs that run side by side: each is recorded as its own."""

import operator
from typing import Annotated, Any

from typing_extensions import TypedDict

from flowfn import task
from graph_compat.checkpoint.memory import InMemorySaver
from graph_compat.graph import START, StateGraph
from graph_compat.types import Command, Send, interrupt

THREAD: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    x: Annotated[list[Any], operator.add]


@task(in_doubt="ask")
async def pay(amount: int) -> list[Any]:
    return [amount, interrupt("pay?")]


async def till(state: State) -> dict[str, Any]:
    return {"x": await pay(1)}


async def test_equal_calls_that_wait_are_in_no_doubt() -> None:
    """Two graphs that were sent to make the same call, which asks: none is taken for one that a kill cut off."""
    shop = StateGraph(State).add_node("till", till).add_edge(START, "till").compile()

    async def visit(state: State) -> dict[str, Any]:
        return {"x": [(await shop.ainvoke({"x": []}))["x"]]}

    builder = StateGraph(State).add_node("visit", visit)
    builder.add_conditional_edges(START, lambda state: [Send("visit", {}), Send("visit", {})], ["visit"])
    graph = builder.compile(checkpointer=InMemorySaver())

    await graph.ainvoke({"x": []}, THREAD)
    asked = (await graph.aget_state(THREAD)).interrupts
    assert [question.value for question in asked] == ["pay?", "pay?"]
    answers = {question.id: f"yes {place}" for place, question in enumerate(asked)}
    paid = await graph.ainvoke(Command(resume=answers), THREAD)
    assert paid["x"] == [[1, "yes 0"], [1, "yes 1"]]
