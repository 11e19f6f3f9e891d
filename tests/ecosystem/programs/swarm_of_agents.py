"""`langgraph-swarm`: agents that hand over to each other, and a thread that remembers who is active."""

import asyncio

from acting import actor, calls, show
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph_swarm import SwarmState, add_active_agent_router, create_handoff_tool, create_swarm

THREAD = {"configurable": {"thread_id": "1"}}


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def swarm(maker):
    alice = maker(
        actor(calls(("transfer_to_bob", {})), calls(("add", {"a": 5, "b": 7}), first=5), "Twelve."),
        [add, create_handoff_tool(agent_name="bob", description="Ask Bob.")],
        name="alice",
    )
    bob = maker(
        actor("Ahoy!", "Still Bob.", calls(("transfer_to_alice", {}), first=3)),
        [create_handoff_tool(agent_name="alice")],
        name="bob",
    )
    return alice, bob


def turns(maker):
    app = create_swarm(list(swarm(maker)), default_active_agent="alice").compile(checkpointer=InMemorySaver())
    for text in ("Bob, please.", "Who is it?", "5 + 7?"):
        result = app.invoke({"messages": text}, THREAD)
        show((result["active_agent"], result["messages"][-4:]), text)
    show(
        [(state.next, state.values.get("active_agent")) for state in app.get_state_history(THREAD)], "history"
    )
    show(sorted(app.get_graph(xray=True).nodes), "nodes")


async def awaited(maker):
    alice, bob = swarm(maker)
    builder = StateGraph(SwarmState)
    builder.add_node(alice, destinations=("bob",))
    builder.add_node(bob, destinations=("alice",))
    add_active_agent_router(builder, route_to=["alice", "bob"], default_active_agent="alice")
    app = builder.compile(checkpointer=InMemorySaver())
    chunks = [chunk async for chunk in app.astream({"messages": "Bob!"}, THREAD, stream_mode="updates")]
    show(chunks, "updates")
    inner = app.astream({"messages": "Who is it?"}, THREAD, stream_mode="values", subgraphs=True)
    show([(len(namespace), len(chunk["messages"])) async for namespace, chunk in inner], "with subgraphs")


for maker in (create_react_agent, create_agent):
    turns(maker)
    asyncio.run(awaited(maker))
