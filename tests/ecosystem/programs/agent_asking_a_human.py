"""`create_agent` with human-in-the-loop middleware: calls that are approved, edited, rejected, or run unasked."""

import asyncio

from acting import actor, calls, show
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command


@tool
def pay(to: str, cents: int) -> str:
    """Pay somebody."""
    return f"paid {cents} to {to}"


@tool
def balance() -> str:
    """The balance."""
    return "700"


ASKED = calls(("pay", {"to": "ada", "cents": 100}), ("balance", {}), ("pay", {"to": "eve", "cents": 200}))


def agent():
    asks = HumanInTheLoopMiddleware(
        interrupt_on={"pay": {"allowed_decisions": ["approve", "edit", "reject"]}, "balance": False},
        description_prefix="To be approved",
    )
    return create_agent(
        actor(ASKED, "Done.", "Again."), [pay, balance], middleware=[asks], checkpointer=InMemorySaver()
    )


APPROVED = [{"type": "approve"}, {"type": "approve"}]
EDITED = [
    {"type": "edit", "edited_action": {"name": "pay", "args": {"to": "ada", "cents": 1}}},
    {"type": "approve"},
]
REJECTED = [{"type": "reject", "message": "too much"}, {"type": "approve"}]
ALL_REJECTED = [{"type": "reject", "message": "no"}, {"type": "reject"}]

for number, decisions in enumerate((APPROVED, EDITED, REJECTED, ALL_REJECTED)):
    banker, thread = agent(), {"configurable": {"thread_id": str(number)}}
    asked = banker.invoke({"messages": "Pay them."}, thread)
    show(asked["__interrupt__"], "asked")
    show(banker.get_state(thread).next, "next")
    show(banker.invoke(Command(resume={"decisions": decisions}), thread)["messages"], "result")

banker, thread = agent(), {"configurable": {"thread_id": "short"}}
banker.invoke({"messages": "Pay them."}, thread)
try:
    banker.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)
except ValueError as error:
    show(str(error), "too few decisions")


async def awaited():
    banker, thread = agent(), {"configurable": {"thread_id": "1"}}
    show([chunk async for chunk in banker.astream({"messages": "Pay them."}, thread)], "asked")
    answer = Command(resume={"decisions": EDITED})
    answered = [chunk async for chunk in banker.astream(answer, thread, stream_mode="updates")]
    show(sorted(answered, key=str), "answered")  # the tools run side by side, and any of them may end first


asyncio.run(awaited())
