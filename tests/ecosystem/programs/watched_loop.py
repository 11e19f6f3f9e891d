"""`blockbuster`: it raises where something blocks an event loop, and sync functions run beside one."""

import asyncio
import threading
from typing import TypedDict

from acting import actor, calls, show
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph

THREAD = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    x: int


async def main() -> None:
    loop = asyncio.get_running_loop()

    def beside_the_loop(x: int) -> int:
        """Add one, once the loop has had a turn."""
        turn = threading.Event()
        loop.call_soon_threadsafe(turn.set)
        turn.wait()
        return x + 1

    graph = StateGraph(State).add_node("add", lambda state: {"x": beside_the_loop(state["x"])})
    show(
        await graph.add_edge(START, "add").compile(checkpointer=InMemorySaver()).ainvoke({"x": 1}, THREAD),
        "graph",
    )

    @entrypoint(checkpointer=InMemorySaver())
    async def workflow(x: int) -> int:
        return await task(beside_the_loop)(x)

    show(await workflow.ainvoke(1, THREAD), "workflow")

    agent = create_agent(actor(calls(("beside_the_loop", {"x": 1})), "Two."), [beside_the_loop])
    show((await agent.ainvoke({"messages": "1 + 1?"}))["messages"], "agent")


with blockbuster_ctx():
    asyncio.run(main())
