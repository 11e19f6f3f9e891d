"""`langchain.agents.create_agent` with a checkpointer, blocking and in asyncio: turns, streams, history, going back."""

import asyncio

from acting import actor, calls, plain, show
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

THREAD = {"configurable": {"thread_id": "1"}}


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"21 degrees in {city}"


@tool
def broken(reason: str) -> str:
    """Fails."""
    raise ValueError(reason)


def lines():
    return (
        calls(("weather", {"city": "Rome"}), ("weather", {"city": "Oslo"}), said="Let me see."),
        "It is warm.",
        calls(("weather", {"city": 1, "unknown": 2}), first=3),
        "Hm.",
    )


def agent(*said):
    return create_agent(
        actor(*said), [weather, broken], system_prompt="Be brief.", checkpointer=InMemorySaver(), name="clerk"
    )


def blocking():
    clerk = agent(*lines())
    show(clerk.invoke({"messages": "Is it warm?"}, THREAD)["messages"], "first turn")
    for mode in ("updates", "values"):
        chunks = agent(*lines()).stream({"messages": "Is it?"}, THREAD, stream_mode=mode)
        show(sorted(map(plain, chunks), key=str), mode)  # the two calls race
    show(clerk.invoke({"messages": "And in one?"}, THREAD)["messages"], "second turn")
    history = list(clerk.get_state_history(THREAD))
    show([(state.next, state.metadata["step"], len(state.values.get("messages", ()))) for state in history])
    show(clerk.get_state(THREAD).values, "state")
    past = next(state for state in history if state.next == ("tools",))
    show([task.name for task in past.tasks], "tasks in the past")
    show(sorted(clerk.get_graph().nodes), "nodes")


async def awaited():
    clerk = agent(*lines())
    result = await clerk.ainvoke({"messages": "Is it warm?"}, THREAD)
    show(result["messages"], "first turn")
    chunks = [chunk async for chunk in clerk.astream({"messages": "And?"}, THREAD, stream_mode="updates")]
    show(sorted(map(plain, chunks), key=str), "updates")
    stream = agent(*lines()).astream({"messages": "Is it?"}, THREAD, stream_mode="messages")
    shown = [(type(m).__name__, m.content, metadata["langgraph_node"]) async for m, metadata in stream]
    show(sorted(shown), "messages")


def failing():
    clerk = agent(calls(("broken", {"reason": "no"})), "over")
    try:
        clerk.invoke({"messages": "Go."}, THREAD)
    except ValueError as error:
        show(str(error), "error")
    show(clerk.get_state(THREAD).next, "next")


blocking()
asyncio.run(awaited())
failing()
