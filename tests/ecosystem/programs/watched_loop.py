"""`blockbuster`: it raises where something blocks an event loop, and sync functions run beside one."""

import asyncio
import os
import threading
from typing import Any, TypedDict

from acting import actor, calls, show
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph

THREAD = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    x: int


async def main() -> list[Any]:
    """What a graph, a workflow and an agent came to; nothing is printed on the loop, which would block it."""
    loop = asyncio.get_running_loop()

    def beside_the_loop(x: int) -> int:
        """Add one, once the loop has had a turn."""
        turn = threading.Event()
        loop.call_soon_threadsafe(turn.set)
        turn.wait()
        return x + 1

    graph = StateGraph(State).add_node("add", lambda state: {"x": beside_the_loop(state["x"])})
    compiled = graph.add_edge(START, "add").compile(checkpointer=InMemorySaver())

    @entrypoint(checkpointer=InMemorySaver())
    async def workflow(x: int) -> int:
        return await task(beside_the_loop)(x)

    agent = create_agent(actor(calls(("beside_the_loop", {"x": 1})), "Two."), [beside_the_loop])
    return [
        await compiled.ainvoke({"x": 1}, THREAD),
        await workflow.ainvoke(1, THREAD),
        (await agent.ainvoke({"messages": "1 + 1?"}))["messages"],
    ]


with blockbuster_ctx():
    found = asyncio.run(main())
for each in found:
    show(each)
os._exit(0)  # blockbuster takes built-in types apart, and Python crashes over its buffered output as it ends
